"""Patterns of scripted rules: checked before use, and the placeholders they fill."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from re import _constants as sre  # type: ignore[attr-defined]
from re import _parser as sre_parser  # type: ignore[attr-defined]
from typing import Any

from viva.core.errors import SuiteError

_PLACEHOLDER = re.compile(r"\$(?:(\$)|(\d)|\{(\w+)\}|([A-Za-z_]\w*))")
_MANY = 10


def compile_pattern(text: str, where: str) -> re.Pattern[str]:
    """Compile a pattern, refusing those that can take for ever: a repeat inside a repeat, like `(a+)+`."""
    try:
        tree = sre_parser.parse(text)
        if len(text) > 2000 or any(_nested(item, inside=False) for item in tree):
            raise SuiteError(f"the pattern {text[:100]!r} repeats a repeat", where=where, hint="it could take for ever")
        return re.compile(text)
    except (re.error, RecursionError, OverflowError) as error:
        raise SuiteError(f"the pattern {text[:100]!r} is not valid: {error}", where=where) from error


def _nested(item: Any, inside: bool) -> bool:
    operator, argument = item
    if operator in (sre.MAX_REPEAT, sre.MIN_REPEAT):
        _, most, body = argument
        many = most > _MANY
        return (inside and many) or any(_nested(part, inside or many) for part in body)
    return any(_nested(part, inside) for part in _parts(argument))


def _parts(argument: Any) -> Iterator[Any]:
    """The items below an operator, whatever shape its argument has."""
    if isinstance(argument, sre_parser.SubPattern):
        yield from argument
    elif isinstance(argument, list | tuple):
        for part in argument:
            if isinstance(part, sre_parser.SubPattern | list):
                yield from _parts(part)


class Captured:
    """The values placeholders stand for."""

    def __init__(self, patterns: Mapping[str, re.Pattern[str]], text: str, nonce: str, last: str) -> None:
        self.items: list[Any] = []
        self._values: dict[str, str] = {"nonce": nonce, "last": last}
        for name, pattern in patterns.items():
            self._take(name, pattern.search(text))

    def _take(self, name: str, found: re.Match[str] | None) -> None:
        if found is None:
            return
        groups = found.groups() or (found.group(),)
        if name:
            self._values[name] = groups[0] or ""
        else:
            self._values |= {str(number): group or "" for number, group in enumerate(groups, 1)}
        self._values |= {key: value or "" for key, value in found.groupdict().items()}

    def at(self, found: re.Match[str]) -> Captured:
        """The same values with the groups of one match in front."""
        inner = Captured({}, "", "", "")
        inner._values = dict(self._values)
        inner._take("", found)
        return inner

    def fill(self, text: str) -> str:
        """Replace `$1`, `${name}`, `$name`; what was not captured stays as it is written."""
        return _PLACEHOLDER.sub(self._value, text) if "$" in text else text

    def _value(self, found: re.Match[str]) -> str:
        if found.group(1):
            return "$"
        name = found.group(2) or found.group(3) or found.group(4)
        return self._values.get(name, found.group())


def fill(reply: Any, captured: Captured) -> Any:
    """Fill the placeholders of a reply, wherever its texts are."""
    match reply:
        case "$items":
            return captured.items
        case str():
            return captured.fill(reply)
        case dict():
            return {key: fill(value, captured) for key, value in reply.items()}
        case list():
            return [fill(item, captured) for item in reply]
        case _:
            return reply
