"""Stopping early: judge the heaviest criteria first, until the rest cannot change whether the threshold holds.

Exact, not a guess: the score of `rar_explicit@1` lies between what it would be if every criterion still open went
against the agent and what it would be if each went for it. A threshold that holds at both ends, or at neither, is
decided. A criterion that ended in an error stays open, so a decision never rests on it.
"""

from __future__ import annotations

from collections.abc import Sequence

from viva.core.case import Case
from viva.core.criterion import Criterion
from viva.core.score import AnyScore, Score
from viva.core.threshold import Threshold

FORMULA = "rar_explicit@1"
ROUNDING = 1e-9
"""Bounds this near to a threshold decide nothing: sums in another order may differ in their last digits."""


class Course:
    """The course of judging one trial towards its thresholds."""

    def __init__(self, criteria: Sequence[Criterion], thresholds: Sequence[Threshold]) -> None:
        self._owed = sorted(criteria, key=lambda criterion: -criterion.weight)
        self._thresholds = thresholds
        self._total = sum(criterion.weight for criterion in criteria if not criterion.pitfall)
        self._worst = sum(_span(criterion)[0] for criterion in criteria)
        self._best = sum(_span(criterion)[1] for criterion in criteria)
        self.decided = ""

    @classmethod
    def of(cls, case: Case) -> Course | None:
        """The course for a case; None where nothing can be decided early.

        That is so for other formulas, for cases whose checks or measures count as well, and without a threshold.
        """
        thresholds = [one for one in case.thresholds if one.scope == "trial"]
        alone = not case.checks and not case.measures and case.formula.name == FORMULA
        positive = any(criterion.weight > 0 and not criterion.pitfall for criterion in case.criteria)
        if not alone or not positive or not thresholds or any(one.metric != "score" for one in thresholds):
            return None
        return cls(case.criteria, thresholds)

    def next_wave(self) -> list[Criterion]:
        """The fewest criteria after which something could be decided, heaviest first; none when all is decided."""
        if self._is_decided(self._worst, self._best):
            self.decided = (
                f"not judged: whatever it is, {' and '.join(str(one) for one in self._thresholds)} is decided"
            )
            self._owed = []
        wave: list[Criterion] = []
        known = 0.0
        while self._owed:
            wave.append(self._owed.pop(0))
            worst, best = _span(wave[-1])
            known += best - worst
            if self._is_decided(self._worst + known, self._best) or self._is_decided(self._worst, self._best - known):
                break
        return wave

    def learn(self, criterion: Criterion, score: AnyScore) -> None:
        """Narrow the bounds by what a criterion turned out to be."""
        if isinstance(score, Score):
            worst, best = _span(criterion)
            actual = score.value * criterion.signed_weight
            self._worst += actual - worst
            self._best += actual - best

    def _is_decided(self, worst: float, best: float) -> bool:
        low, high = self._normal(worst) - ROUNDING, self._normal(best) + ROUNDING
        # Between the two ends every comparison that is not an equality holds throughout or nowhere.
        return all(one.holds(low) == one.holds(high) and one.comparator not in ("==", "!=") for one in self._thresholds)

    def _normal(self, points: float) -> float:
        return min(1.0, max(0.0, points / self._total))


def _span(criterion: Criterion) -> tuple[float, float]:
    """What a criterion may add to the points, at worst and at best."""
    values = [level.value for level in criterion.levels] or [0.0, 1.0]
    points = [value * criterion.signed_weight for value in values]
    return min(points), max(points)
