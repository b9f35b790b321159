"""Translating the Kotlin assertions of Embabel jobs to CEL, when a job is loaded.

Kotlin's assertions were run as scripts with the whole class path. Here a small part of the language is read and
written again as CEL; what has no translation is refused with its column. `x.f != null` becomes `has(x.f) && x.f !=
null`: a field that the agent leaves out of its JSON is null to Kotlin.
"""

from __future__ import annotations

from collections.abc import Callable

from viva.expressions.errors import ExpressionError
from viva.expressions.kotlin_tokens import KotlinToken, read_kotlin_tokens
from viva.expressions.tokens import LONGEST_SOURCE

DEEPEST_NESTING = 24
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")


class Piece:
    """A translated part: its CEL, and how tightly it binds.

    `has` is a test that a field is there at all; `raw` and `there` take a safe call (`a?.b`) apart again, so that a
    chain of them grows by a condition and does not nest.
    """

    __slots__ = ("cel", "has", "raw", "there", "tight")

    def __init__(self, cel: str, *, tight: bool = True, has: str = "", raw: str = "", there: str = "") -> None:
        if len(cel) > LONGEST_SOURCE:
            raise ExpressionError("the translation becomes too long", kind="untranslatable")
        self.cel = cel
        self.tight = tight
        self.has = has
        self.raw = raw
        self.there = there

    @property
    def inside(self) -> str:
        """The CEL, in brackets where it needs them."""
        return self.cel if self.tight else f"({self.cel})"


def kotlin_to_cel(source: str) -> str:
    """Translate a Kotlin claim. Raises ExpressionError with the column of what has no translation."""
    try:
        return Translator(source).translate()
    except ExpressionError as error:
        raise error.locate(source) from None


class Translator:
    """Reads Kotlin by recursive descent, and writes CEL as it goes."""

    def __init__(self, source: str) -> None:
        self._tokens = read_kotlin_tokens(source)
        self._at = 0
        self._nesting = 0
        self._values: dict[str, Piece] = {}

    def translate(self) -> str:
        """The whole script: any `val name = …` lines, then one claim."""
        while self._take("val"):
            name = self._name("a name")
            self._must("=")
            self._values[name.text] = self._expression()
            while self._take(";"):
                pass
        claim = self._expression()
        if self._now.kind != "end":
            raise self._wrong(f"{self._now.text!r} has no translation here")
        return claim.cel

    @property
    def _now(self) -> KotlinToken:
        return self._tokens[self._at]

    def _wrong(self, message: str, at: int | None = None) -> ExpressionError:
        return ExpressionError(message, kind="untranslatable", at=self._now.start if at is None else at)

    def _is(self, *signs: str) -> bool:
        return self._now.kind in ("sign", "word") and self._now.text in signs

    def _take(self, sign: str) -> bool:
        if self._is(sign):
            self._at += 1
            return True
        return False

    def _must(self, sign: str) -> None:
        if not self._take(sign):
            raise self._wrong(f"{sign!r} was expected here, not {self._now.text!r}")

    def _name(self, what: str) -> KotlinToken:
        token = self._now
        if token.kind != "word":
            raise self._wrong(f"{what} was expected here, not {token.text!r}")
        self._at += 1
        return token

    def _expression(self) -> Piece:
        self._nesting += 1
        if self._nesting > DEEPEST_NESTING:
            raise self._wrong(f"brackets may be nested {DEEPEST_NESTING} deep")
        piece = self._chain("||", lambda: self._chain("&&", self._comparison))
        self._nesting -= 1
        return piece

    def _chain(self, sign: str, operand: Callable[[], Piece]) -> Piece:
        parts = [operand()]
        while self._take(sign):
            parts.append(operand())
        if len(parts) == 1:
            return parts[0]
        return Piece(f" {sign} ".join(part.inside for part in parts), tight=False)

    def _comparison(self) -> Piece:
        left = self._elvis()
        if self._is("===", "!==", "is", "as", "!is"):
            raise self._wrong(f"{self._now.text!r} has no translation")
        if self._is(*COMPARISONS):
            sign = self._now.text
            self._at += 1
            right = self._elvis()
            return self._compared(left, sign, right)
        if self._is("in", "!in"):
            return self._membership(left)
        return left

    def _compared(self, left: Piece, sign: str, right: Piece) -> Piece:
        if left.cel == "null":
            left, right = right, left
        claim = f"{left.inside} {sign} {right.inside}"
        if right.cel == "null" and left.has:
            claim = f"{left.has} && {claim}" if sign == "!=" else f"!{left.has} || {claim}"
        return Piece(claim, tight=False)

    def _membership(self, left: Piece) -> Piece:
        negated = self._now.text == "!in"
        self._at += 1
        low = self._sum()
        if self._take(".."):
            high = self._sum()
            cel = f"{left.inside} >= {low.inside} && {left.inside} <= {high.inside}"
        else:
            cel = f"{left.inside} in {low.inside}"
        return Piece(f"!({cel})" if negated else cel, tight=negated)

    def _elvis(self) -> Piece:
        piece = self._sum()
        while self._take("?:"):
            other = self._sum()
            test = f"{piece.has} && {piece.inside} != null" if piece.has else f"{piece.inside} != null"
            piece = Piece(f"({test} ? {piece.inside} : {other.inside})")
        return piece

    def _sum(self) -> Piece:
        return self._arithmetic(("+", "-"), lambda: self._arithmetic(("*", "/", "%"), self._unary))

    def _arithmetic(self, signs: tuple[str, ...], operand: Callable[[], Piece]) -> Piece:
        piece = operand()
        while self._is(*signs):
            sign = self._now.text
            self._at += 1
            piece = Piece(f"{piece.inside} {sign} {operand().inside}", tight=False)
        return piece

    def _unary(self) -> Piece:
        if self._is("!", "-"):
            sign = self._now.text
            self._at += 1
            return Piece(f"{sign}{self._unary().inside}")
        return self._members(self._primary())

    def _members(self, piece: Piece) -> Piece:
        while True:
            if self._take("!!"):
                continue
            if self._is(".", "?."):
                safe = self._now.text == "?."
                self._at += 1
                piece = self._member(piece, self._name("a member"), safe)
            elif self._take("["):
                key = self._expression()
                self._must("]")
                piece = Piece(f"{piece.inside}[{key.cel}]")
            else:
                return piece

    def _member(self, target: Piece, word: KotlinToken, safe: bool) -> Piece:
        owner = Piece(target.raw or target.inside) if safe else Piece(target.inside)
        if self._is("(", "{"):
            made = self._method(owner, word)
        elif word.text in ("size", "length"):
            made = Piece(f"size({owner.cel})")
        elif word.text in ("keys", "values", "entries", "indices", "lastIndex"):
            raise self._wrong(f"'.{word.text}' has no translation", word.start)
        else:
            made = Piece(f"{owner.cel}.{word.text}", has=f"has({owner.cel}.{word.text})")
        return self._guarded(target, owner, made) if safe else made

    def _guarded(self, target: Piece, owner: Piece, made: Piece) -> Piece:
        """`a?.b`: null when there is no a."""
        tests = [target.there or target.has, f"{owner.cel} != null", made.has]
        there = " && ".join(test for test in tests if test)
        return Piece(f"({there} ? {made.inside} : null)", raw=made.inside, there=there)

    def _method(self, target: Piece, word: KotlinToken) -> Piece:
        arguments, ignore_case = self._arguments() if self._is("(") else ([], False)
        closure = self._closure() if self._is("{") else None
        if closure is not None and word.text in CLOSURES and not arguments:
            return Piece(CLOSURES[word.text].format(x=target.inside, v=closure[0], p=closure[1]))
        if closure is None and (word.text, len(arguments)) in METHODS:
            return self._call(METHODS[word.text, len(arguments)], target, arguments, ignore_case)
        known = sorted({name for name, _ in METHODS} | set(CLOSURES))
        raise self._wrong(f"'.{word.text}' has no translation; there are: {', '.join(known)}", word.start)

    def _call(self, form: str, target: Piece, arguments: list[Piece], ignore_case: bool) -> Piece:
        x, *rest = [piece.inside for piece in (target, *arguments)]
        if ignore_case:
            x, *rest = [f"{cel}.lowerAscii()" for cel in (x, *rest)]
        return Piece(form.format(x=x, a=rest[0] if rest else "", b=rest[1] if len(rest) > 1 else ""))

    def _arguments(self) -> tuple[list[Piece], bool]:
        self._must("(")
        found: list[Piece] = []
        ignore_case = False
        while not self._take(")"):
            if self._is("ignoreCase"):
                self._at += 1
                self._must("=")
                ignore_case = self._now.text == "true"
                self._at += 1
            elif self._take("Regex"):
                self._must("(")
                found.append(self._expression())
                self._must(")")
            else:
                found.append(self._expression())
            if not self._take(","):
                self._must(")")
                break
        return found, ignore_case

    def _closure(self) -> tuple[str, str]:
        self._must("{")
        variable = "it"
        if self._now.kind == "word" and self._tokens[self._at + 1].text == "->":
            variable = self._name("a name").text
            self._must("->")
        hidden = self._values.pop(variable, None)
        body = self._expression()
        if hidden is not None:
            self._values[variable] = hidden
        self._must("}")
        return variable, body.cel

    def _primary(self) -> Piece:
        token = self._now
        self._at += 1
        if token.kind == "value":
            return Piece(token.cel)
        if token.kind == "sign" and token.text == "(":
            inner = self._expression()
            self._must(")")
            return inner if inner.tight else Piece(f"({inner.cel})")
        if token.kind != "word" or token.text in UNTRANSLATABLE:
            raise self._wrong(f"{token.text!r} has no translation", token.start)
        if token.text in ("listOf", "setOf") and self._is("("):
            items, _ = self._arguments()
            return Piece(f"[{', '.join(item.cel for item in items)}]")
        if token.text in self._values:
            return Piece(self._values[token.text].inside)
        if self._is("(", "{"):
            raise self._wrong(f"the function {token.text!r} has no translation", token.start)
        return Piece(token.text)


UNTRANSLATABLE = frozenset(
    "if else when for while do try throw return fun val var class object import package this super typealias "
    "interface break continue in is as".split()
)

CLOSURES = {
    "any": "{x}.exists({v}, {p})",
    "all": "{x}.all({v}, {p})",
    "none": "!{x}.exists({v}, {p})",
    "count": "size({x}.filter({v}, {p}))",
    "filter": "{x}.filter({v}, {p})",
    "filterNot": "{x}.filter({v}, !({p}))",
    "map": "{x}.map({v}, {p})",
    "first": "{x}.filter({v}, {p})[0]",
    "find": "({x}.exists({v}, {p}) ? {x}.filter({v}, {p})[0] : null)",
    "firstOrNull": "({x}.exists({v}, {p}) ? {x}.filter({v}, {p})[0] : null)",
}

METHODS = {
    ("isEmpty", 0): "(size({x}) == 0)",
    ("isNotEmpty", 0): "(size({x}) > 0)",
    ("isBlank", 0): "(size({x}.trim()) == 0)",
    ("isNotBlank", 0): "(size({x}.trim()) > 0)",
    ("isNullOrEmpty", 0): "({x} == null || size({x}) == 0)",
    ("any", 0): "(size({x}) > 0)",
    ("none", 0): "(size({x}) == 0)",
    ("count", 0): "size({x})",
    ("first", 0): "{x}[0]",
    ("firstOrNull", 0): "(size({x}) > 0 ? {x}[0] : null)",
    ("last", 0): "{x}[size({x}) - 1]",
    ("single", 0): "{x}[size({x}) == 1 ? 0 : -1]",
    ("get", 1): "{x}[{a}]",
    ("contains", 1): "{x}.contains({a})",
    ("containsKey", 1): "({a} in {x})",
    ("containsAll", 1): "{a}.all(each, {x}.contains(each))",
    ("startsWith", 1): "{x}.startsWith({a})",
    ("endsWith", 1): "{x}.endsWith({a})",
    ("matches", 1): "{x}.matches('^(?:' + {a} + ')$')",
    ("equals", 1): "({x} == {a})",
    ("lowercase", 0): "{x}.lowerAscii()",
    ("uppercase", 0): "{x}.upperAscii()",
    ("trim", 0): "{x}.trim()",
    ("toRegex", 0): "{x}",
    ("toString", 0): "string({x})",
    ("toInt", 0): "int({x})",
    ("toLong", 0): "int({x})",
    ("toDouble", 0): "double({x})",
    ("toList", 0): "{x}",
    ("toSet", 0): "{x}",
}
