"""What the scorers that need no model have in common: a label, a hash, and the rule that an error is no score."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from viva.core.data import Data, content_hash
from viva.core.errors import ScorerError
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.score import AnyScore, Score, ScoreError
from viva.core.text import shorten
from viva.ports.kit import Kit

LONGEST_LABEL = 80
NO_KIT: Any = None
"""A scorer that asks nothing of its kit while it is built can be built without one."""
UNSCALED = "unscaled"
"""Flags a quantity that was asked for without a target: only its raw value means something."""


class PlainScorer(ABC):
    """Reads the evidence and answers at once. Subclasses say what they find in `look`."""

    name: ClassVar[str]
    version: ClassVar[str] = "1"
    section: ClassVar[str] = "checks"

    def __init__(self, settings: Data, kit: Kit) -> None:
        self.signature = f"{self.name}@{self.version}"
        self.hash = content_hash([self.signature, settings])
        self.label = self.name

    @classmethod
    def check(cls, settings: Any) -> None:
        """Find what is wrong with settings when a suite is loaded: what can be built is right."""
        cls(settings, NO_KIT)

    def observations(self) -> tuple[Observation, ...]:
        """Nothing, unless a subclass says so."""
        return ()

    def settled(self, observation: Observation, seen: Observed) -> bool:
        """Nothing is polled."""
        return True

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """One score, or one error where there is nothing to score."""
        if evidence.transcript.last_reply is None:
            return (self.error("no_reply", "the agent never answered: there is nothing to score"),)
        try:
            return (self.look(evidence),)
        except ScorerError as error:
            return (self.error(error.kind, str(error)),)

    @abstractmethod
    def look(self, evidence: Evidence) -> Score:
        """What the scorer finds. Raises ScorerError where it cannot tell."""

    def describe(self, what: str) -> None:
        """Label the scorer by what it is about."""
        text = " ".join(what.split())
        self.label = f"{self.name}: {shorten(text, LONGEST_LABEL)}" if text else self.name

    def claim(self, holds: bool, reason: str, detail: dict[str, Any] | None = None) -> Score:
        """A score for a claim that holds or does not."""
        return Score(
            name=self.label,
            value=1.0 if holds else 0.0,
            passed=holds,
            reason=reason,
            section=self.section,
            scorer=self.signature,
            hash=self.hash,
            detail=detail or {},
        )

    def measured(
        self,
        value: float,
        raw: float,
        unit: str,
        *,
        passed: bool | None = None,
        reason: str = "",
        flags: tuple[str, ...] = (),
    ) -> Score:
        """A score for a quantity: normalised to [0, 1], and on its own scale."""
        return Score(
            name=self.label,
            value=min(1.0, max(0.0, value)),
            raw=raw,
            unit=unit,
            passed=passed,
            reason=reason,
            section=self.section,
            scorer=self.signature,
            hash=self.hash,
            flags=flags,
        )

    def error(self, kind: str, detail: str) -> ScoreError:
        """Why there is no score."""
        return ScoreError(
            name=self.label, kind=kind, detail=detail, section=self.section, scorer=self.signature, hash=self.hash
        )


class AskingScorer:
    """What the scorers that ask a model have in common: they look at nothing but the evidence."""

    name: str

    @property
    def label(self) -> str:
        """The name of its score; a scorer of several names them itself."""
        return self.name

    def observations(self) -> tuple[Observation, ...]:
        """None: the judge sees what others observed."""
        return ()

    def settled(self, observation: Observation, seen: Observed) -> bool:
        """Nothing is polled."""
        return True
