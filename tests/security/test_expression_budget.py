"""An expression that would run or grow without end is stopped: by steps, by bytes, by depth, by length."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import time
import tracemalloc
from typing import Any

import pytest

from viva.expressions import ExpressionError, compile_expression

CPU_S = 1.0
"""The budget aims at 0.2 s; a loaded machine gets five times that."""
BYTES = 64_000_000


def nested(kind: str, depth: int, inside: str = "true") -> str:
    for level in range(depth):
        inside = f"l.{kind}(x{level}, {inside})"
    return inside


def doubled(times: int, start: str = "s") -> str:
    for level in range(times):
        start = f"[{start}].map(x{level}, x{level} + x{level})[0]"
    return start


def shared(times: int) -> str:
    source = "l"
    for _ in range(times):
        source = f"[{source}].map(y, [y, y])[0]"
    return source


BOMBS = {
    "60^4 all": nested("all", 4),
    "60^6 map": nested("map", 6),
    "60^4 filter": "l.filter(a, l.filter(b, l.filter(c, l.filter(d, true) == l) == l) == l)",
    "60^5 exists_one": nested("exists_one", 5, "false"),
    "60^4 overruled errors": nested("exists", 4, "l.zz"),
    "60^3 overruled errors": nested("all", 3, "l.zz || true"),
    "text doubled 25 times": doubled(25),
    "list doubled 25 times": doubled(25, "l"),
    "size of a text doubled": f"size({doubled(24)}) > 0",
    "big text joined in a loop": "big.map(a, big.map(b, text + text))",
    "shared lists 24 deep": shared(24),
    "equality of big lists in a loop": "l.all(a, l.all(b, big == big))",
    "membership in a loop": "big.all(a, -1 in big)",
    "contains in a loop": "big.all(a, text.contains('zz'))",
    "matches in a loop": "big.all(a, text.matches('(a|b)*c') || true)",
    "costly pattern": "text.matches('(?:a|b)*a(?:a|b){100}c')",
    "patterns made in a loop": "big.all(a, text.matches('a{900}' + string(a)) || true)",
    "concatenated lists in a loop": "big.map(a, big + big)",
    "maps in a loop": "big.map(a, big.map(b, {'a': a, 'b': b}))",
    "lower in a loop": "big.map(a, text.lowerAscii())",
    "strings of numbers": "big.map(a, big.map(b, string(a)))",
}

DATA: dict[str, Any] = {"l": list(range(60)), "s": "x" * 100, "big": list(range(20_000)), "text": "ab" * 50_000}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_stopped_in_time_and_space(name: str) -> None:
    seconds = _cpu(BOMBS[name])
    tracemalloc.start()
    _run(BOMBS[name])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert seconds < CPU_S
    assert peak < BYTES


def _run(source: str) -> None:
    try:
        compile_expression(source, DATA).evaluate(DATA)
    except ExpressionError as error:
        assert error.kind in ("budget", "too_costly", "too_long", "too_deep"), error


def _cpu(source: str) -> float:
    began = time.process_time()
    _run(source)
    return time.process_time() - began


@pytest.mark.parametrize("name", ["60^4 all", "60^6 map", "text doubled 25 times", "concatenated lists in a loop"])
def test_what_stops_a_bomb_is_the_budget(name: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(BOMBS[name], DATA).evaluate(DATA)
    assert caught.value.kind == "budget"


def test_a_spent_budget_is_not_overruled_by_the_other_side() -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(f"({nested('all', 4)}) || true", DATA).evaluate(DATA)
    assert caught.value.kind == "budget"


@pytest.mark.parametrize(
    "source",
    [
        "(" * 900 + "1" + ")" * 900,
        "[" * 900 + "]" * 900,
        "!" * 1900 + "true",
        "-" * 1900 + "1",
        "1" + "+1" * 900,
        "m" + ".a" * 900,
        "l" + "[0]" * 600,
        "true ? " * 250 + "1" + " : 1" * 250,
        "has(" * 400 + "m.a" + ")" * 400,
        "1 + " * 500,
        "x" * 2001,
        "'" + "a" * 3000 + "'",
    ],
)
def test_deep_and_long_sources_are_refused_when_they_are_read(source: str) -> None:
    began = time.process_time()
    with pytest.raises(ExpressionError):
        compile_expression(source, {"m", "l"})
    assert time.process_time() - began < CPU_S


def test_deep_data_is_an_error_and_not_a_crash() -> None:
    deep: Any = 1
    for _ in range(5_000):
        deep = [deep]
    for source in ("d == d", "d", "d in [d]"):
        with pytest.raises(ExpressionError) as caught:
            compile_expression(source, ["d"]).evaluate({"d": deep})
        assert caught.value.kind == "too_deep"


def test_a_hostile_suite_stays_within_the_memory_of_its_process() -> None:
    pytest.importorskip("resource")
    script = """
        import resource
        from viva.expressions import compile_expression, ExpressionError
        source = "s"
        for level in range(26):
            source = f"[{source}].map(x{level}, x{level} + x{level})[0]"
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            compile_expression(source, ["s"]).evaluate({"s": "é" * 100})
        except ExpressionError as error:
            assert error.kind == "budget", error
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        assert grown < 64_000, grown
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60)
