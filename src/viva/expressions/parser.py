"""From words to a tree, by precedence climbing. Unknown names and functions are found here, before any data is."""

from __future__ import annotations

import difflib
from collections.abc import Collection

from viva.expressions.errors import ExpressionError
from viva.expressions.functions import FUNCTIONS
from viva.expressions.syntax import (
    Binary,
    Call,
    Has,
    Index,
    ListOf,
    Literal,
    Logic,
    Macro,
    MapOf,
    Name,
    Node,
    Select,
    Ternary,
    Unary,
)
from viva.expressions.tokens import INT_MAX, INT_MIN, RESERVED, Token, read_tokens

DEEPEST = 80
"""Of the tree. Evaluation recurses as deep as the tree; Python allows a thousand."""
DEEPEST_NESTING = 32
"""Of brackets."""

PRECEDENCE = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
MACROS = {"exists": (2,), "exists_one": (2,), "all": (2,), "filter": (2,), "map": (2, 3)}


class Parser:
    """Reads one expression."""

    def __init__(self, source: str, names: Collection[str]) -> None:
        self._tokens = read_tokens(source)
        self._names = names
        self._variables: list[str] = []
        self._at = 0
        self._nesting = 0
        self.used: set[str] = set()

    def parse(self) -> Node:
        """The whole expression. Raises ExpressionError with its place."""
        tree = self._expression()
        if self._now.kind != "end":
            raise self._wrong(f"{self._now.text!r} was not expected here")
        return tree

    @property
    def _now(self) -> Token:
        return self._tokens[self._at]

    def _wrong(self, message: str, at: int | None = None) -> ExpressionError:
        return ExpressionError(message, kind="syntax", at=self._now.start if at is None else at)

    def _is(self, sign: str) -> bool:
        return self._now.kind == "sign" and self._now.text == sign

    def _take(self, sign: str) -> bool:
        if self._is(sign):
            self._at += 1
            return True
        return False

    def _must(self, sign: str) -> Token:
        if not self._is(sign):
            raise self._wrong(f"{sign!r} was expected here, not {self._now.text!r}")
        self._at += 1
        return self._tokens[self._at - 1]

    def _depth(self, *parts: Node) -> int:
        depth = 1 + max((part.depth for part in parts), default=0)
        if depth > DEEPEST:
            raise ExpressionError(f"the expression is nested deeper than {DEEPEST}", kind="too_deep", at=parts[0].start)
        return depth

    def _expression(self) -> Node:
        self._nesting += 1
        if self._nesting > DEEPEST_NESTING:
            raise ExpressionError(f"brackets may be nested {DEEPEST_NESTING} deep", kind="too_deep", at=self._now.start)
        test = self._logic("||")
        if self._take("?"):
            yes = self._logic("||")
            self._must(":")
            no = self._expression()
            test = Ternary(test.start, no.end, self._depth(test, yes, no), test, yes, no)
        self._nesting -= 1
        return test

    def _logic(self, sign: str) -> Node:
        operands = [self._logic("&&") if sign == "||" else self._binary(3)]
        while self._take(sign):
            operands.append(self._logic("&&") if sign == "||" else self._binary(3))
        if len(operands) == 1:
            return operands[0]
        return Logic(operands[0].start, operands[-1].end, self._depth(*operands), sign, tuple(operands))

    def _binary(self, least: int) -> Node:
        left = self._unary() if least == 5 else self._binary(least + 1)
        while self._now.kind == "sign" and PRECEDENCE.get(self._now.text) == least:
            sign = self._now
            self._at += 1
            right = self._unary() if least == 5 else self._binary(least + 1)
            left = Binary(left.start, right.end, self._depth(left, right), sign.text, left, right, sign.start)
        return left

    def _unary(self) -> Node:
        signs: list[Token] = []
        while self._is("!") or self._is("-"):
            signs.append(self._now)
            self._at += 1
        if signs and signs[-1].text == "-" and type(self._now.value) in (int, float):
            operand = self._negative(signs.pop())
        else:
            operand = self._member()
        for sign in reversed(signs):
            operand = Unary(sign.start, operand.end, self._depth(operand), sign.text, operand)
        return operand

    def _negative(self, sign: Token) -> Node:
        """A minus directly before a number belongs to it: the smallest number has no positive twin."""
        number = self._now
        self._at += 1
        if type(number.value) is int and -number.value < INT_MIN:
            raise self._wrong("this number does not fit in 64 bits", sign.start)
        return self._members(Literal(sign.start, number.end, 1, -number.value))

    def _member(self) -> Node:
        return self._members(self._primary())

    def _members(self, target: Node) -> Node:
        while True:
            if self._take("."):
                target = self._dotted(target)
            elif self._take("["):
                key = self._expression()
                end = self._must("]").end
                target = Index(target.start, end, self._depth(target, key), target, key)
            else:
                return target

    def _dotted(self, target: Node) -> Node:
        word = self._now
        if word.kind != "name":
            raise self._wrong(f"a field's name was expected after '.', not {word.text!r}")
        self._at += 1
        if not self._take("("):
            return Select(target.start, word.end, self._depth(target), target, word.text, word.start)
        if word.text in MACROS:
            return self._macro(target, word)
        return self._call(word, (target,))

    def _call(self, word: Token, before: tuple[Node, ...]) -> Node:
        known = FUNCTIONS.get(word.text)
        if known is None:  # Before its arguments are read: a misspelt macro would blame its variable.
            raise self._no_function(word, bool(before))
        arguments = (*before, *self._until(")"))
        end = self._tokens[self._at - 1].end
        start = before[0].start if before else word.start
        if len(arguments) != known.arguments or (before and not known.method):
            raise self._wrong(f"{word.text} is written {known.usage}", word.start)
        return Call(start, end, self._depth(*arguments), word.text, arguments, word.start)

    def _no_function(self, word: Token, is_method: bool) -> ExpressionError:
        known = sorted({*FUNCTIONS, "has", *(MACROS if is_method else ())})
        near = difflib.get_close_matches(word.text, known, n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        return ExpressionError(
            f"no function {word.text!r}; {guess}there are: {', '.join(known)}", kind="no_such_function", at=word.start
        )

    def _until(self, closing: str) -> list[Node]:
        items: list[Node] = []
        while not self._take(closing):
            items.append(self._expression())
            if not self._take(","):
                self._must(closing)
                return items
            if closing == ")" and self._is(closing):
                raise self._wrong("an argument was expected after ','")
        return items

    def _macro(self, target: Node, word: Token) -> Node:
        variable = self._now
        if variable.kind != "name" or variable.text in RESERVED:
            raise self._wrong(f"{word.text} takes a variable first: {word.text}(x, …)")
        self._at += 1
        self._must(",")
        self._variables.append(variable.text)
        parts = self._until(")")
        self._variables.pop()
        if len(parts) + 1 not in MACROS[word.text]:
            raise self._wrong(f"{word.text} is written list.{word.text}(x, …)", word.start)
        end = self._tokens[self._at - 1].end
        result = parts[-1] if word.text == "map" else None
        test = parts[0] if word.text != "map" or len(parts) == 2 else None
        depth = self._depth(target, *parts)
        return Macro(target.start, end, depth, word.text, target, variable.text, test, result)

    def _primary(self) -> Node:
        token = self._now
        self._at += 1
        if token.kind == "value":
            return self._literal(token)
        if token.kind == "name":
            return self._name(token)
        if token.kind == "sign" and token.text == "(":
            inner = self._expression()
            self._must(")")
            return inner
        if token.kind == "sign" and token.text == "[":
            items = self._until("]")
            return ListOf(token.start, self._tokens[self._at - 1].end, self._depth(*items), tuple(items))
        if token.kind == "sign" and token.text == "{":
            return self._map(token)
        raise self._wrong(f"a value was expected here, not {token.text!r}", token.start)

    def _literal(self, token: Token) -> Node:
        if type(token.value) is int and token.value > INT_MAX:
            raise self._wrong("this number does not fit in 64 bits", token.start)
        return Literal(token.start, token.end, 1, token.value)

    def _name(self, token: Token) -> Node:
        if token.text in RESERVED:
            raise self._wrong(f"{token.text!r} is a reserved word", token.start)
        if self._take("("):
            return self._has(token) if token.text == "has" else self._call(token, ())
        if token.text not in self._variables:
            if token.text not in self._names:
                known = sorted(self._names) + self._variables
                raise ExpressionError(f"no name '{token.text}'", kind="no_such_name", at=token.start, known=known)
            self.used.add(token.text)
        return Name(token.start, token.end, 1, token.text)

    def _has(self, token: Token) -> Node:
        field = self._expression()
        end = self._must(")").end
        if not isinstance(field, Select):
            raise self._wrong("has() takes a field: has(a.b)", token.start)
        return Has(token.start, end, self._depth(field), field.target, field.field)

    def _map(self, opening: Token) -> Node:
        entries: list[tuple[Node, Node]] = []
        while not self._take("}"):
            key = self._expression()
            if isinstance(key, Literal) and type(key.value) is not str:
                raise self._wrong("the keys of a map are texts", key.start)
            self._must(":")
            entries.append((key, self._expression()))
            if not self._take(","):
                self._must("}")
                break
        parts = [part for entry in entries for part in entry]
        return MapOf(opening.start, self._tokens[self._at - 1].end, self._depth(*parts), tuple(entries))
