"""Formulas: pure, named, versioned arithmetic from scores to one number, or to none and why.

An error is never a number: with the default policy one error leaves the trial without a score ("5 of 11 judged").
Skipped scores and unscaled quantities are not owed and do not count. See docs/reference/formulas.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from math import fsum
from typing import ClassVar, Literal

from msgspec import field

from viva.core.data import Data, replace
from viva.core.errors import SuiteError
from viva.core.score import AnyScore, Combined, Score, ScoreError, ScoreSkipped
from viva.ports.kit import Kit
from viva.ports.scorer import FormulaFacts
from viva.scoring.scorer import UNSCALED

NO_SCORES = "no scores"


class AtLeast(Data, frozen=True):
    """A share from 0 to 1."""

    at_least: float


class FormulaSettings(Data, frozen=True):
    """How complete the scores must be."""

    require: Literal["all"] | AtLeast = "all"
    """`all`: one error leaves no score. `{at_least: 0.8}`: that share without errors is enough."""


class Formula:
    """What all formulas share: which scores count, and what errors mean."""

    name: ClassVar[str]
    version: ClassVar[str] = "1"

    def __init__(self, settings: FormulaSettings, kit: Kit | None = None) -> None:
        share = 1.0 if settings.require == "all" else settings.require.at_least
        if not 0 < share <= 1:
            raise SuiteError("formula: require.at_least lies above 0 and at most at 1")
        self._share = share

    def combine(self, scores: Sequence[AnyScore], facts: FormulaFacts) -> Combined:
        """Make one number of the scores, or say why there is none."""
        owed = self.owed(scores)
        found = [score for score in owed if isinstance(score, Score)]
        if not found:
            failed = f"0 of {len(owed)} judged" if owed else NO_SCORES
            return Combined(value=None, reason=failed)
        reason = "" if len(found) == len(owed) else f"{len(found)} of {len(owed)} judged"
        if len(found) < self._share * len(owed):
            return Combined(value=None, reason=reason)
        made = self.formula(found, scores, facts, reason)
        errors = tuple(score.name for score in owed if isinstance(score, ScoreError))
        return replace(made, tolerated=errors) if errors else made

    def owed(self, scores: Sequence[AnyScore]) -> list[Score | ScoreError]:
        """The scores that count, errors included."""
        return [score for score in scores if counts(score) and not isinstance(score, ScoreSkipped)]

    def formula(self, found: list[Score], scores: Sequence[AnyScore], facts: FormulaFacts, reason: str) -> Combined:
        """The arithmetic, over scores without errors."""
        value = weighted_mean(found)
        return Combined(value=value, reason=reason if value is not None else "all weights are 0")


def counts(score: AnyScore) -> bool:
    """Whether a score is a number between good and bad at all."""
    return not (isinstance(score, Score) and UNSCALED in score.flags)


def goodness(score: Score) -> float:
    """How good a score is: its value, or what is left of 1 for a pitfall."""
    return 1.0 - score.value if score.weight < 0 else score.value


def weighted_mean(scores: Sequence[Score]) -> float | None:
    """The mean of how good the scores are, by weight; None where nothing weighs anything."""
    total = fsum(abs(score.weight) for score in scores)
    if total == 0:
        return None
    return _clip(fsum(abs(score.weight) * goodness(score) for score in scores) / total)


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


class Mean(Formula):
    """The mean of all scores by weight; a pitfall counts as 1 minus its value."""

    Settings = FormulaSettings
    name = "mean"


class PassRateSettings(FormulaSettings, frozen=True):
    """When a score without an opinion passes."""

    at_least: float = 0.5
    """A score that has no opinion on passing passes from this value on."""


class PassRate(Formula):
    """The share of scores that passed, each counted once."""

    Settings = PassRateSettings
    name = "pass_rate"

    def __init__(self, settings: PassRateSettings, kit: Kit | None = None) -> None:
        super().__init__(settings, kit)
        self._at_least = settings.at_least

    def formula(self, found: list[Score], scores: Sequence[AnyScore], facts: FormulaFacts, reason: str) -> Combined:
        """Count."""
        passed = sum(self._passes(score) for score in found)
        return Combined(
            value=passed / len(found),
            reason=reason or f"{passed} of {len(found)} passed",
            parts={"passed": float(passed), "scores": float(len(found))},
        )

    def _passes(self, score: Score) -> bool:
        return goodness(score) >= self._at_least if score.passed is None else score.passed


class WeightedSettings(FormulaSettings, frozen=True):
    """How much each section counts, and what failed attempts cost."""

    weights: dict[str, float] = {}
    """By section (checks, criteria, measures, …); sections not named do not count. Empty: all count alike."""
    failure_penalty: float = 0.0
    """Taken off for each failed attempt of the conversation."""
    most_penalty: float = 0.5


class Weighted(Formula):
    """Each section's mean, by the weights of the sections, less a penalty; never below 0.

    A section without scores is left out, its weight goes to the others, and its name is reported as missing.
    """

    Settings = WeightedSettings
    name = "weighted"

    def __init__(self, settings: WeightedSettings, kit: Kit | None = None) -> None:
        super().__init__(settings, kit)
        numbers = (*settings.weights.values(), settings.failure_penalty, settings.most_penalty)
        if any(not 0 <= number < float("inf") for number in numbers):
            raise SuiteError(f"{self.name}: weights and penalties must not be negative")
        if settings.weights and not any(settings.weights.values()):
            raise SuiteError(f"{self.name}: all weights are 0")
        self._settings = settings

    def owed(self, scores: Sequence[AnyScore]) -> list[Score | ScoreError]:
        """Only the sections that weigh something: an error elsewhere changes nothing."""
        weights = self._settings.weights
        return [score for score in super().owed(scores) if not weights or weights.get(score.section, 0.0) > 0]

    def formula(self, found: list[Score], scores: Sequence[AnyScore], facts: FormulaFacts, reason: str) -> Combined:
        """Mean of the sections, less the penalty."""
        weights = self._settings.weights or {score.section: 1.0 for score in found}
        means = {name: _section(found, name) for name, weight in weights.items() if weight > 0}
        present = {name: mean for name, mean in means.items() if mean is not None}
        missing = tuple(name for name in means if name not in present)
        if not present:
            return Combined(value=None, reason="all weights are 0", missing=missing)
        total = fsum(weights[name] for name in present)
        points = fsum(weights[name] * mean for name, mean in present.items()) / total
        penalty = min(self._settings.failure_penalty * facts.failures, self._settings.most_penalty)
        return Combined(
            value=_clip(points - penalty),
            reason=reason or (f"without {', '.join(missing)}" if missing else ""),
            parts={**present, "penalty": penalty},
            missing=missing,
        )


def _section(scores: Sequence[Score], name: str) -> float | None:
    return weighted_mean([score for score in scores if score.section == name])


EMBABEL_WEIGHTS = {"timing": 1.0, "tasks": 2.0, "assertions": 4.0}


class EmbabelSettings(WeightedSettings, frozen=True):
    """Embabel's own numbers, unless they are changed."""

    weights: dict[str, float] = field(default_factory=lambda: dict(EMBABEL_WEIGHTS))
    """Add `tone` to let it count."""
    failure_penalty: float = 0.3
    most_penalty: float = 0.5


class Embabel(Weighted):
    """(timing + 2·tasks + 4·assertions) / 7 − min(0.3·failures, 0.5), never below 0.

    `parts.rounded` is the number Embabel prints: two decimals, half to even.
    """

    Settings = EmbabelSettings
    name = "embabel"

    def formula(self, found: list[Score], scores: Sequence[AnyScore], facts: FormulaFacts, reason: str) -> Combined:
        """The weighted sections, and the number as it is printed."""
        made = super().formula(found, scores, facts, reason)
        if made.value is None:
            return made
        parts = {**made.parts, "rounded": round_half_even(made.value)}
        return Combined(value=made.value, reason=made.reason, parts=parts, missing=made.missing)


def round_half_even(value: float) -> float:
    """Two decimals of the number as it is written, half to even."""
    return float(Decimal(repr(value)).quantize(Decimal("0.01"), rounding=ROUND_HALF_EVEN))


class RubricSettings(FormulaSettings, frozen=True):
    """Which scores are the rubric."""

    sections: tuple[str, ...] = ("criteria",)


class Rubric(Formula):
    """A formula over criteria alone; checks and measures beside them are reported, not counted."""

    def __init__(self, settings: RubricSettings, kit: Kit | None = None) -> None:
        super().__init__(settings, kit)
        self._sections = settings.sections

    def owed(self, scores: Sequence[AnyScore]) -> list[Score | ScoreError]:
        """Only the criteria."""
        return [score for score in super().owed(scores) if score.section in self._sections]


class RarExplicit(Rubric):
    """Signed weights of what is met, over the positive weights, clipped to [0, 1].

    A rubric of pitfalls alone starts at 1 and loses its share for each that is met. Criteria skipped by early stopping
    count as at their worst, so that the number never claims more than was judged; `parts.at_best` is the other end.
    """

    Settings = RubricSettings
    name = "rar_explicit"

    def formula(self, found: list[Score], scores: Sequence[AnyScore], facts: FormulaFacts, reason: str) -> Combined:
        """The sum, and what it was made of."""
        skipped = [one.weight for one in scores if isinstance(one, ScoreSkipped) and one.section in self._sections]
        weights = [score.weight for score in found] + skipped
        positive = fsum(weight for weight in weights if weight > 0)
        negative = -fsum(weight for weight in weights if weight < 0)
        if positive == 0 and negative == 0:
            return Combined(value=None, reason="all weights are 0")
        raw = fsum(score.value * score.weight for score in found)
        lost, gained = fsum(min(0.0, weight) for weight in skipped), fsum(max(0.0, weight) for weight in skipped)
        parts = {"raw": raw, "positive": positive, "satisfied": fsum(map(goodness, found)) / len(found)}
        if skipped:
            parts["at_best"] = _normal(raw + gained, positive, negative)
            reason = reason or f"{len(found)} of {len(weights)} judged, the rest could not matter"
        return Combined(value=_normal(raw + lost, positive, negative), reason=reason, parts=parts)


def _normal(points: float, positive: float, negative: float) -> float:
    return _clip(points / positive if positive > 0 else 1.0 + points / negative)


class RarHolistic(Rubric):
    """The one rating of the holistic judge."""

    Settings = RubricSettings
    name = "rar_holistic"

    def owed(self, scores: Sequence[AnyScore]) -> list[Score | ScoreError]:
        """Only the rating."""
        return [score for score in super().owed(scores) if score.scorer.startswith("holistic@")]

    def formula(self, found: list[Score], scores: Sequence[AnyScore], facts: FormulaFacts, reason: str) -> Combined:
        """The rating itself, the mean of several."""
        value = fsum(score.value for score in found) / len(found)
        parts = {} if found[0].raw is None else {"rating": found[0].raw}
        return Combined(value=value, reason=reason or found[0].reason, parts=parts)
