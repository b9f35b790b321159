"""What a change of conditions did: the same cases under two variants, compared case by case.

Comparing each case with itself removes how hard the case is from the difference, so far fewer cases are needed than
for two separate means. Only cases that have a score under both variants count, and the report says how many do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from viva.core.data import Data
from viva.core.score import TrialResult
from viva.report.intervals import Interval, bootstrap_interval
from viva.report.running import Estimate, RunningMean, estimate

Method = Literal["t", "bootstrap"]


class CaseLift(Data, frozen=True):
    """One case under both variants: means over its repeats."""

    case: str
    before: float
    after: float

    @property
    def lift(self) -> float:
        """What the change added."""
        return self.after - self.before


class Lift(Data, frozen=True):
    """What a change of conditions added on average, and how sure that is."""

    before_name: str
    after_name: str
    cases: tuple[CaseLift, ...] = ()
    lift: Estimate = Estimate()
    interval: Interval | None = None
    before: Estimate = Estimate()
    after: Estimate = Estimate()
    unpaired: tuple[str, ...] = ()
    """Cases with a score under one variant only, or under none; they are not in any number here."""

    @property
    def clear(self) -> bool:
        """Whether the interval leaves no doubt about the sign."""
        return self.interval is not None and not self.interval.low <= 0.0 <= self.interval.high

    @property
    def both(self) -> float | None:
        """The average of both variants' means."""
        if self.before.mean is None or self.after.mean is None:
            return None
        return (self.before.mean + self.after.mean) / 2


def paired_lift(
    results: Iterable[TrialResult], before: str, after: str, *, method: Method = "t", seed: int = 0
) -> Lift:
    """Compare two variants case by case.

    The t-interval is the default for every number of cases: with few of them the percentile bootstrap is too narrow.
    """
    means = _means(results, (before, after))
    cases = tuple(
        CaseLift(case=case, before=found[before], after=found[after])
        for case, found in means.items()
        if len(found) == 2
    )
    lifts = [case.lift for case in cases]
    lift = estimate(lifts)
    return Lift(
        before_name=before,
        after_name=after,
        cases=cases,
        lift=lift,
        interval=lift.interval if method == "t" else bootstrap_interval(lifts, seed=seed),
        before=estimate(case.before for case in cases),
        after=estimate(case.after for case in cases),
        unpaired=tuple(case for case, found in means.items() if len(found) < 2),
    )


def _means(results: Iterable[TrialResult], variants: tuple[str, str]) -> dict[str, dict[str, float]]:
    running: dict[str, dict[str, RunningMean]] = {}
    for result in results:
        if result.variant not in variants:
            continue
        by_variant = running.setdefault(result.case, {})
        if result.score is not None:
            by_variant.setdefault(result.variant, RunningMean()).add(result.score)
    return {case: _known(by_variant) for case, by_variant in running.items()}


def _known(by_variant: dict[str, RunningMean]) -> dict[str, float]:
    means = {name: running.estimate().mean for name, running in by_variant.items()}
    return {name: mean for name, mean in means.items() if mean is not None}
