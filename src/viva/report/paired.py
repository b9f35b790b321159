"""What a change of conditions did: the same cases under two variants, compared case by case.

Comparing each case with itself removes how hard the case is from the difference, so far fewer cases are needed than
for two separate means. Only cases that have a score under both variants count, and the report says how many do not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from viva.core.data import Data, replace
from viva.core.score import TrialResult
from viva.report.intervals import Interval, bootstrap_interval
from viva.report.running import Estimate, RunningMean

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
    unpaired_in_all: int = 0

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


class Pairs:
    """Takes results in, one by one, and keeps sums. The trials of one case must follow each other."""

    MOST_KEPT = 1000
    """So many cases are listed one by one; the numbers are over all of them."""

    def __init__(self, before: str = "", after: str = "") -> None:
        self._names = [name for name in (before, after) if name]
        self._is_named = bool(self._names)
        self._case = ""
        self._means: dict[str, RunningMean] = {}
        self._lift, self._before, self._after = RunningMean(), RunningMean(), RunningMean()
        self._cases: list[CaseLift] = []
        self._unpaired: list[str] = []
        self._unpaired_in_all = 0

    def add(self, result: TrialResult) -> None:
        """Count one trial; repeats of a case are averaged."""
        if result.variant not in self._names:
            if self._is_named:
                return
            self._names.append(result.variant)
        if result.case != self._case:
            self._close_case()
            self._case = result.case
        running = self._means.setdefault(result.variant, RunningMean())
        if result.score is not None:
            running.add(result.score)

    def lift(self) -> Lift | None:
        """What the second variant added to the first; None unless there are exactly two."""
        self._close_case()
        if len(self._names) != 2:
            return None
        lift = self._lift.estimate()
        return Lift(
            before_name=self._names[0],
            after_name=self._names[1],
            cases=tuple(self._cases),
            lift=lift,
            interval=lift.interval,
            before=self._before.estimate(),
            after=self._after.estimate(),
            unpaired=tuple(self._unpaired),
            unpaired_in_all=self._unpaired_in_all,
        )

    def _close_case(self) -> None:
        case, means, self._means = self._case, self._means, {}
        if not means or len(self._names) > 2:
            return
        known = {name: mean for name, running in means.items() if (mean := running.estimate().mean) is not None}
        if len(known) == 2:
            self._pair(CaseLift(case=case, before=known[self._names[0]], after=known[self._names[1]]))
            return
        self._unpaired_in_all += 1
        if len(self._unpaired) < self.MOST_KEPT:
            self._unpaired.append(case)

    def _pair(self, pair: CaseLift) -> None:
        self._lift.add(pair.lift)
        self._before.add(pair.before)
        self._after.add(pair.after)
        if len(self._cases) < self.MOST_KEPT:
            self._cases.append(pair)


def paired_lift(
    results: Iterable[TrialResult], before: str, after: str, *, method: Method = "t", seed: int = 0
) -> Lift:
    """Compare two variants case by case, in whatever order their trials come.

    The t-interval is the default for every number of cases: with few of them the percentile bootstrap is too narrow.
    """
    by_case: dict[str, list[TrialResult]] = {}
    for result in results:
        by_case.setdefault(result.case, []).append(result)
    pairs = Pairs(before, after)
    for trials in by_case.values():
        for result in trials:
            pairs.add(result)
    lift = pairs.lift()
    assert lift is not None
    if method == "t":
        return lift
    return replace(lift, interval=bootstrap_interval([case.lift for case in lift.cases], seed=seed))
