"""Making any text safe to store and to show, without losing what was said."""

from __future__ import annotations

import re

_SURROGATES = re.compile("[\ud800-\udfff]")
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\uffff\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
_CARET = re.compile(r"[ \t]*\^+[ \t]*\Z")


def storable(text: str) -> str:
    r"""Escape lone surrogates (`\ud800`) so that the text can be written as UTF-8."""
    if text.isascii():
        return text
    return _SURROGATES.sub(lambda m: f"\\u{ord(m.group()):04x}", text)


def storable_data(value: object) -> object:
    """Escape lone surrogates anywhere in plain JSON data, keys included."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): storable_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [storable_data(item) for item in value]
    return value


def visible(text: str) -> str:
    r"""Show control, zero-width and direction-changing characters as escapes; keep tabs and line ends."""
    return _UNSHOWABLE.sub(lambda m: _escape(m.group()), text)


def one_line(text: str) -> str:
    """Put a text on one line. A caret under a line points nowhere there: its line is quoted without it."""
    if "\n" not in text:
        return text
    lines = text.split("\n")
    carets = {number for number, line in enumerate(lines) if _CARET.match(line)}
    kept = (
        f"in: {line.strip()}" if number + 1 in carets else line
        for number, line in enumerate(lines)
        if number not in carets
    )
    return " ".join(kept)


def shorten(text: str, limit: int) -> str:
    """Cut a text to a length, saying so."""
    return text if len(text) <= limit else text[: max(0, limit - 1)] + "…"


def _escape(char: str) -> str:
    code = ord(char)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
