"""The values of an expression: null, booleans, 64-bit integers, doubles, texts, lists and maps. Nothing else gets in.

Types are compared exactly (`type(x) is dict`): a subclass with methods of its own is refused like any other object.
"""

from __future__ import annotations

from typing import Any

from viva.expressions.errors import ExpressionError
from viva.expressions.tokens import INT_MAX, INT_MIN

STEPS = 300_000
BYTES = 16_000_000

TYPE_NAMES = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a double",
    str: "a text",
    list: "a list",
    dict: "a map",
}
NUMBERS = (int, float)
STEPS_PER_ERROR = 10
"""An error that `&&`, `||` or a quantifier overrules costs more than a value."""


class Frame:
    """One evaluation: the values in scope, and what is left of its budget."""

    __slots__ = ("bytes", "steps", "values")

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values
        self.steps = STEPS
        self.bytes = BYTES

    def step(self, count: int = 1) -> None:
        """Take steps, until there are none left."""
        self.steps -= count
        if self.steps < 0:
            raise ExpressionError("the expression takes too many steps", kind="budget", final=True)

    def keep(self, size: int) -> None:
        """Count bytes that the expression makes; they are never given back."""
        self.bytes -= size
        if self.bytes < 0:
            raise ExpressionError("the expression makes too much data", kind="budget", final=True)

    def keep_text(self, text: str) -> str:
        """Count a text that the expression made."""
        self.keep((len(text) if text.isascii() else 4 * len(text)) + 56)
        return text


def type_name(value: Any) -> str:
    """A value's type in words."""
    return TYPE_NAMES.get(type(value), "no plain data")


def plain(value: Any, at: int) -> Any:
    """Let a value in from outside, if it is plain data. Containers are looked into when they are opened."""
    kind = type(value)
    if kind is str or kind is dict or kind is list or kind is bool or kind is float or value is None:
        return value
    if kind is int:
        if INT_MIN <= value <= INT_MAX:
            return value
        raise ExpressionError("an integer does not fit in 64 bits", kind="overflow", at=at)
    if kind is tuple:
        return list(value)
    raise ExpressionError("this is no plain data (a Python object)", kind="not_plain", at=at)


def same(frame: Frame, a: Any, b: Any, at: int) -> bool:
    """Equality: numbers by value, lists and maps by content, different types never equal."""
    frame.step()
    kind, other = type(a), type(b)
    if kind in NUMBERS and other in NUMBERS:
        return bool(a == b)
    if kind is str and other is str:
        frame.step(len(a) >> 10 if len(a) == len(b) else 0)
        return bool(a == b)
    if kind is tuple or other is tuple or kind not in TYPE_NAMES or other not in TYPE_NAMES:
        return same(frame, plain(a, at), plain(b, at), at)
    if kind is not other:
        return False
    if kind is list:
        return len(a) == len(b) and all(same(frame, x, y, at) for x, y in zip(a, b, strict=True))
    if kind is dict:
        return len(a) == len(b) and all(key in b and same(frame, item, b[key], at) for key, item in a.items())
    return a is b  # null, true and false.


def plain_copy(frame: Frame, value: Any, depth: int = 100) -> Any:
    """A result as data of its own, so that no caller can reach into the evidence through it.

    Counted: a list may hold the same list twice, forty levels deep.
    """
    frame.step()
    if depth == 0:
        raise ExpressionError("the result is nested too deep", kind="too_deep")
    value = plain(value, 0)
    if type(value) is list:
        return [plain_copy(frame, item, depth - 1) for item in value]
    if type(value) is dict:
        return {str(key): plain_copy(frame, item, depth - 1) for key, item in value.items()}
    return value
