"""How like the reference the reply is: letter by letter, or word by word."""

from __future__ import annotations

import string
from abc import abstractmethod
from collections import Counter
from typing import Any, ClassVar

from msgspec import UNSET

from viva.core.data import Data
from viva.core.evidence import Evidence
from viva.core.score import Score
from viva.ports.kit import Kit
from viva.scoring.checks.match import normalised
from viva.scoring.path import follow, parse_path
from viva.scoring.reading import AbsentError, as_text, comparable, reference, reply_data, reply_text
from viva.scoring.scorer import PlainScorer

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset(("a", "an", "the"))


class TextSettings(Data, frozen=True):
    """What is compared with what."""

    at_least: float | None = None
    """Passes from here on, on the measure's own scale; without it there is no opinion on passing."""
    value: Any = UNSET
    """The reference; by default the case's `expected`."""
    path: str = ""
    """Compare this field of the reply's data, not its text."""
    normalised: bool = False
    """Compare without case, punctuation and extra space."""


class TextMeasure(PlainScorer):
    """Gets reply and reference as texts."""

    Settings = TextSettings
    section = "measures"
    shorthand = "at_least"
    unit: ClassVar[str] = ""

    def __init__(self, settings: TextSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self.settings = settings
        self._path = parse_path(settings.path)
        self.describe(settings.path)

    def texts(self, evidence: Evidence) -> tuple[str, str]:
        """Reply and reference. Raises AbsentError for a missing field."""
        wanted = as_text(reference(evidence, self.settings.value))
        found = as_text(follow(reply_data(evidence), self._path)) if self._path else reply_text(evidence)
        return (normalised(found), normalised(wanted)) if self.settings.normalised else (found, wanted)

    def passes(self, raw: float) -> bool | None:
        """Whether a number on the measure's own scale is enough."""
        return None if self.settings.at_least is None else raw >= self.settings.at_least

    def look(self, evidence: Evidence) -> Score:
        """Compare; a missing field is the worst value, and says so."""
        try:
            found, wanted = self.texts(evidence)
        except AbsentError as absent:
            passed = None if self.settings.at_least is None else False
            return self.measured(0.0, 0.0, self.unit, passed=passed, reason=absent.reason, flags=(absent.outcome,))
        return self.compare(found, wanted)

    @abstractmethod
    def compare(self, found: str, wanted: str) -> Score:
        """The score of two texts."""


class Fuzzy(TextMeasure):
    """Similarity by insertions and deletions, from 0 to 100: two empty texts are alike, an empty and a full one not."""

    name = "fuzzy"
    unit = "0–100"

    def compare(self, found: str, wanted: str) -> Score:
        """The indel ratio."""
        from rapidfuzz.fuzz import ratio

        comparable(found, wanted)
        raw = float(ratio(found, wanted))
        return self.measured(raw / 100, raw, self.unit, passed=self.passes(raw), reason=f"{raw:.4g} % alike")


class TokenF1(TextMeasure):
    """Words in common: without case, punctuation and articles, as harmonic mean of precision and recall."""

    name = "token_f1"
    unit = "0–1"

    def compare(self, found: str, wanted: str) -> Score:
        """The F1 of the two bags of words."""
        raw = token_f1(found, wanted)
        return self.measured(raw, raw, self.unit, passed=self.passes(raw), reason=f"F1 {raw:.4g} of the words")


def token_f1(found: str, wanted: str) -> float:
    """The F1 of two texts' words; two texts without words are alike."""
    left, right = Counter(_words(found)), Counter(_words(wanted))
    if not left or not right:
        return 1.0 if left == right else 0.0
    common = sum((left & right).values())
    if common == 0:
        return 0.0
    precision, recall = common / left.total(), common / right.total()
    return 2 * precision * recall / (precision + recall)


def _words(text: str) -> list[str]:
    return [word for word in text.lower().translate(_PUNCTUATION).split() if word not in _ARTICLES]
