"""What can be wrong with an expression, and where: line, column and a caret under the place."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable

from viva.core.errors import VivaError
from viva.core.text import shorten, visible

SHOWN_FIELDS = 12
SHOWN_CHARS = 60

SYNONYMS = {"type": ("labels", "kind"), "kind": ("type",), "labels": ("type", "tags"), "content": ("text",)}
"""Words people write for each other; offered where spelling alone suggests nothing."""


class ExpressionError(VivaError):
    """An expression that cannot be read, or that has no value for this data.

    `final` marks a spent budget: it ends the evaluation, where any other error may still be overruled by the
    other side of `&&` or `||`.
    """

    default_kind = "expression_error"

    def __init__(
        self, message: str, *, kind: str = "", at: int = 0, known: Iterable[str] | None = None, final: bool = False
    ) -> None:
        super().__init__(message, kind=kind)
        self.at = at
        self.known = known
        self.final = final
        self.source = ""
        self.line = 1
        self.column = at + 1

    @property
    def detail(self) -> str:
        """The message without its place."""
        return self.message

    def locate(self, source: str) -> ExpressionError:
        """Fill in line, column and hints. Late, because most errors inside `exists` are never shown."""
        if self.source:
            return self
        self.source = source
        before = source[: self.at]
        self.line = before.count("\n") + 1
        self.column = self.at - (before.rfind("\n") + 1) + 1
        if self.known is not None:
            self.message += "; " + name_the_known(self.message, self.known)
        return self

    def display(self) -> str:
        """The message, the line it is about, and a caret under the place."""
        lines = self.source.splitlines() or [""]
        line = lines[min(self.line, len(lines)) - 1]
        start = max(0, self.column - 70)
        shown = visible(line[start : start + 110]).replace("\t", " ")
        caret = " " * len(visible(line[start : self.column - 1])) + "^"
        return f"{self}\n  {shown}\n  {caret}"

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}" if self.source else self.message


def name_the_known(message: str, known: Iterable[str]) -> str:
    """List what there is, and the nearest to what was asked for (the quoted word of the message)."""
    texts = (name for name in itertools.islice(known, 500) if type(name) is str)
    names = [visible(shorten(name, SHOWN_CHARS)) for name in texts]
    if not names:
        return "there are none"
    more = f", … ({len(names)} in all)" if len(names) > SHOWN_FIELDS else ""
    asked = message.split("'")[1] if message.count("'") >= 2 else ""
    near = difflib.get_close_matches(asked, names, n=1, cutoff=0.6)
    near = near or [word for word in SYNONYMS.get(asked, ()) if word in names]
    guess = f"; did you mean {near[0]!r}?" if near else ""
    return f"there are: {', '.join(names[:SHOWN_FIELDS])}{more}{guess}"
