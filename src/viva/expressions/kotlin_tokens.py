"""From the text of a Kotlin assertion to its words; literals are written as CEL at once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from viva.expressions.errors import ExpressionError
from viva.expressions.tokens import LONGEST_SOURCE

SIGNS = ("===", "!==", "==", "!=", "<=", ">=", "&&", "||", "?.", "?:", "!!", "->", "..", *"<>=+-*/%!.,()[]{};")

_NEGATED = re.compile(r"!(?:in|is)\b")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER = re.compile(r"[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SKIPPED = re.compile(r"(?:[ \t\r\n\f]+|//[^\n]*)+")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "\\": "\\", '"': '"', "'": "'", "$": "$"}


@dataclass(frozen=True, slots=True)
class KotlinToken:
    """One word: `kind` is word, value, sign or end; a value carries its CEL."""

    kind: str
    text: str
    start: int
    end: int
    cel: str = ""


def read_kotlin_tokens(source: str) -> list[KotlinToken]:
    """Split an assertion into words."""
    if len(source) > LONGEST_SOURCE:
        raise ExpressionError(f"an expression has at most {LONGEST_SOURCE} characters", kind="too_long")
    tokens: list[KotlinToken] = []
    at = 0
    while True:
        skipped = _SKIPPED.match(source, at)
        at = skipped.end() if skipped else at
        if at >= len(source):
            tokens.append(KotlinToken("end", "the end", at, at))
            return tokens
        tokens.append(_token(source, at))
        at = tokens[-1].end


def cel_text(text: str) -> str:
    """A text as a CEL literal."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


def _wrong(message: str, at: int) -> ExpressionError:
    return ExpressionError(message, kind="untranslatable", at=at)


def _token(source: str, at: int) -> KotlinToken:
    if source.startswith('"""', at):
        end = source.find('"""', at + 3)
        return _text(source, source[at + 3 : end], at, end + 3) if end > 0 else _unclosed(at)
    if source[at] in "\"'":
        return _quoted(source, at)
    if word := _WORD.match(source, at):
        return _word(source, word.group(), at, word.end())
    if number := _NUMBER.match(source, at):
        return _number(source, number.group(), at, number.end())
    if negated := _NEGATED.match(source, at):
        return KotlinToken("sign", negated.group(), at, negated.end())
    for sign in SIGNS:
        if source.startswith(sign, at):
            return KotlinToken("sign", sign, at, at + len(sign))
    raise _wrong(f"{source[at]!r} has no translation", at)


def _word(source: str, text: str, start: int, end: int) -> KotlinToken:
    if text in ("true", "false", "null"):
        return KotlinToken("value", text, start, end, text)
    return KotlinToken("word", text, start, end)


def _number(source: str, text: str, start: int, end: int) -> KotlinToken:
    digits = text.replace("_", "")
    suffix = source[end : end + 1]
    if suffix in ("f", "F"):
        return KotlinToken("value", text, start, end + 1, str(float(digits)))
    return KotlinToken("value", text, start, end + (suffix == "L"), digits)


def _unclosed(at: int) -> KotlinToken:
    raise _wrong("this text is not closed", at)


def _quoted(source: str, start: int) -> KotlinToken:
    quote, at, parts = source[start], start + 1, []
    while at < len(source) and source[at] not in (quote, "\n"):
        if source[at] == "\\":
            char, at = _escape(source, at)
            parts.append(char)
        else:
            parts.append(_not_a_template(source, at))
            at += 1
    if source[at : at + 1] != quote:
        _unclosed(start)
    return KotlinToken("value", source[start : at + 1], start, at + 1, cel_text("".join(parts)))


def _text(source: str, inside: str, start: int, end: int) -> KotlinToken:
    for at in range(start + 3, end - 3):
        _not_a_template(source, at)
    return KotlinToken("value", source[start:end], start, end, cel_text(inside))


def _not_a_template(source: str, at: int) -> str:
    following = source[at + 1 : at + 2]
    if source[at] == "$" and (following.isalpha() or following in ("_", "{")):
        raise _wrong("texts with $values inside have no translation", at)
    return source[at]


def _escape(source: str, at: int) -> tuple[str, int]:
    sign = source[at + 1 : at + 2]
    digits = source[at + 2 : at + 6]
    if sign == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", digits):
        return chr(int(digits, 16)), at + 6
    if sign not in _ESCAPED:
        raise _wrong(f"no escape \\{sign}", at)
    return _ESCAPED[sign], at + 2
