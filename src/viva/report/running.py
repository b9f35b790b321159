"""Means and quantiles of streams, in one pass and in bounded memory."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable

from viva.core.data import Data
from viva.core.timing import percentile
from viva.report.intervals import Interval, t_interval, wilson_interval

EXACT_QUANTILES = 8192
"""Up to so many values, quantiles are exact; beyond, they are within one per cent."""

_BUCKET = math.log(1.01)


class Estimate(Data, frozen=True):
    """A mean with everything one needs to judge it."""

    n: int = 0
    mean: float | None = None
    stderr: float | None = None
    interval: Interval | None = None
    lowest: float | None = None
    highest: float | None = None


class Quantiles(Data, frozen=True):
    """How a quantity is distributed."""

    n: int = 0
    mean: float | None = None
    p50: float | None = None
    p95: float | None = None
    max: float | None = None


class RunningMean:
    """Mean and standard error of values that come in clusters (the repeats of one case), in one pass.

    Repeats of a case resemble each other, so they are no independent draws: the standard error is taken over
    clusters. Values of one cluster must follow each other. With a single cluster it is taken over its values.
    """

    def __init__(self) -> None:
        self._n = self._clusters = 0
        self._sum = self._square = 0.0
        self._sums_squared = self._sums_sized = self._sizes_squared = 0.0
        self._cluster: object = None
        self._cluster_n = 0
        self._cluster_sum = 0.0
        self._lowest, self._highest = math.inf, -math.inf

    def add(self, value: float, cluster: object = None) -> None:
        """Take one value in; None as cluster makes it a cluster of its own."""
        if cluster is None or cluster != self._cluster:
            self._close_cluster()
            self._cluster = cluster
        self._n += 1
        self._sum += value
        self._square += value * value
        self._cluster_n += 1
        self._cluster_sum += value
        self._lowest, self._highest = min(self._lowest, value), max(self._highest, value)

    def estimate(self) -> Estimate:
        """The mean so far, with its standard error and interval."""
        self._close_cluster()
        if not self._n:
            return Estimate()
        mean = self._sum / self._n
        stderr, freedom = self._stderr(mean)
        return Estimate(
            n=self._n,
            mean=mean,
            stderr=stderr,
            interval=None if stderr is None else t_interval(mean, stderr, freedom),
            lowest=self._lowest,
            highest=self._highest,
        )

    def share_interval(self) -> Interval | None:
        """The 95 % interval of the mean of zeros and ones, by as many trials as the clusters are worth."""
        found = self.estimate()
        if found.mean is None:
            return None
        worth = float(self._clusters)
        if found.stderr:
            worth = min(max(worth, found.mean * (1 - found.mean) / found.stderr**2), float(self._n))
        return wilson_interval(found.mean * worth, worth)

    def _close_cluster(self) -> None:
        if not self._cluster_n:
            return
        self._clusters += 1
        self._sums_squared += self._cluster_sum**2
        self._sums_sized += self._cluster_sum * self._cluster_n
        self._sizes_squared += self._cluster_n**2
        self._cluster, self._cluster_n, self._cluster_sum = None, 0, 0.0

    def _stderr(self, mean: float) -> tuple[float | None, int]:
        if self._clusters > 1:
            spread = self._sums_squared - 2 * mean * self._sums_sized + mean * mean * self._sizes_squared
            variance = max(0.0, spread) * self._clusters / (self._clusters - 1)
            return math.sqrt(variance) / self._n, self._clusters - 1
        if self._n > 1:
            spread = max(0.0, self._square - self._n * mean * mean)
            return math.sqrt(spread / (self._n - 1) / self._n), self._n - 1
        return None, 0


class RunningQuantiles:
    """Quantiles of a stream of non-negative numbers: exact while few, bucketed by one per cent when many."""

    def __init__(self) -> None:
        self._values = array("d")
        self._buckets: dict[int, int] = {}
        self._n = 0
        self._sum = self._max = 0.0

    def add(self, value: float) -> None:
        """Take one value in."""
        self._n += 1
        self._sum += value
        self._max = max(self._max, value)
        if self._buckets:
            self._count(value)
            return
        self._values.append(value)
        if len(self._values) > EXACT_QUANTILES:
            for kept in self._values:
                self._count(kept)
            self._values = array("d")

    def quantiles(self) -> Quantiles:
        """What is known so far."""
        if not self._n:
            return Quantiles()
        ordered = sorted(self._values)
        at = self._bucketed if self._buckets else lambda share: percentile(ordered, share)
        return Quantiles(n=self._n, mean=self._sum / self._n, p50=at(0.50), p95=at(0.95), max=self._max)

    def _count(self, value: float) -> None:
        # Below a microsecond everything is zero; the offset keeps the logarithm defined.
        bucket = round(math.log(max(value, 1e-3)) / _BUCKET)
        self._buckets[bucket] = self._buckets.get(bucket, 0) + 1

    def _bucketed(self, share: float) -> float | None:
        rank = share * (self._n - 1)
        seen = 0
        for bucket in sorted(self._buckets):
            seen += self._buckets[bucket]
            if seen > rank:
                return min(self._max, math.exp(bucket * _BUCKET))
        return self._max


def estimate(values: Iterable[float]) -> Estimate:
    """The mean of independent values."""
    running = RunningMean()
    for value in values:
        running.add(value)
    return running.estimate()
