"""The functions of the language. Each takes plain values and gives one; each pays for what it looks at."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from viva.expressions.errors import ExpressionError
from viva.expressions.pattern import compile_pattern
from viva.expressions.pattern_syntax import PatternError
from viva.expressions.tokens import INT_MAX, INT_MIN
from viva.expressions.values import Frame, same, type_name

CHARS_PER_STEP = 64
"""Looking through so many characters of a text costs as much as one step."""

_TO_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
_TO_UPPER = str.maketrans(string.ascii_lowercase, string.ascii_uppercase)
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,6})?|[+-]?(?:inf|nan|infinity)", re.I)
_TRUTH = dict.fromkeys(("true", "True", "TRUE", "t", "1"), True) | dict.fromkeys(
    ("false", "False", "FALSE", "f", "0"), False
)


@dataclass(frozen=True, slots=True)
class Function:
    """How a function is called; with `method`, also as `first.name(rest)`."""

    call: Callable[..., Any]
    arguments: int
    usage: str
    method: bool = True


def mismatch(doing: str, value: Any, at: int, wanted: str = "") -> ExpressionError:
    """Name a type that does not fit."""
    hint = f"; {wanted}" if wanted else ""
    return ExpressionError(f"{doing} does not work on {type_name(value)}{hint}", kind="type_mismatch", at=at)


def _texts(frame: Frame, name: str, at: int, *values: Any) -> None:
    for value in values:
        if type(value) is not str:
            raise mismatch(name, value, at, "it takes texts")
        frame.step(len(value) // CHARS_PER_STEP)


def size(frame: Frame, at: int, value: Any) -> int:
    """How many characters, items or fields."""
    if type(value) not in (str, list, dict):
        raise mismatch("size", value, at, "it takes a text, a list or a map")
    return len(value)


def contains(frame: Frame, at: int, whole: Any, part: Any) -> bool:
    """Whether a text contains a text, or (beyond CEL) a list an item."""
    if type(whole) is list:
        return any(same(frame, item, part, at) for item in whole)
    _texts(frame, "contains", at, whole, part)
    return part in whole


def starts_with(frame: Frame, at: int, whole: Any, part: Any) -> bool:
    """Whether a text begins so."""
    _texts(frame, "startsWith", at, whole, part)
    return bool(whole.startswith(part))


def ends_with(frame: Frame, at: int, whole: Any, part: Any) -> bool:
    """Whether a text ends so."""
    _texts(frame, "endsWith", at, whole, part)
    return bool(whole.endswith(part))


def matches(frame: Frame, at: int, text: Any, pattern: Any) -> bool:
    """Whether a pattern occurs in a text; in linear time."""
    _texts(frame, "matches", at, text, pattern)
    frame.step(20 * len(pattern) + len(text) // 4)
    try:
        found, work = compile_pattern(pattern).search_counted(text)
    except PatternError as error:
        raise ExpressionError(error.message, kind=error.kind, at=at, final=error.kind == "too_costly") from error
    frame.step(work)
    return found


def lower(frame: Frame, at: int, text: Any) -> str:
    """A text with A–Z in small letters."""
    _texts(frame, "lowerAscii", at, text)
    return frame.keep_text(
        "".join(c.lower() if c.isascii() else c for c in text) if not text.isascii() else text.lower()
    )


def upper(frame: Frame, at: int, text: Any) -> str:
    """A text with a–z in capitals."""
    _texts(frame, "upperAscii", at, text)
    return frame.keep_text(
        "".join(c.upper() if c.isascii() else c for c in text) if not text.isascii() else text.upper()
    )


def trim(frame: Frame, at: int, text: Any) -> str:
    """A text without space at its ends."""
    _texts(frame, "trim", at, text)
    return frame.keep_text(text.strip())


def to_int(frame: Frame, at: int, value: Any) -> int:
    """An integer: of a double its whole part, of a text its decimal reading."""
    kind = type(value)
    if kind is int or kind is bool:
        return int(value)
    if kind is float:
        # The bounds are doubles: 2**63 - 1 itself is not one.
        if not -9.223372036854775e18 <= value <= 9.223372036854775e18:
            raise ExpressionError("this double does not fit in an integer", kind="overflow", at=at)
        return int(value)
    if kind is not str:
        raise mismatch("int()", value, at, "it takes a number or a text")
    text = value[:40].strip()
    number = int(text) if _WHOLE.fullmatch(text) else None
    if number is None or len(value) > 40 or not INT_MIN <= number <= INT_MAX:
        raise ExpressionError(f"int() cannot read {text!r}", kind="conversion", at=at)
    return number


def to_double(frame: Frame, at: int, value: Any) -> float:
    """A double: of an integer, or of a text its decimal reading."""
    if type(value) in (int, float):
        return float(value)
    if type(value) is not str:
        raise mismatch("double()", value, at, "it takes a number or a text")
    text = value[:400].strip()
    if len(value) > 400 or not _DECIMAL.fullmatch(text):
        raise ExpressionError(f"double() cannot read {text[:40]!r}", kind="conversion", at=at)
    return float(text)


def to_string(frame: Frame, at: int, value: Any) -> str:
    """A text: of a number or boolean as it is written."""
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int:
        return frame.keep_text(str(value))
    if kind is float:
        return frame.keep_text(_double_text(value))
    raise mismatch("string()", value, at, "it takes a number, a boolean or a text")


def to_bool(frame: Frame, at: int, value: Any) -> bool:
    """A boolean: of the texts true and false."""
    if type(value) is bool:
        return bool(value)
    if type(value) is not str:
        raise mismatch("bool()", value, at, "it takes a boolean or a text")
    if value not in _TRUTH:
        raise ExpressionError("bool() cannot read this text", kind="conversion", at=at)
    return _TRUTH[value]


def same_value(frame: Frame, at: int, value: Any) -> Any:
    """The value itself; CEL's way to switch off its type checker, which this dialect does not have."""
    return value


def _double_text(value: float) -> str:
    """The shortest digits that mean this double; with an exponent from a million on, as CEL writes it."""
    if not math.isfinite(value):
        return str(value)
    for digits in range(18):
        mantissa, _, exponent = f"{value:.{digits}e}".partition("e")
        if float(f"{mantissa}e{exponent}") == value:
            break
    if -4 <= int(exponent) < 6:
        return f"{value:.{max(0, digits - int(exponent))}f}"
    return f"{mantissa}e{exponent}"


FUNCTIONS = {
    "size": Function(size, 1, "size(x) or x.size()"),
    "contains": Function(contains, 2, "x.contains(y)"),
    "startsWith": Function(starts_with, 2, "x.startsWith(y)"),
    "endsWith": Function(ends_with, 2, "x.endsWith(y)"),
    "matches": Function(matches, 2, "x.matches(pattern)"),
    "lowerAscii": Function(lower, 1, "x.lowerAscii()"),
    "upperAscii": Function(upper, 1, "x.upperAscii()"),
    "trim": Function(trim, 1, "x.trim()"),
    "int": Function(to_int, 1, "int(x)", method=False),
    "double": Function(to_double, 1, "double(x)", method=False),
    "string": Function(to_string, 1, "string(x)", method=False),
    "bool": Function(to_bool, 1, "bool(x)", method=False),
    "dyn": Function(same_value, 1, "dyn(x)", method=False),
}
