"""The tree of an expression. Every node knows where it stands in the source, and how deep it reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Node:
    """A part of an expression: source[start:end]."""

    start: int
    end: int
    depth: int


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A value written out."""

    value: Any


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A binding, or the variable of a macro."""

    name: str


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`target.field`."""

    target: Node
    field: str
    at: int


@dataclass(frozen=True, slots=True)
class Has(Node):
    """`has(target.field)`."""

    target: Node
    field: str


@dataclass(frozen=True, slots=True)
class Index(Node):
    """`target[key]`."""

    target: Node
    key: Node


@dataclass(frozen=True, slots=True)
class Unary(Node):
    """`!x` or `-x`."""

    sign: str
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic, comparison and `in`; `at` is where the sign stands."""

    sign: str
    left: Node
    right: Node
    at: int


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """A chain of `&&`, or of `||`."""

    sign: str
    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Ternary(Node):
    """`test ? yes : no`."""

    test: Node
    yes: Node
    no: Node


@dataclass(frozen=True, slots=True)
class ListOf(Node):
    """`[a, b]`."""

    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class MapOf(Node):
    """`{"a": b}`."""

    entries: tuple[tuple[Node, Node], ...]


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`name(…)`, or `target.name(…)` with the target as first argument."""

    name: str
    arguments: tuple[Node, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Macro(Node):
    """`target.exists(variable, test)` and its relatives; `result` is what `map` collects."""

    kind: str
    target: Node
    variable: str
    test: Node | None
    result: Node | None
