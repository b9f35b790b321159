"""From a tree to closures: every node becomes a function of the frame, so that nothing is looked up twice.

Errors follow CEL: the other side of `&&` and `||` may overrule one, `exists` and `all` work like chains of them, and
everything else passes it on. Nothing here reaches an attribute of a Python value that a suite could name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from viva.expressions.errors import ExpressionError
from viva.expressions.functions import FUNCTIONS, mismatch
from viva.expressions.operators import OPERATORS, negate
from viva.expressions.pattern import compile_pattern
from viva.expressions.pattern_syntax import PatternError
from viva.expressions.syntax import (
    Binary,
    Call,
    Has,
    Index,
    ListOf,
    Literal,
    Logic,
    Macro,
    MapOf,
    Name,
    Node,
    Select,
    Ternary,
    Unary,
)
from viva.expressions.values import STEPS_PER_ERROR, Frame, plain

Run = Callable[[Frame], Any]

_ABSENT = object()


def build(node: Node) -> Run:
    """Make a node runnable."""
    return _BUILDERS[type(node)](node)


def _literal(node: Literal) -> Run:
    value = node.value
    return lambda frame: value


def _name(node: Name) -> Run:
    name, at = node.name, node.start

    def run(frame: Frame) -> Any:
        frame.step()
        return plain(frame.values[name], at)

    return run


def _select(node: Select) -> Run:
    target, field, at = build(node.target), node.field, node.at

    def run(frame: Frame) -> Any:
        frame.step()
        whole = target(frame)
        if type(whole) is not dict:
            raise mismatch(f"the field {field!r}", whole, at, "only maps have fields")
        value = whole.get(field, _ABSENT)
        if value is _ABSENT:
            raise ExpressionError(f"no field '{field}'", kind="no_such_field", at=at, known=whole)
        return plain(value, at)

    return run


def _has(node: Has) -> Run:
    target, field, at = build(node.target), node.field, node.start

    def run(frame: Frame) -> Any:
        frame.step()
        whole = target(frame)
        if type(whole) is not dict:
            raise mismatch(f"has(… .{field})", whole, at, "only maps have fields")
        return field in whole

    return run


def _index(node: Index) -> Run:
    target, key, at = build(node.target), build(node.key), node.key.start

    def run(frame: Frame) -> Any:
        frame.step()
        whole, place = target(frame), key(frame)
        if type(whole) is list:
            return plain(_item(whole, place, at), at)
        if type(whole) is not dict:
            raise mismatch("[ ]", whole, at, "it takes a list or a map")
        if type(place) is not str or place not in whole:
            shown = place if type(place) is str else "…"
            raise ExpressionError(f"no field '{shown}'", kind="no_such_field", at=at, known=whole)
        return plain(whole[place], at)

    return run


def _item(items: list[Any], place: Any, at: int) -> Any:
    if type(place) is float and place.is_integer():
        place = int(place)
    if type(place) is not int:
        raise mismatch("a list's index", place, at, "it is an integer, from 0")
    if not 0 <= place < len(items):
        raise ExpressionError(f"no item {place}: the list has {len(items)}", kind="index", at=at)
    return items[place]


def _unary(node: Unary) -> Run:
    operand, at = build(node.operand), node.start
    if node.sign == "-":
        return lambda frame: negate(frame, operand(frame), at)

    def run(frame: Frame) -> Any:
        value = operand(frame)
        if type(value) is not bool:
            raise mismatch("!", value, at, "it takes true or false")
        return not value

    return run


def _binary(node: Binary) -> Run:
    left, right, at = build(node.left), build(node.right), node.at
    operate = OPERATORS[node.sign]

    def run(frame: Frame) -> Any:
        frame.step()
        return operate(frame, left(frame), right(frame), at)

    return run


def _logic(node: Logic) -> Run:
    parts = [(build(operand), operand.start) for operand in node.operands]
    decisive = node.sign == "||"

    def run(frame: Frame) -> Any:
        return _decide(frame, parts, decisive)

    return run


def _decide(frame: Frame, parts: list[tuple[Run, int]], decisive: bool) -> bool:
    """The first decisive operand decides, wherever it stands; only without one does an error count."""
    trouble: ExpressionError | None = None
    for part, at in parts:
        try:
            if _truth(part(frame), at) is decisive:
                return decisive
        except ExpressionError as error:
            if error.final:
                raise
            frame.step(STEPS_PER_ERROR)
            trouble = trouble or error
    if trouble is not None:
        raise trouble
    return not decisive


def _truth(value: Any, at: int) -> bool:
    if type(value) is not bool:
        raise mismatch("a condition", value, at, "it is true or false")
    return value


def _ternary(node: Ternary) -> Run:
    test, yes, no, at = build(node.test), build(node.yes), build(node.no), node.test.start
    return lambda frame: yes(frame) if _truth(test(frame), at) else no(frame)


def _list(node: ListOf) -> Run:
    items = [build(item) for item in node.items]

    def run(frame: Frame) -> Any:
        frame.step()
        frame.keep(56 + 8 * len(items))
        return [item(frame) for item in items]

    return run


def _map(node: MapOf) -> Run:
    entries = [(build(key), build(value), key.start) for key, value in node.entries]

    def run(frame: Frame) -> Any:
        frame.step()
        frame.keep(64 + 100 * len(entries))
        made: dict[str, Any] = {}
        for key, value, at in entries:
            name = key(frame)
            if type(name) is not str:
                raise mismatch("the key of a map", name, at, "it is a text")
            if name in made:
                raise ExpressionError("the same key twice in a map", kind="syntax", at=at)
            made[name] = value(frame)
        return made

    return run


def _call(node: Call) -> Run:
    call, at = FUNCTIONS[node.name].call, node.at
    if node.name == "matches" and isinstance(node.arguments[1], Literal) and type(node.arguments[1].value) is str:
        _check_pattern(node.arguments[1])
    if len(node.arguments) == 1:
        first = build(node.arguments[0])

        def run_one(frame: Frame) -> Any:
            frame.step()
            return call(frame, at, first(frame))

        return run_one
    one, two = (build(argument) for argument in node.arguments)

    def run(frame: Frame) -> Any:
        frame.step()
        return call(frame, at, one(frame), two(frame))

    return run


def _check_pattern(literal: Literal) -> None:
    try:
        compile_pattern(literal.value)
    except PatternError as error:
        raise ExpressionError(error.message, kind=error.kind, at=literal.start) from error


def _macro(node: Macro) -> Run:
    target, variable, at = build(node.target), node.variable, node.target.start
    loop = _LOOPS[node.kind](node)

    def run(frame: Frame) -> Any:
        whole = target(frame)
        if type(whole) is not list and type(whole) is not dict:
            raise mismatch(node.kind, whole, at, "it goes through a list, or the keys of a map")
        values = frame.values
        outer = values.get(variable, _ABSENT)
        try:
            return loop(frame, whole, variable)
        finally:
            if outer is _ABSENT:
                values.pop(variable, None)
            else:
                values[variable] = outer

    return run


Loop = Callable[[Frame, "list[Any] | dict[str, Any]", str], Any]


def _quantifier(node: Macro) -> Loop:
    assert node.test is not None
    test, at = build(node.test), node.test.start
    decisive = node.kind == "exists"

    def loop(frame: Frame, items: Any, variable: str) -> bool:
        trouble: ExpressionError | None = None
        for item in items:
            frame.step()
            frame.values[variable] = item
            try:
                if _truth(test(frame), at) is decisive:
                    return decisive
            except ExpressionError as error:
                if error.final:
                    raise
                frame.step(STEPS_PER_ERROR)
                trouble = trouble or error
        if trouble is not None:
            raise trouble
        return not decisive

    return loop


def _filter(node: Macro) -> Loop:
    assert node.test is not None
    test, at = build(node.test), node.test.start

    def loop(frame: Frame, items: Any, variable: str) -> list[Any]:
        kept = []
        for item in items:
            frame.step()
            frame.values[variable] = item
            if _truth(test(frame), at):
                frame.keep(8)
                kept.append(item)
        return kept

    return loop


def _exists_one(node: Macro) -> Loop:
    chosen = _filter(node)
    return lambda frame, items, variable: len(chosen(frame, items, variable)) == 1


def _collect(node: Macro) -> Loop:
    assert node.result is not None
    result = build(node.result)
    test, at = (build(node.test), node.test.start) if node.test is not None else (None, 0)

    def loop(frame: Frame, items: Any, variable: str) -> list[Any]:
        made = []
        for item in items:
            frame.step()
            frame.values[variable] = item
            if test is None or _truth(test(frame), at):
                frame.keep(40)
                made.append(result(frame))
        return made

    return loop


_LOOPS: dict[str, Callable[[Macro], Loop]] = {
    "exists": _quantifier,
    "all": _quantifier,
    "filter": _filter,
    "exists_one": _exists_one,
    "map": _collect,
}

_BUILDERS: dict[type[Node], Callable[[Any], Run]] = {
    Literal: _literal,
    Name: _name,
    Select: _select,
    Has: _has,
    Index: _index,
    Unary: _unary,
    Binary: _binary,
    Logic: _logic,
    Ternary: _ternary,
    ListOf: _list,
    MapOf: _map,
    Call: _call,
    Macro: _macro,
}
