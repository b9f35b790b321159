"""Why a claim is false: the part that is, and what its sides are."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from viva.core.text import shorten, visible
from viva.expressions.errors import ExpressionError
from viva.expressions.syntax import Binary, Call, Literal, Logic, Macro, Node

SHOWN = 120


def explain(tree: Node, source: str, value_of: Callable[[Node], Any]) -> str:
    """Describe a false expression by its first false part."""
    node = _culprit(tree, value_of)
    text = visible(shorten(" ".join(source[node.start : node.end].split()), SHOWN))
    sides = [_side(part, source, value_of) for part in _parts(node) if not isinstance(part, Literal)]
    return f"{text} is false" + (f": {'; '.join(sides)}" if sides else "")


def _culprit(node: Node, value_of: Callable[[Node], Any]) -> Node:
    while isinstance(node, Logic) and node.sign == "&&":
        node = next((part for part in node.operands if _is_false(part, value_of)), node.operands[0])
    return node


def _is_false(node: Node, value_of: Callable[[Node], Any]) -> bool:
    try:
        return value_of(node) is False
    except ExpressionError:
        return False


def _parts(node: Node) -> tuple[Node, ...]:
    match node:
        case Binary():
            return (node.left, node.right)
        case Macro():
            return (node.target,)
        case Call():
            return node.arguments
        case _:
            return ()


def _side(node: Node, source: str, value_of: Callable[[Node], Any]) -> str:
    text = " ".join(source[node.start : node.end].split())
    try:
        value = show(value_of(node))
    except ExpressionError as error:
        value = error.message
    return f"{visible(shorten(text, SHOWN))} is {value}"


def show(value: Any) -> str:
    """A value as short JSON."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = "(data)"
    return visible(shorten(text, SHOWN))
