"""Stopping early: judge the heaviest criteria first, until the rest cannot change whether the threshold holds.

Exact, not a guess: the score of `rar_explicit@1` lies between what it would be if every criterion still open went
against the agent and what it would be if each went for it. A threshold that holds at both ends, or at neither, is
decided. After an error all the rest is judged: what an error means is for the formula to say, with everything known.
"""

from __future__ import annotations

from collections.abc import Sequence

from viva.core.case import Case
from viva.core.criterion import Criterion
from viva.core.score import AnyScore, Score
from viva.core.threshold import Threshold

FORMULAS = ("rar_explicit@1", "rar_explicit")
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
        self._has_begun = False
        self._has_errors = False
        self.decided = ""
        """Why the criteria that were not judged did not need to be."""

    @classmethod
    def of(cls, case: Case) -> Course | None:
        """The course for a case; None where nothing can be decided early.

        That is so for other formulas, for rubrics without a positive weight, and without a threshold on the score.
        """
        thresholds = [one for one in case.thresholds if one.scope == "trial"]
        if not thresholds or any(one.metric != "score" or one.comparator in ("==", "!=") for one in thresholds):
            return None
        sections = case.formula.settings.get("sections", ("criteria",))
        counted = case.formula.name in FORMULAS and all(one.section in sections for one in case.criteria)
        others = {one.section for one in case.checks} | {one.section for one in case.measures}
        positive = any(one.weight > 0 and not one.pitfall for one in case.criteria)
        return cls(case.criteria, thresholds) if counted and positive and others.isdisjoint(sections) else None

    def next_wave(self) -> list[Criterion]:
        """The fewest criteria after which something could be decided, heaviest first; none when all is decided."""
        if self._has_begun and self._is_decided(self._worst, self._best):
            told = " and ".join(str(one) for one in self._thresholds)
            self.decided = f"not judged: {told} is decided without it"
            self._owed = []
        self._has_begun = True
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
        if not isinstance(score, Score):
            self._has_errors = True
        else:
            worst, best = _span(criterion)
            actual = score.value * criterion.signed_weight
            self._worst += actual - worst
            self._best += actual - best

    def _is_decided(self, worst: float, best: float) -> bool:
        if self._has_errors:
            return False
        low, high = self._normal(worst) - ROUNDING, self._normal(best) + ROUNDING
        return all(one.holds(low) == one.holds(high) for one in self._thresholds)

    def _normal(self, points: float) -> float:
        return min(1.0, max(0.0, points / self._total))


def _span(criterion: Criterion) -> tuple[float, float]:
    """What a criterion may add to the points, at worst and at best."""
    return min(0.0, criterion.signed_weight), max(0.0, criterion.signed_weight)
