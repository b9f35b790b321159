"""Arithmetic, comparison and `in`, as CEL defines them: 64-bit integers, no silent mixing of integers and doubles."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from viva.expressions.errors import ExpressionError
from viva.expressions.functions import CHARS_PER_STEP, mismatch
from viva.expressions.tokens import INT_MAX, INT_MIN
from viva.expressions.values import NUMBERS, Frame, same, type_name

Operator = Callable[[Frame, Any, Any, int], Any]


def _no_overload(sign: str, left: Any, right: Any, at: int) -> ExpressionError:
    hint = ""
    if {type(left), type(right)} == {int, float}:
        hint = "; integers and doubles do not mix: write 1.0 for 1, or double(x)"
    return ExpressionError(
        f"{sign} does not work on {type_name(left)} and {type_name(right)}{hint}", kind="type_mismatch", at=at
    )


def _whole(value: int, at: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise ExpressionError("the result does not fit in 64 bits", kind="overflow", at=at)


def _add(frame: Frame, left: Any, right: Any, at: int) -> Any:
    kind = type(left)
    if kind is type(right):
        if kind is int:
            return _whole(left + right, at)
        if kind is float:
            return left + right
        if kind is str:
            # Counted before it is made: the doubling that breaks the budget never happens.
            frame.keep((len(left) + len(right)) * (1 if left.isascii() and right.isascii() else 4) + 56)
            frame.step((len(left) + len(right)) // CHARS_PER_STEP)
            return left + right
        if kind is list:
            frame.keep(8 * (len(left) + len(right)) + 56)
            frame.step((len(left) + len(right)) // CHARS_PER_STEP)
            return left + right
    raise _no_overload("+", left, right, at)


def _subtract(frame: Frame, left: Any, right: Any, at: int) -> Any:
    if type(left) is type(right) and type(left) in NUMBERS:
        return _whole(left - right, at) if type(left) is int else left - right
    raise _no_overload("-", left, right, at)


def _multiply(frame: Frame, left: Any, right: Any, at: int) -> Any:
    if type(left) is type(right) and type(left) in NUMBERS:
        return _whole(left * right, at) if type(left) is int else left * right
    raise _no_overload("*", left, right, at)


def _divide(frame: Frame, left: Any, right: Any, at: int) -> Any:
    if type(left) is float and type(right) is float:
        return _divide_doubles(left, right)
    if type(left) is not int or type(right) is not int:
        raise _no_overload("/", left, right, at)
    if right == 0:
        raise ExpressionError("division by zero", kind="divide_by_zero", at=at)
    quotient = abs(left) // abs(right)
    return _whole(quotient if (left < 0) == (right < 0) else -quotient, at)


def _divide_doubles(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left) or math.isnan(right):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _remainder(frame: Frame, left: Any, right: Any, at: int) -> Any:
    if type(left) is not int or type(right) is not int:
        raise _no_overload("%", left, right, at)
    if right == 0:
        raise ExpressionError("division by zero", kind="divide_by_zero", at=at)
    if left == INT_MIN and right == -1:
        raise ExpressionError("the result does not fit in 64 bits", kind="overflow", at=at)
    rest = abs(left) % abs(right)
    return -rest if left < 0 else rest


def negate(frame: Frame, value: Any, at: int) -> Any:
    """Change a number's sign."""
    if type(value) is int:
        return _whole(-value, at)
    if type(value) is float:
        return -value
    raise mismatch("-", value, at, "it takes a number")


def _ordered(sign: str, compare: Callable[[Any, Any], bool]) -> Operator:
    def run(frame: Frame, left: Any, right: Any, at: int) -> bool:
        kind, other = type(left), type(right)
        if (kind in NUMBERS and other in NUMBERS) or (kind is other and kind is bool):
            return compare(left, right)
        if kind is str and other is str:
            frame.step(min(len(left), len(right)) // CHARS_PER_STEP)
            return compare(left, right)
        raise _no_overload(sign, left, right, at)

    return run


def _within(frame: Frame, left: Any, right: Any, at: int) -> bool:
    if type(right) is list:
        return any(same(frame, item, left, at) for item in right)
    if type(right) is dict:
        return type(left) is str and left in right
    raise _no_overload("in", left, right, at)


OPERATORS: dict[str, Operator] = {
    "==": same,
    "!=": lambda frame, left, right, at: not same(frame, left, right, at),
    "<": _ordered("<", operator.lt),
    "<=": _ordered("<=", operator.le),
    ">": _ordered(">", operator.gt),
    ">=": _ordered(">=", operator.ge),
    "in": _within,
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "%": _remainder,
}
