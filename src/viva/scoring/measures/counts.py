"""What a conversation took: turns and money.

Without a target such a number has no place between 0 and 1. It is then kept raw, flagged `unscaled`, and formulas
leave it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from viva.core.data import Data
from viva.core.errors import ScorerError, SuiteError
from viva.core.evidence import Evidence
from viva.core.score import AnyScore, Score, ScoreError, ScoreSkipped
from viva.core.usage import Usage
from viva.ports.kit import Kit
from viva.scoring.scorer import UNSCALED, PlainScorer

COST_UNKNOWN = "cost_unknown"
NO_PRICE = "the price is not known"


class CountSettings(Data, frozen=True):
    """How much is fine."""

    target: float | None = None
    """At or below it the score is 1; at twice the target it is a half."""
    at_most: float | None = None
    """Passes up to here; scores 1 or 0 where there is no target."""


class Count(PlainScorer):
    """Scores a number of which less is better."""

    section = "measures"
    shorthand = "at_most"

    def __init__(self, settings: CountSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        for name, limit in (("target", settings.target), ("at_most", settings.at_most)):
            if limit is not None and not 0 <= limit < float("inf"):
                raise SuiteError(f"{self.name}: {name} must not be negative")
        self._limits = settings
        self.has_limit = settings.target is not None or settings.at_most is not None

    def scaled(self, raw: float, unit: str, reason: str) -> Score:
        """A raw number as a score."""
        target, most = self._limits.target, self._limits.at_most
        passed = None if most is None else raw <= most
        if target is not None:
            return self.measured(1.0 if raw <= target else target / raw, raw, unit, passed=passed, reason=reason)
        if passed is not None:
            return self.measured(float(passed), raw, unit, passed=passed, reason=reason)
        return self.measured(1.0, raw, unit, reason=reason, flags=(UNSCALED,))


class Turns(Count):
    """How many turns: pairs of a user's message and the agent's reply."""

    Settings = CountSettings
    name = "turns"

    def look(self, evidence: Evidence) -> Score:
        """Count the replies."""
        turns = len(evidence.transcript.replies)
        return self.scaled(float(turns), "turns", f"{turns} turn{'s' * (turns != 1)}")


class CostSettings(CountSettings, frozen=True):
    """How much money is fine, and whose."""

    of: Literal["all", "subject", "user"] = "all"


class Cost(Count):
    """What the conversation cost in US dollars. An unknown price is never 0: held against a limit, it is an error."""

    Settings = CostSettings
    name = "cost"

    def __init__(self, settings: CostSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self._of = settings.of

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """The cost, or the error that it is not known; where nothing is asked of it, it is merely left out."""
        found = await super().score(evidence)
        return found if self.has_limit else [self._skip(score) for score in found]

    def _skip(self, score: AnyScore) -> AnyScore:
        if not isinstance(score, ScoreError) or score.kind != COST_UNKNOWN:
            return score
        return ScoreSkipped(name=self.label, reason=NO_PRICE, section=self.section, scorer=self.signature)

    def look(self, evidence: Evidence) -> Score:
        """Add up what was used."""
        used = [usage for role, usage in evidence.usage.items() if self._of in ("all", role) and _spent(usage)]
        if not used or any(usage.cost_usd is None for usage in used):
            raise ScorerError(
                "what the conversation cost is not known",
                kind=COST_UNKNOWN,
                hint="the agent reports no usage, or its model has no known price",
            )
        cost = sum(usage.cost_usd or 0.0 for usage in used)
        return self.scaled(cost, "USD", f"{cost:.6g} USD")


def _spent(usage: Usage) -> bool:
    return bool(usage.calls or usage.tokens or usage.cost_usd is not None)
