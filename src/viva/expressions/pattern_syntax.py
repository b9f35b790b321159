"""Regular expressions in RE2's syntax, read into a small tree. What needs backtracking is refused here."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from viva.core.errors import VivaError

LONGEST_PATTERN = 1_000
DEEPEST_GROUP = 30
MOST_REPEATS = 1_000

Accepts = Callable[[str], bool]


class PatternError(VivaError):
    """A pattern that cannot be read, or a search that was stopped."""

    default_kind = "bad_pattern"


@dataclass(frozen=True, slots=True)
class One:
    """Exactly one character, out of a set."""

    accepts: Accepts


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Any of these."""

    items: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """So many times; `most` None means without end."""

    item: Tree
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Place:
    """An empty match at a place: ^ $ A z b B."""

    kind: str


Tree = One | Sequence | Choice | Repeat | Place

DIGIT = frozenset("0123456789")
SPACE = frozenset("\t\n\f\r ")
WORD = DIGIT | frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
PERL = {"d": DIGIT, "s": SPACE, "w": WORD}
LOWER = frozenset("abcdefghijklmnopqrstuvwxyz")
UPPER = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
POSIX = {
    "alpha": LOWER | UPPER,
    "digit": DIGIT,
    "alnum": LOWER | UPPER | DIGIT,
    "lower": LOWER,
    "upper": UPPER,
    "space": SPACE | {"\v"},
    "blank": frozenset(" \t"),
    "punct": PUNCTUATION,
    "word": WORD,
    "xdigit": DIGIT | frozenset("abcdefABCDEF"),
}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a"}
PLACES = {"b": "b", "B": "B", "A": "A", "z": "z"}


def _one_of(chars: frozenset[str], negated: bool = False) -> Accepts:
    return (lambda c: c not in chars) if negated else (lambda c: c in chars)


def _between(low: str, high: str) -> Accepts:
    return lambda c: low <= c <= high


def _category(name: str, negated: bool) -> Accepts:
    return lambda c: unicodedata.category(c).startswith(name) != negated


def _any_of(parts: list[Accepts], negated: bool) -> Accepts:
    return lambda c: any(part(c) for part in parts) != negated


def _folded(accepts: Accepts) -> Accepts:
    return lambda c: accepts(c) or accepts(c.lower()) or accepts(c.upper())


class PatternReader:
    """Reads one pattern by recursive descent."""

    def __init__(self, text: str, ignore_case: bool = False) -> None:
        if len(text) > LONGEST_PATTERN:
            raise PatternError(f"a pattern has at most {LONGEST_PATTERN} characters; this one has {len(text)}")
        self._text = text
        self._at = 0
        self._depth = 0
        self._flags = {"i"} if ignore_case else set()

    def read(self) -> Tree:
        """The whole pattern."""
        tree = self._choice()
        if self._at < len(self._text):
            raise self._wrong("there is no '(' for this ')'")
        return tree

    def _wrong(self, message: str) -> PatternError:
        return PatternError(f"pattern, column {self._at + 1}: {message}")

    def _peek(self, text: str) -> bool:
        return self._text.startswith(text, self._at)

    def _take(self, text: str) -> bool:
        if not self._peek(text):
            return False
        self._at += len(text)
        return True

    def _next(self) -> str:
        if self._at >= len(self._text):
            raise self._wrong("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _choice(self) -> Tree:
        items = [self._sequence()]
        while self._take("|"):
            items.append(self._sequence())
        return items[0] if len(items) == 1 else Choice(tuple(items))

    def _sequence(self) -> Tree:
        items: list[Tree] = []
        while self._at < len(self._text) and not self._peek("|") and not self._peek(")"):
            atom = self._atom()
            if atom is not None:
                items.append(self._repeated(atom))
        return items[0] if len(items) == 1 else Sequence(tuple(items))

    def _repeated(self, atom: Tree) -> Tree:
        counts = self._counts()
        if counts is None:
            return atom
        self._take("?")  # Lazy or greedy finds the same texts.
        if self._peek("*") or self._peek("+") or self._peek("?") or self._bounds_ahead():
            raise self._wrong("a repeat of a repeat; put the first one in (?: … )")
        return Repeat(atom, *counts)

    def _counts(self) -> tuple[int, int | None] | None:
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._take(sign):
                return counts
        return self._bounds() if self._bounds_ahead() else None

    def _bounds_ahead(self) -> bool:
        inside, closed, _ = self._text[self._at + 1 : self._at + 12].partition("}")
        low, comma, high = inside.partition(",")
        return bool(self._peek("{") and closed and low.isdecimal() and (not comma or not high or high.isdecimal()))

    def _bounds(self) -> tuple[int, int | None]:
        inside, _, _ = self._text[self._at + 1 :].partition("}")
        low, comma, high = inside.partition(",")
        least = int(low)
        most = int(high) if high else (None if comma else least)
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            raise self._wrong(f"a repeat count is at most {MOST_REPEATS}, and {{m,n}} has m <= n")
        self._at += len(inside) + 2
        return least, most

    def _atom(self) -> Tree | None:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            return One(self._set())
        if char == ".":
            return One((lambda c: True) if "s" in self._flags else (lambda c: c != "\n"))
        if char in "^$":
            return Place(char if "m" in self._flags else {"^": "A", "$": "z"}[char])
        if char in "*+?":
            self._at -= 1
            raise self._wrong(f"there is nothing for {char!r} to repeat")
        return self._escape() if char == "\\" else self._one(_one_of(frozenset(char)))

    def _one(self, accepts: Accepts) -> One:
        return One(_folded(accepts) if "i" in self._flags else accepts)

    def _group(self) -> Tree | None:
        self._depth += 1
        if self._depth > DEEPEST_GROUP:
            raise self._wrong(f"groups may be nested {DEEPEST_GROUP} deep")
        outer = set(self._flags)
        if self._take("?") and not self._opening():
            self._depth -= 1
            return None  # Flags alone: they hold until the enclosing group ends.
        tree = self._choice()
        if not self._take(")"):
            raise self._wrong("a '(' is not closed")
        self._flags = outer
        self._depth -= 1
        return tree

    def _opening(self) -> bool:
        """Read what follows '(?'; whether a group follows it."""
        for sign in ("=", "!", "<=", "<!"):
            if self._peek(sign):
                raise self._wrong("looking ahead or behind is not supported (it cannot be done in linear time)")
        if self._take("P<") or self._take("<"):
            while (char := self._next()) != ">":
                if not (char.isalnum() or char == "_"):
                    raise self._wrong("a group's name has letters, digits and _")
            return True
        if self._peek("P"):
            raise self._wrong("back-references are not supported (they cannot be done in linear time)")
        return self._set_flags()

    def _set_flags(self) -> bool:
        on = True
        while (char := self._next()) not in ":)":
            if char == "-":
                on = False
            elif char not in "imsU":
                raise self._wrong(f"no flag {char!r}; there are: i, m, s, U")
            elif on:
                self._flags.add(char)
            else:
                self._flags.discard(char)
        return char == ":"

    def _escape(self) -> Tree:
        char = self._next()
        if char in PLACES:
            return Place(PLACES[char])
        if char == "Q":
            quoted, _, _ = self._text[self._at :].partition("\\E")
            self._at = min(len(self._text), self._at + len(quoted) + 2)
            return Sequence(tuple(self._one(_one_of(frozenset(c))) for c in quoted))
        if char.isdecimal() and char != "0":
            raise self._wrong("back-references are not supported (they cannot be done in linear time)")
        return self._one(self._class_escape(char) or _one_of(frozenset(self._char_escape(char))))

    def _class_escape(self, char: str) -> Accepts | None:
        if char.lower() in PERL:
            return _one_of(PERL[char.lower()], negated=char.isupper())
        if char in "pP":
            name = self._next()
            if name == "{":
                name, closed, _ = self._text[self._at :].partition("}")
                self._at += len(name) + len(closed)
            negated = (char == "P") != name.startswith("^")
            name = name.removeprefix("^")
            if not name or name not in CATEGORIES:
                raise self._wrong(f"no Unicode class {name!r}; general categories such as L, Lu, N, P are known")
            return _category(name, negated)
        return None

    def _char_escape(self, char: str) -> str:
        if char in ESCAPES:
            return ESCAPES[char]
        if char == "x":
            return self._hex()
        if char == "0":
            return "\0"
        if char.isalnum():
            raise self._wrong(f"no escape \\{char}")
        return char

    def _hex(self) -> str:
        if self._take("{"):
            digits, _, _ = self._text[self._at :].partition("}")
            self._at += len(digits) + 1
        else:
            digits = self._next() + self._next()
        if not digits or len(digits) > 6 or not set(digits) <= POSIX["xdigit"] or int(digits, 16) > 0x10FFFF:
            raise self._wrong("\\x takes two hexadecimal digits, or some in { }")
        return chr(int(digits, 16))

    def _set(self) -> Accepts:
        negated = self._take("^")
        parts: list[Accepts] = []
        first = True
        while first or not self._peek("]"):
            parts.append(self._one(self._set_item()).accepts)  # Fold case before negating, not after.
            first = False
        self._at += 1
        return _any_of(parts, negated)

    def _set_item(self) -> Accepts:
        if self._take("[:"):
            return self._posix()
        low = self._next()
        if low == "\\":
            char = self._next()
            found = self._class_escape(char)
            if found is not None:
                return found
            low = self._char_escape(char)
        if not self._peek("-") or self._text.startswith("-]", self._at):
            return _one_of(frozenset(low))
        self._at += 1
        high = self._next()
        high = self._char_escape(self._next()) if high == "\\" else high
        if high < low:
            raise self._wrong(f"the range {low}-{high} is the wrong way round")
        return _between(low, high)

    def _posix(self) -> Accepts:
        name, closed, _ = self._text[self._at :].partition(":]")
        known = POSIX.get(name.removeprefix("^"))
        if not closed or known is None:
            raise self._wrong(f"no class [:{name}:]; there are: {', '.join(POSIX)}")
        self._at += len(name) + 2
        return _one_of(known, negated=name.startswith("^"))


CATEGORIES = frozenset(
    "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp C Cc Cf Cs Co".split()
)
