"""Checks of the reply's text: equal, matching a pattern, containing words."""

from __future__ import annotations

import string
import unicodedata
from typing import Any

from msgspec import UNSET

from viva.core.data import Data
from viva.core.errors import ScorerError, SuiteError
from viva.core.evidence import Evidence
from viva.core.score import Score
from viva.expressions.pattern import compile_pattern
from viva.expressions.pattern_syntax import PatternError
from viva.ports.kit import Kit
from viva.scoring.checks.rows import same
from viva.scoring.reading import AbsentError, reference, reply_data, reply_text, show
from viva.scoring.scorer import PlainScorer

Texts = str | tuple[str, ...]

_ASCII_PUNCTUATION = str.maketrans("", "", string.punctuation)


class EqualsSettings(Data, frozen=True):
    """What the reply should be."""

    value: Any = UNSET
    """By default the case's `expected`. A text is compared with the reply's text, anything else with its data."""
    normalised: bool = False
    """Compare without case, punctuation and extra space."""


class Equals(PlainScorer):
    """The reply is exactly the expected one."""

    Settings = EqualsSettings
    name = "equals"
    shorthand = "value"

    def __init__(self, settings: EqualsSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self._settings = settings
        if settings.value is not UNSET:
            self.describe(show(settings.value))

    def look(self, evidence: Evidence) -> Score:
        """Compare text with text, data with data."""
        wanted = reference(evidence, self._settings.value)
        if not isinstance(wanted, str):
            return self._compare_data(evidence, wanted)
        text = reply_text(evidence)
        holds = normalised(text) == normalised(wanted) if self._settings.normalised else text == wanted
        return self.claim(holds, "" if holds else f"expected {show(wanted)}, got {show(text)}")

    def _compare_data(self, evidence: Evidence, wanted: Any) -> Score:
        try:
            found = reply_data(evidence)
        except AbsentError as absent:
            return self.claim(False, absent.reason, {"outcome": absent.outcome})
        holds = same(found, wanted)
        return self.claim(holds, "" if holds else f"expected {show(wanted)}, got {show(found)}")


def normalised(text: str) -> str:
    """A text without case, punctuation and extra space."""
    text = unicodedata.normalize("NFKC", text).casefold().translate(_ASCII_PUNCTUATION)
    if not text.isascii():
        text = "".join(char for char in text if not unicodedata.category(char).startswith("P"))
    return " ".join(text.split())


class RegexSettings(Data, frozen=True):
    """A pattern, in RE2's syntax."""

    pattern: str = ""
    ignore_case: bool = False
    whole: bool = False
    """The pattern must cover the whole reply."""
    absent: bool = False
    """Turn the claim around: the pattern must not occur."""


class Regex(PlainScorer):
    """A pattern occurs in the reply; searched in linear time."""

    Settings = RegexSettings
    name = "regex"
    shorthand = "pattern"

    def __init__(self, settings: RegexSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        if not settings.pattern:
            raise SuiteError("regex: a pattern is needed")
        try:
            self._pattern = compile_pattern(settings.pattern, settings.ignore_case, settings.whole)
        except PatternError as error:
            raise SuiteError(f"regex: {error.message}", kind=error.kind) from error
        self._absent = settings.absent
        self.describe(settings.pattern)

    def look(self, evidence: Evidence) -> Score:
        """Search the last reply."""
        text = reply_text(evidence)
        try:
            found = self._pattern.search(text)
        except PatternError as error:
            raise ScorerError(error.message, kind=error.kind) from error
        word = "occurs" if found else "does not occur"
        return self.claim(found != self._absent, f"the pattern {word} in {show(text)}")


class ContainsSettings(Data, frozen=True):
    """Which texts the reply should contain."""

    text: Texts = ()
    """One text, or several that must all occur."""
    any: tuple[str, ...] = ()
    """At least one of these."""
    all: tuple[str, ...] = ()
    """Every one of these."""
    none: tuple[str, ...] = ()
    """Not one of these."""
    ignore_case: bool = False


class Contains(PlainScorer):
    """The reply contains certain texts, and not others."""

    Settings = ContainsSettings
    name = "contains"
    shorthand = "text"

    def __init__(self, settings: ContainsSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self._fold = settings.ignore_case
        texts = (settings.text,) if isinstance(settings.text, str) else settings.text
        self._all = self._folded((*texts, *settings.all))
        self._any = self._folded(settings.any)
        self._none = self._folded(settings.none)
        if not self._all and not self._any and not self._none:
            raise SuiteError("contains: say which text", hint="text, any, all or none")
        if "" in (*self._all, *self._any, *self._none):
            raise SuiteError("contains: every text contains '', so this says nothing")
        self.describe(", ".join((*texts, *settings.all, *settings.any)) or "not " + ", ".join(settings.none))

    def _folded(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text.casefold() for text in texts) if self._fold else texts

    def look(self, evidence: Evidence) -> Score:
        """Look for each text in the last reply."""
        reply = reply_text(evidence)
        text = reply.casefold() if self._fold else reply
        lacking = [part for part in self._all if part not in text]
        unwanted = [part for part in self._none if part in text]
        chosen = not self._any or any(part in text for part in self._any)
        reasons = [f"lacks {show(part)}" for part in lacking]
        reasons += [] if chosen else [f"has none of {', '.join(show(part) for part in self._any)}"]
        reasons += [f"has {show(part)}" for part in unwanted]
        return self.claim(not reasons, f"the reply {'; '.join(reasons)}: {show(reply)}" if reasons else "")
