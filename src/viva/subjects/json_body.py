"""Reading JSON an agent sent: strictly where it is sound, losslessly where its bytes are not."""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

import msgspec

from viva.core.data import to_json
from viva.core.errors import SuiteError
from viva.core.text import storable_data


class Missing:
    """The value of a path that leads nowhere; never a value an agent can send."""

    def __repr__(self) -> str:
        return "missing"


MISSING = Missing()

_ESCAPED_BYTES = re.compile("[\udc80-\udcff]")


def read_json(body: bytes) -> Any:
    """Parse a JSON body. Raises ValueError for what is no JSON, NaN and numbers without end included."""
    try:
        return msgspec.json.decode(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError:
        return _read_unsound(body)


def _read_unsound(body: bytes) -> Any:
    r"""Parse JSON with invalid UTF-8 or lone surrogates: `\xff` and `\ud800` remain as readable escapes."""
    text = body.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape")
    try:
        value = json.loads(text, strict=False, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return storable_data(_unescape_bytes(value))


def _unescape_bytes(value: Any) -> Any:
    if isinstance(value, str):
        return _ESCAPED_BYTES.sub(lambda m: f"\\x{ord(m.group()) - 0xDC00:02x}", value)
    if isinstance(value, dict):
        return {_unescape_bytes(key): _unescape_bytes(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_unescape_bytes(item) for item in value]
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _finite(number: str) -> float:
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"the number {number[:20]} is out of range")
    return value


def write_json(value: Any) -> bytes:
    """Write a request body; lone surrogates become escapes instead of an error."""
    try:
        return to_json(value)
    except UnicodeEncodeError:
        return to_json(storable_data(value))


def readable(body: bytes, limit: int) -> str:
    """The beginning of a body as text, whatever its bytes are."""
    return body[:limit].decode("utf-8", "backslashreplace")


class JsonPath:
    """A dotted path with list indices, `choices.0.message.content`, read once and followed often.

    A dot inside a key is written `\\.`, and a negative index counts from the end.
    """

    __slots__ = ("_steps", "text")

    def __init__(self, text: str, where: str = "") -> None:
        self.text = text
        parts = [part.replace("\\.", ".") for part in re.split(r"(?<!\\)\.", text)] if text else []
        if not all(parts):
            raise SuiteError(f"the path {text!r} has an empty step", hint="write it like message.content", where=where)
        self._steps = tuple((part, int(part) if re.fullmatch(r"-?\d{1,9}", part) else None) for part in parts)

    def find(self, value: Any) -> Any:
        """What the path leads to, or MISSING."""
        for key, index in self._steps:
            if isinstance(value, dict):
                value = value.get(key, MISSING)
            elif isinstance(value, list) and index is not None and -len(value) <= index < len(value):
                value = value[index]
            else:
                return MISSING
        return value
