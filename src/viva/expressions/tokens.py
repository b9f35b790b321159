"""From the text of an expression to its words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from viva.expressions.errors import ExpressionError

LONGEST_SOURCE = 2_000
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

RESERVED = frozenset(
    "as break const continue else for function if import let loop package namespace return var void while".split()
)
SIGNS = ("&&", "||", "==", "!=", "<=", ">=", *"<>+-*/%!?:.,()[]{}")

# Every branch is a plain run of characters: no backtracking is possible beyond the length of one word.
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|(?:[0-9]+\.[0-9]+|\.[0-9]+|[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SKIPPED = re.compile(r"(?:[ \t\r\n\f]+|//[^\n]*)+")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED |= {sign: sign for sign in "\\\"'`?"}
_DIGITS = {"x": 2, "X": 2, "u": 4, "U": 8}


@dataclass(frozen=True, slots=True)
class Token:
    """One word: `kind` is name, value, sign or end."""

    kind: str
    text: str
    start: int
    end: int
    value: Any = None


def read_tokens(source: str) -> list[Token]:
    """Split an expression into words. Raises ExpressionError at the first that is none."""
    if len(source) > LONGEST_SOURCE:
        raise ExpressionError(
            f"an expression has at most {LONGEST_SOURCE} characters; this one has {len(source)}", kind="too_long"
        )
    tokens: list[Token] = []
    at = 0
    while True:
        skipped = _SKIPPED.match(source, at)
        at = skipped.end() if skipped else at
        if at >= len(source):
            tokens.append(Token("end", "the end", at, at))
            return tokens
        tokens.append(_token(source, at))
        at = tokens[-1].end


def _token(source: str, at: int) -> Token:
    if (quoted := _string_start(source, at)) is not None:
        return _string(source, at, *quoted)
    if word := _WORD.match(source, at):
        return _word(word.group(), at, word.end())
    if number := _NUMBER.match(source, at):
        return _number(source, number.group(), at, number.end())
    for sign in SIGNS:
        if source.startswith(sign, at):
            return Token("sign", sign, at, at + len(sign))
    raise _wrong(f"{source[at]!r} means nothing here", at)


def _wrong(message: str, at: int) -> ExpressionError:
    return ExpressionError(message, kind="syntax", at=at)


def _word(text: str, start: int, end: int) -> Token:
    if text in ("true", "false", "null"):
        return Token("value", text, start, end, {"true": True, "false": False, "null": None}[text])
    return Token("sign" if text == "in" else "name", text, start, end)


def _number(source: str, text: str, start: int, end: int) -> Token:
    following = source[end : end + 1]
    if following in ("u", "U"):
        raise _wrong("unsigned numbers are not part of this language; write the number without u", start)
    if following.isalnum() or following == "_":
        raise _wrong(f"{text + following!r} is no number", start)
    if text[:2] in ("0x", "0X"):
        return Token("value", text, start, end, int(text, 16))
    if set(text) & set(".eE"):
        return Token("value", text, start, end, float(text))
    if len(text) > 20:
        raise _wrong("this number does not fit in 64 bits", start)
    return Token("value", text, start, end, int(text))


def _string_start(source: str, at: int) -> tuple[bool, str] | None:
    raw = source[at] in "rR" and source[at + 1 : at + 2] in ("'", '"')
    if source[at] in "bB" and source[at + 1 : at + 2] in ("'", '"'):
        raise _wrong("byte strings are not part of this language", at)
    begin = at + raw
    if source[begin] not in "'\"":
        return None
    triple = source[begin : begin + 3]
    return raw, triple if triple in ("'''", '"""') else source[begin]


def _string(source: str, start: int, raw: bool, quote: str) -> Token:
    at = start + raw + len(quote)
    parts: list[str] = []
    while not source.startswith(quote, at):
        if at >= len(source) or (len(quote) == 1 and source[at] in "\r\n"):
            raise _wrong("this text is not closed", start)
        if source[at] == "\\" and raw:
            parts.append(source[at : at + 2])
            at += 2
        elif source[at] == "\\":
            char, at = _escape(source, at)
            parts.append(char)
        else:
            parts.append(source[at])
            at += 1
    return Token("value", source[start : at + len(quote)], start, at + len(quote), "".join(parts))


def _escape(source: str, at: int) -> tuple[str, int]:
    sign = source[at + 1 : at + 2]
    if sign in _ESCAPED:
        return _ESCAPED[sign], at + 2
    if sign in _DIGITS:
        begin, base, length = at + 2, 16, _DIGITS[sign]
    else:
        begin, base, length = at + 1, 8, 3
    digits = source[begin : begin + length]
    try:
        code = int(digits, base) if len(digits) == length and digits.isalnum() else -1
    except ValueError:
        code = -1
    if not 0 <= code <= 0x10FFFF or 0xD800 <= code <= 0xDFFF or (base == 8 and code > 0xFF):
        raise _wrong(f"no escape \\{sign}; a backslash itself is written \\\\", at)
    return chr(code), begin + length
