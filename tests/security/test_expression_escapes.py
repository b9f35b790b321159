"""No expression reaches a Python object: every attempt ends in a plain value or a typed error."""

from __future__ import annotations

import builtins
import itertools
import os
import types
from typing import Any

import pytest

from viva.expressions import ExpressionError, compile_expression, kotlin_to_cel

DUNDERS = (
    "__class__ __bases__ __base__ __mro__ __subclasses__ __globals__ __builtins__ __import__ __init__ __dict__ "
    "__getattribute__ __reduce__ __reduce_ex__ __code__ __closure__ __func__ __self__ __module__ __loader__ __spec__ "
    "__getitem__ __format__ __doc__ __sizeof__ __hash__"
).split()
FRAMES = "gi_frame gi_code cr_frame ag_frame f_globals f_builtins f_locals f_back tb_frame func_globals co_code".split()
METHODS = (
    "format format_map join split encode decode replace translate mro keys items values pop get update append".split()
)

WALKS = [f"{target}.{name}" for target, name in itertools.product(("s", "m", "l", "(1)"), DUNDERS)]
CALLED = [f"s.{name}()" for name in (*DUNDERS, *METHODS)]
INDEXED = [f'm["{name}"]' for name in DUNDERS] + [f"l[{name!r}]" for name in FRAMES]
FRAME_WALKS = [f"l.map(x, x).{name}" for name in FRAMES]
PYTHON = r"""
__import__("os").system("id")
eval("1")
exec("1")
compile("1", "", "eval")
open("/etc/passwd")
open("/etc/passwd").read()
globals()
locals()
vars()
dir()
getattr(s, "upper")
setattr(m, "a", 1)
type(s)
isinstance(s, str)
str(1)
repr(s)
print(s)
input()
breakpoint()
lambda x: x
[x for x in l]
(x for x in l)
{x: 1 for x in l}
s if true else s
f"{s}"
"{0.__class__}".format(s)
"%s" % s
"%(a)s" % m
s * 1000000000
l * 1000000000
1 << 1000000
2 ** 1000000
1 // 2
~1
not true
s is s
x := 1
s; s
import os
from os import system
async def x(): pass
await s
yield s
raise s
del m
m.one = 2
m["one"] = 2
m.one += 1
l[0:1]
l[::]
s[0:1]
*l
**m
@s
`id`
$(id)
${s}
{{s}}
{% s %}
<%= s %>
os
sys
builtins
self
this
super()
None
True
...
Ellipsis
NotImplemented
__builtins__
__name__
__file__
_
__
.s
s..s
s.1
1.real
(1).real
(1).numerator
(1.5).hex()
(true).real
s.upper()
s.isalpha()
l.sort()
l.reverse()
l.append(1)
l.clear()
m.keys()
m.items()
m.get("one")
m.setdefault("x", 1)
"\u0000".x
99999999999999999999
-99999999999999999999
0x7FFFFFFFFFFFFFFFFFFF
1e999999999
int("9999999999999999999999999")
int(1e300)
has(s.__class__)
has(m.__class__)
[].__class__
{}.__class__
"".__class__
null.__class__
l.exists(__class__, true)
l.map(x, x.__class__)
l.map(m, m.__class__)
m.map(k, k.__class__)
l.filter(x, x.__class__ == 1)
s.matches("(?#code)")
s.matches("(?P<x>a)(?P=x)")
s.matches("(?{print(1)})")
s.matches("(??{print(1)})")
timestamp("2020-01-01T00:00:00Z")
duration("1s")
google.protobuf.Any{}
m{one: 1}
s.format(m)
b"x"
1u
cel.bind(x, 1, x)
l.exists(x, y, true)
optional.of(1)
m.?one
m[?"one"]
""".strip("\n").splitlines()  # fmt: skip
CORPUS = [*WALKS, *CALLED, *INDEXED, *FRAME_WALKS, *PYTHON]


class Bait:
    """A live object, as no evidence should ever hold."""

    secret = "reached"

    def __getitem__(self, key: Any) -> str:
        return self.secret

    def __eq__(self, other: object) -> bool:
        raise AssertionError("a method of a Python object was called")

    __hash__ = None  # type: ignore[assignment]


class BaitDict(dict):  # type: ignore[type-arg]
    def get(self, *_: Any) -> str:
        raise AssertionError("a method of a Python object was called")

    __getitem__ = __contains__ = get  # type: ignore[assignment]


DATA: dict[str, Any] = {"s": "text", "m": {"one": 1}, "l": [1, 2], "i": 1}


def test_the_corpus_is_large_enough() -> None:
    assert len(set(CORPUS)) >= 200


@pytest.mark.parametrize("source", CORPUS)
def test_an_escape_ends_in_plain_data_or_a_typed_error(source: str) -> None:
    try:
        value = compile_expression(source, DATA).evaluate(DATA)
    except ExpressionError as error:
        assert error.kind
        return
    assert_plain(value)


def assert_plain(value: Any) -> None:
    assert type(value) in (bool, int, float, str, list, dict, type(None)), value
    for item in value if type(value) is list else value.values() if type(value) is dict else ():
        assert_plain(item)


@pytest.mark.parametrize(
    "bait",
    [Bait(), BaitDict(one=1), os, builtins.open, object, Bait, types.SimpleNamespace(a=1), 1j, b"x", {1, 2}, range(3)],
)
@pytest.mark.parametrize(
    "source", ["x", "x.secret", "x[0]", 'x["a"]', "x == 1", "x != x", "x in [1]", "1 in x", "[x][0]", "[x] == [1]",
               "[1].exists(y, y == x)", "size(x)", "string(x)", "x < 1", "x + x", "-x", "!x", "x ? 1 : 2",
               "x.map(y, y)",
               "{'a': x}", "m.inside", "m == {'inside': 1}", "l == [1]", "l.contains(1)"]
)  # fmt: skip
def test_a_live_object_in_the_data_is_refused_wherever_it_is_met(bait: Any, source: str) -> None:
    data = {"x": bait, "m": {"inside": bait}, "l": [bait]}
    with pytest.raises(ExpressionError):
        compile_expression(source, data).evaluate(data)


def test_a_result_is_a_copy_and_no_way_into_the_evidence() -> None:
    data = {"m": {"list": [1]}}
    found = compile_expression("m", data).evaluate(data)
    found["list"].append(2)
    assert data == {"m": {"list": [1]}}


def test_evaluation_does_not_change_its_bindings() -> None:
    data = {"l": [1, 2], "x": 9}
    assert compile_expression("l.map(x, x + 1) + [x]", data).evaluate(data) == [2, 3, 9]
    assert data == {"l": [1, 2], "x": 9}


@pytest.mark.parametrize("source", [*PYTHON, *CALLED])
def test_kotlin_reaches_nothing_either(source: str) -> None:
    try:
        value = compile_expression(kotlin_to_cel(source), DATA).evaluate(DATA)
    except ExpressionError:
        return
    assert_plain(value)
