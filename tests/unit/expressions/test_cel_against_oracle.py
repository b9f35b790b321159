"""Our evaluator and Google's agree: on the value, or on there being none."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viva.expressions import ExpressionError, compile_expression

cel = pytest.importorskip("cel_expr_python.cel")

DATA: dict[str, Any] = {
    "m": {
        "one": 1,
        "half": 0.5,
        "text": "abc",
        "none": None,
        "yes": True,
        "list": [1, 2, 3],
        "deep": {"x": {"y": "z"}},
    },
    "l": [3, 1, 2],
    "mixed": [1, "a", None, True, 2.5, [1], {"k": 1}],
    "people": [
        {"name": "Ada", "age": 36, "labels": ["Person", "DomainNode"]},
        {"name": "Bob", "age": 17, "labels": []},
        {"name": "Cy", "labels": ["Person"]},
    ],
    "s": "héllo wörld",
    "i": 7,
    "d": 2.5,
    "t": True,
    "f": False,
    "n": None,
    "e": [],
    "x": 4,
}
ENV = cel.NewEnv(variables=dict.fromkeys(DATA, cel.Type.DYN))

CORPUS = r"""
1
-1
0x1F
1.5
1e3
.5
"text"
'text'
'''it's'''
r'\n'
'\x41\u00e9\101\n\t\\'
true
null
[]
[1, "a", null]
[1, 2,]
{"a": 1, "b": [2]}
{}
1 + 2 * 3
(1 + 2) * 3
7 / 2
-7 / 2
7 / -2
-7 % 3
7 % -3
7 - 2 - 1
2 * 3 % 4
1.5 + 2.5
5.0 / 2.0
1.0 / 0.0
-1.0 / 0.0
0.0 / 0.0
5.5 % 2.0
"a" + "b"
[1] + [2, "x"]
1 + 1.0
1 - 1.0
2 * 2.5
"a" + 1
[1] + 1
null + null
true + true
1 / 0
1 % 0
9223372036854775807
9223372036854775808
-9223372036854775808
-9223372036854775809
9223372036854775807 + 1
-9223372036854775808 - 1
-(-9223372036854775808)
-9223372036854775808 / -1
-9223372036854775808 % -1
4611686018427387904 * 2
--1
!true
!!true
!1
!null
-"a"
-true
-d
1 == 1
1 == 1.0
1 == "1"
1 != "1"
true == 1
null == null
null == 1
n == null
"a" == "a"
[1, 2] == [1.0, 2.0]
[1, 2] == [2, 1]
[1] == 1
{"a": 1} == {"a": 1.0}
{"a": 1} == {"a": 1, "b": 2}
m.deep == {"x": {"y": "z"}}
mixed == mixed
0 == -0.0
1 < 2
1 < 1.5
2.5 >= 2
"a" < "b"
"a" < "é"
false < true
true <= true
"a" < 1
[1] < [2]
null < null
1 < 2 < 3
1 == 1 == true
1 in [1, 2]
1.0 in l
"3" in l
null in mixed
[1] in mixed
{"k": 1} in mixed
"one" in m
"zz" in m
1 in m
1 in 1
"a" in "abc"
m.one
m.zz
m["one"]
m["zz"]
m[1]
m.deep.x.y
m["deep"]["x"].y
m.one.x
m.none.x
m . one
l[0]
l[2]
l[3]
l[-1]
l[1.0]
l[1.5]
l["0"]
l[true]
s[0]
i.x
has(m.one)
has(m.zz)
has(m.none)
has(m.zz.y)
has(m.one.y)
has(i.x)
has(m)
has(m["one"])
m.if
m.in
if
zz
true && true
true && false
false && m.zz
m.zz && false
m.zz && true
true && m.zz
m.zz || true
true || m.zz
m.zz || false
1 && false
1 && true
1 || true
1 || false
m.zz || m.yy
m.zz == 1 || l[9] == 1 || true
false || false || true
true && true && false
true ? 1 : 2
false ? 1 : 2
true ? 1 : m.zz
false ? m.zz : 2
1 ? 2 : 3
null ? 2 : 3
m.zz ? 1 : 2
t ? f ? 1 : 2 : 3
t ? (f ? 1 : 2) : 3
f ? 1 : t ? 2 : 3
size("héllo")
size(l)
size(m.deep)
size(1)
size(null)
s.size()
l.size()
size()
size(l, l)
s.contains("w")
s.contains("")
s.contains(1)
i.contains("a")
s.startsWith("hé")
s.endsWith("ld")
s.startsWith(null)
s.matches("h.l")
s.matches("^h.*d$")
s.matches("(?i)HÉ")
s.matches("w[oö]r")
s.matches("^\\w+$")
s.matches("l{2}")
s.matches("")
s.matches("(")
s.matches("[z-a]")
s.matches("a**")
s.matches("x|wör")
s.matches("\\bw")
"a\nb".matches("a.b")
"a\nb".matches("(?s)a.b")
"a\nb".matches("(?m)^b$")
"ab\n".matches("b$")
"a.b".matches("a\\.b")
"12-34".matches("^\\d+-[[:digit:]]+$")
l.exists(x, x == 2)
l.exists(x, x == 9)
l.all(x, x > 0)
l.all(x, x > 1)
l.exists_one(x, x > 2)
l.exists_one(x, x > 1)
l.filter(x, x > 1)
l.map(x, x * 2)
l.map(x, x > 1, x * 2)
e.all(x, x.zz)
e.exists(x, x.zz)
l.exists(x, x.zz)
l.exists(x, x.zz || x == 2)
l.all(x, x < 3 && x.zz)
l.all(x, x.zz)
mixed.exists(x, x == "a")
mixed.exists(x, x > 2)
mixed.all(x, x == 1)
l.exists_one(x, x.zz || x == 3)
l.filter(x, x.zz)
l.filter(x, 1)
l.map(x, x.zz)
l.exists(x, 1)
l.all(x, "x")
i.exists(x, true)
s.map(c, c)
l.map(l, l)
l.map(x, l.map(y, x * y))
l.map(x, l.filter(y, y < x))
l.map(x, {"k": x})[0].k
people.exists(p, p.name == "Bob" && p.age < 18)
people.all(p, has(p.age))
people.filter(p, has(p.age)).map(p, p.age)
people.exists(p, "DomainNode" in p.labels)
people.filter(p, "Person" in p.labels).size() == 2
people.map(p, p.age)
people.exists(p, p.age > 30)
people.all(p, p.age > 30)
people[0].labels[1]
people[1].labels[0]
m.exists(k, k == "one")
m.all(k, size(k) > 2)
l.exists(m.one, true)
l.exists(x)
int(1.9)
int(-1.9)
int("12")
int(" 12 ")
int("+12")
int("1.5")
int("x")
int("")
int(true)
int(null)
int(1e30)
int("9223372036854775808")
double(1)
double("1.5")
double("1e3")
double("x")
double("")
double(true)
double(null)
string(1)
string(1.0)
string(1.5)
string(0.1)
string(1e100)
string(1e-7)
string(123456789.125)
string(1000000.0)
string(-0.0)
string(true)
string("a")
string(null)
string([1])
bool("true")
bool("False")
bool("yes")
bool(true)
bool(1)
dyn(1) == 1
1 // a comment
(1
1)
[1
{"a" 1}
{"a": 1, "a": 2}
"open
"\z"
1 2
1 +
&& true
m.
.m.
@
a.b(
true ?
m.one(1)
exists(l, true)
""".strip("\n").splitlines()  # fmt: skip


def test_the_corpus_is_large_enough() -> None:
    assert len(CORPUS) >= 200


@pytest.mark.parametrize("source", CORPUS)
def test_a_corpus_expression_means_what_it_means_elsewhere(source: str) -> None:
    assert ours(source) == theirs(source)


NAMES = st.sampled_from(list(DATA))
SCALARS = st.one_of(
    st.integers(-100, 100).map(str),
    st.sampled_from(["0.5", "2.5", "-1.0", '"a"', '"abc"', '""', "true", "false", "null", '"one"']),
)


def expressions() -> st.SearchStrategy[str]:
    atoms = st.one_of(
        SCALARS, NAMES, st.sampled_from(["m.one", "m.zz", "m.list", "people[0].age", "l[1]", "m.text", "x"])
    )

    def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        signs = st.sampled_from(["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in", "&&", "||"])
        binary = st.builds(lambda a, sign, b: f"({a} {sign} {b})", inner, signs, inner)
        unary = st.builds(lambda sign, a: f"{sign}({a})", st.sampled_from(["!", "-"]), inner)
        ternary = st.builds(lambda a, b, c: f"({a} ? {b} : {c})", inner, inner, inner)
        index = st.builds(lambda a, b: f"{a}[{b}]", st.sampled_from(["l", "m", "mixed", "people", "e", "s"]), inner)
        method = st.builds(
            lambda a, name, b: f"({a}).{name}({b})", inner, st.sampled_from(["startsWith", "endsWith"]), inner
        )
        call = st.builds(lambda name, a: f"{name}({a})", st.sampled_from(["size", "int", "double"]), inner)
        macro = st.builds(
            lambda a, name, b: f"({a}).{name}(x, {b})",
            st.sampled_from(["l", "mixed", "people", "e", "m.list", "i"]),
            st.sampled_from(["exists", "all", "exists_one", "filter", "map"]),
            inner,
        )
        lists = st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        field = st.builds(lambda a: f"has({a}.one)", st.sampled_from(["m", "m.deep", "i", "people[0]"]))
        return st.one_of(binary, unary, ternary, index, method, call, macro, lists, field)

    return st.recursive(atoms, grow, max_leaves=12)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(expressions())
def test_any_expression_means_what_it_means_elsewhere(source: str) -> None:
    assert ours(source) == theirs(source)


def ours(source: str) -> Any:
    try:
        return normal(compile_expression(source, DATA).evaluate(DATA))
    except ExpressionError:
        return "error"


def theirs(source: str) -> Any:
    try:
        found = ENV.compile(source, disable_check=True).eval(data=DATA)
    except Exception:
        return "error"
    return "error" if found.type().name() == "ERROR" else normal(found.plain_value())


def normal(value: Any) -> Any:
    """Comparable, types kept apart: 1, 1.0 and true differ, and the same NaN is the same."""
    if isinstance(value, list):
        return ["list", *map(normal, value)]
    if isinstance(value, dict):
        return ["map", *sorted((key, normal(item)) for key, item in value.items())]
    if isinstance(value, float) and math.isnan(value):
        return "nan"
    return (type(value).__name__, value)
