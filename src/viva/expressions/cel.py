"""Expressions: compile once when a suite is loaded, evaluate against the evidence of every trial.

The language is a subset of CEL (docs/reference/expressions.md), written here because no evaluator we found bounds its
memory or names the fields there are when one is missing (docs/design/expressions.md).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from viva.expressions.errors import ExpressionError
from viva.expressions.evaluate import Run, build
from viva.expressions.explain import explain
from viva.expressions.parser import Parser
from viva.expressions.syntax import Node
from viva.expressions.values import Frame, plain_copy


class Program:
    """A compiled expression."""

    __slots__ = ("_run", "_tree", "names", "source")

    def __init__(self, source: str, tree: Node, run: Run, names: frozenset[str]) -> None:
        self.source = source
        self.names = names
        """The bindings it looks at."""
        self._tree = tree
        self._run = run

    def evaluate(self, bindings: Mapping[str, Any]) -> Any:
        """The value for these bindings, as plain data. Raises ExpressionError with kind and column."""
        return self._value(self._run, bindings, copied=True)

    def holds(self, bindings: Mapping[str, Any]) -> bool:
        """Whether a claim is true. Raises ExpressionError unless it is exactly true or false."""
        value = self._value(self._run, bindings)
        if type(value) is not bool:
            raise ExpressionError(
                "the expression is neither true nor false; compare it with something", kind="not_boolean"
            ).locate(self.source)
        return value

    def explain(self, bindings: Mapping[str, Any]) -> str:
        """Say which part of a false claim is false, with the values on both of its sides."""

        def value_of(node: Node) -> Any:
            return self._value(build(node), bindings, copied=True)

        return explain(self._tree, self.source, value_of)

    def _value(self, run: Run, bindings: Mapping[str, Any], copied: bool = False) -> Any:
        missing = [name for name in self.names if name not in bindings]
        if missing:
            raise ExpressionError(f"nothing is bound to {missing[0]!r}", kind="no_such_name").locate(self.source)
        try:
            frame = Frame({name: bindings[name] for name in self.names})
            return plain_copy(frame, run(frame)) if copied else run(frame)
        except ExpressionError as error:
            raise error.locate(self.source) from None
        except RecursionError:
            raise ExpressionError("the data is nested too deep", kind="too_deep").locate(self.source) from None


def compile_expression(source: str, names: Collection[str]) -> Program:
    """Read an expression that may use these names. Raises ExpressionError with line and column."""
    try:
        parser = Parser(source, names)
        tree = parser.parse()
        return Program(source, tree, build(tree), frozenset(parser.used))
    except ExpressionError as error:
        raise error.locate(source) from None
    except RecursionError:
        raise ExpressionError("the expression is nested too deep", kind="too_deep").locate(source) from None
