"""A scorer reads the evidence and returns scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from viva.core.data import Data
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.score import AnyScore, Combined


class Scorer(Protocol):
    """Pure over the evidence: what needs the live world is declared as an observation and found in the evidence.

    One scorer may return several scores (one per criterion). What goes wrong is a ScoreError in the answer, or a
    raised ScorerError, which the engine turns into one; it is never a number.
    """

    name: str
    version: str

    @property
    def label(self) -> str:
        """The name of its score, unique within the trial."""
        ...

    @property
    def hash(self) -> str:
        """Of everything that changes its numbers: settings, templates."""
        ...

    def observations(self) -> tuple[Observation, ...]:
        """What must be looked at before the world is put away."""
        ...

    def settled(self, observation: Observation, seen: Observed) -> bool:
        """Whether a polled observation shows what was hoped for, so that polling can stop."""
        ...

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Score one piece of evidence."""
        ...


class FormulaFacts(Data, frozen=True):
    """What a formula may know besides the scores."""

    failures: int = 0
    turns: int = 0
    completed: bool = True


class Formula(Protocol):
    """Pure, named, versioned arithmetic from scores to one number."""

    name: str
    version: str

    def combine(self, scores: Sequence[AnyScore], facts: FormulaFacts) -> Combined:
        """Make one number of the scores, or say why there is none."""
        ...
