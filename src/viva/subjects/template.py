"""Filling request bodies, paths and arguments: one pass, and a value is never read as a template again."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any
from urllib.parse import quote

from viva.core.data import to_json
from viva.core.errors import SuiteError
from viva.core.text import storable_data
from viva.registry import suggest

Values = Mapping[str, Any]
Fill = Callable[[Values], Any]

_PLACEHOLDER = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}")


class Template:
    """A JSON-like structure whose texts hold placeholders: `{message}` alone becomes the value, in its own type.

    Inside a longer text a value is written out. `{{` and `}}` stand for braces. A key whose placeholder has no value
    (None) is left out.
    """

    def __init__(self, source: Any, known: Collection[str], where: str = "") -> None:
        self.names: set[str] = set()
        self._fill = self._compile(source, known, where)

    def fill(self, values: Values) -> Any:
        """Put the values in."""
        return self._fill(values)

    def _compile(self, source: Any, known: Collection[str], where: str) -> Fill:
        match source:
            case str():
                return self._compile_text(source, known, where)
            case dict():
                fields = [(str(key), self._compile(item, known, where)) for key, item in source.items()]
                absent = {key for key, item in source.items() if isinstance(item, str)}
                return lambda values: _fill_fields(fields, absent, values)
            case list() | tuple():
                items = [self._compile(item, known, where) for item in source]
                return lambda values: [item(values) for item in items]
            case _:
                return lambda values: source

    def _compile_text(self, source: str, known: Collection[str], where: str) -> Fill:
        parts = split_placeholders(source, known, where)
        self.names.update(name for _, name in parts if name)
        if len(parts) == 1 and parts[0][1]:
            name = parts[0][1]
            return lambda values: values.get(name)
        return lambda values: "".join(text if not name else as_text(values.get(name)) for text, name in parts)


class TextTemplate:
    """A text with placeholders, for paths and headers; with `quoted`, values are percent-encoded."""

    def __init__(self, source: str, known: Collection[str], where: str = "", *, quoted: bool = False) -> None:
        self._parts = split_placeholders(source, known, where)
        self._quoted = quoted
        self._constant = "".join(text for text, _ in self._parts) if not any(n for _, n in self._parts) else None
        self.names = {name for _, name in self._parts if name}

    def fill(self, values: Values) -> str:
        """Put the values in."""
        if self._constant is not None:
            return self._constant
        return "".join(text if not name else self._value(values.get(name)) for text, name in self._parts)

    def _value(self, value: Any) -> str:
        text = as_text(value)
        return quote(text.encode("utf-8", "backslashreplace"), safe="") if self._quoted else text


def split_placeholders(source: str, known: Collection[str], where: str = "") -> list[tuple[str, str]]:
    """Cut a text into (literal, '') and ('', name) pieces. Raises SuiteError for a name that is not known."""
    parts: list[tuple[str, str]] = []
    end = 0
    for match in _PLACEHOLDER.finditer(source):
        if match.start() > end:
            parts.append((source[end : match.start()], ""))
        name = match.group(1)
        if name is None:
            parts.append((match.group()[0], ""))
        elif name not in known:
            advice = suggest(name, sorted(known)) + "; write {{ and }} for braces"
            raise SuiteError(f"there is no value called {{{name}}}", hint=advice, where=where)
        else:
            parts.append(("", name))
        end = match.end()
    if end < len(source) or not parts:
        parts.append((source[end:], ""))
    return parts


def as_text(value: Any) -> str:
    """A value inside a longer text: texts as they are, nothing as nothing, the rest as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else to_json(storable_data(value)).decode()


def _fill_fields(fields: list[tuple[str, Fill]], absent: set[str], values: Values) -> dict[str, Any]:
    filled = {}
    for key, fill in fields:
        value = fill(values)
        if value is not None or key not in absent:
            filled[key] = value
    return filled
