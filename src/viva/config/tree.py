"""A tree of plain data in which every node knows its file, line and column."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from viva.core.errors import SuiteError

MOST_DEPTH = 64
"""Levels of nesting in any input; far above what a suite needs, far below Python's own limit."""

PYTHON = "<python>"
"""The file name of what was built in Python."""


class Node(msgspec.Struct, gc=False):
    """One scalar, list or mapping, and where it stands. Never part of a cycle, hence no work for the collector."""

    value: Any
    """A scalar, a list of nodes, a dict of nodes by key, or (from Python) a finished object."""
    file: str
    line: int = 0
    column: int = 0
    key_line: int = 0
    """The line of the key this is the value of; 0 for items of lists."""

    @property
    def where(self) -> str:
        """`file:line`, or the file alone where there are no lines."""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def key_where(self) -> str:
        """Where the key of this value stands."""
        return f"{self.file}:{self.key_line}" if self.key_line else self.where


def plain(node: Node) -> Any:
    """The data alone, without places."""
    value = node.value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value


def describe(node: Node) -> str:
    """Say what kind of value a node holds, in the words of an author."""
    match node.value:
        case None:
            return "nothing"
        case bool():
            return f"`{str(node.value).lower()}`"
        case int() | float():
            return f"the number {node.value}"
        case str():
            return "text"
        case list():
            return "a list"
        case dict():
            return "a mapping"
        case other:
            return f"a {type(other).__name__}"


def from_python(value: Any, file: str = PYTHON, line: int = 0) -> Node:
    """Give data built in Python (or read from a data set) the shape the reader knows."""
    return _from_python(value, file, line, 0)


def _from_python(value: Any, file: str, line: int, depth: int) -> Node:
    if depth > MOST_DEPTH:
        raise SuiteError(f"nested deeper than {MOST_DEPTH} levels", where=Node(None, file, line).where)
    if isinstance(value, Mapping):
        return Node({_key(k, file, line): _from_python(v, file, line, depth + 1) for k, v in value.items()}, file, line)
    if isinstance(value, list | tuple):
        return Node([_from_python(item, file, line, depth + 1) for item in value], file, line)
    if isinstance(value, PurePath):
        return Node(str(value), file, line)
    if isinstance(value, float) and not math.isfinite(value):
        raise SuiteError(f"{value} is not a number that can be stored", where=Node(None, file, line).where)
    if value is None or isinstance(value, str | bool | int | float | msgspec.Struct):
        return Node(value, file, line)
    raise SuiteError(
        f"a suite cannot hold a {type(value).__name__}",
        hint="use text, numbers, lists, dicts and viva's own data; hand a callable to viva.run(subject=…)",
        where=Node(None, file, line).where,
    )


def _key(key: Any, file: str, line: int) -> str:
    if isinstance(key, str):
        return key
    raise SuiteError(f"the key {key!r} is no text", where=Node(None, file, line).where)
