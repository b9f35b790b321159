"""Expressions that can be neither true nor false, whatever the agent says: `1 + 1`, a text, a list."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from viva.core.errors import SuiteError
from viva.expressions.errors import ExpressionError
from viva.expressions.kotlin import kotlin_to_cel
from viva.expressions.parser import Parser
from viva.expressions.syntax import Binary, Call, ListOf, Literal, Macro, MapOf, Node, Ternary, Unary

_ARITHMETIC = frozenset("+-*/%")
_NEVER_BOOLEAN = frozenset({"size", "int", "double", "string", "lowerAscii", "upperAscii", "trim"})
_LISTS = frozenset({"map", "filter"})


def check_claim(name: str, settings: Any, where: str) -> None:
    """Refuse the expression of a built-in scorer where it can never be a claim. Raises SuiteError."""
    if not type(settings).__module__.startswith("viva.scoring."):
        return
    if name == "expression":
        from viva.scoring.bindings import BINDINGS

        source = kotlin_to_cel(settings.source) if settings.language == "kotlin" else settings.source
        _check(name, source, BINDINGS, where)
    elif name == "probe":
        _check(name, settings.expression, ("value",), where)


def _check(name: str, source: str, names: Collection[str], where: str) -> None:
    try:
        tree = Parser(source, names).parse()
    except ExpressionError:
        return  # Whoever evaluates it says what is wrong, and where.
    if never_boolean(tree):
        hint = "compare it with something: `size(text) > 0`"
        raise SuiteError(f"{name}: {source!r} is neither true nor false", kind="not_boolean", hint=hint, where=where)


def never_boolean(tree: Node) -> bool:
    """Whether an expression's value is certain to be no truth."""
    match tree:
        case Literal():
            return type(tree.value) is not bool
        case ListOf() | MapOf():
            return True
        case Unary():
            return tree.sign == "-"
        case Binary():
            return tree.sign in _ARITHMETIC
        case Ternary():
            return never_boolean(tree.yes) and never_boolean(tree.no)
        case Call():
            return tree.name in _NEVER_BOOLEAN
        case Macro():
            return tree.kind in _LISTS
    return False
