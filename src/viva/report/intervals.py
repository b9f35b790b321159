"""How sure a mean or a share is: 95 % intervals.

Every function answers None rather than an interval it cannot know.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import lru_cache
from statistics import NormalDist

from viva.core.data import Data
from viva.core.timing import percentile


class Interval(Data, frozen=True):
    """A 95 % confidence interval."""

    low: float
    high: float
    method: str = "t"


def t_interval(mean: float, stderr: float, freedom: int) -> Interval:
    """The 95 % interval of a mean by Student's t."""
    reach = t_quantile(freedom) * stderr
    return Interval(low=mean - reach, high=mean + reach)


def wilson_interval(hits: float, n: float) -> Interval | None:
    """The 95 % interval of a share, honest near 0 and 1 and for few trials; `n` may be an effective number."""
    if n <= 0:
        return None
    z = NormalDist().inv_cdf(0.975)
    share = hits / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return Interval(low=max(0.0, centre - reach), high=min(1.0, centre + reach), method="wilson")


def bootstrap_interval(values: Sequence[float], *, seed: int = 0, rounds: int = 5000) -> Interval | None:
    """The 95 % percentile interval of a mean by resampling; the same seed gives the same answer."""
    if len(values) < 2:
        return None
    draw = random.Random(seed)  # noqa: S311 - statistics, not secrets
    n = len(values)
    means = sorted(sum(draw.choices(values, k=n)) / n for _ in range(rounds))
    low, high = percentile(means, 0.025), percentile(means, 0.975)
    assert low is not None and high is not None
    return Interval(low=low, high=high, method="bootstrap")


@lru_cache(maxsize=1024)
def t_quantile(freedom: int, share: float = 0.95) -> float:
    """How many standard errors the two-sided interval reaches, by Student's t."""
    if freedom > 300:
        return _t_large(freedom, share)
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        if _t_share(middle, freedom) < share:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _t_share(t: float, freedom: int) -> float:
    """The share of Student's t between -t and t: the closed form for whole degrees of freedom."""
    angle = math.atan(t / math.sqrt(freedom))
    cosine = math.cos(angle)
    first = 2 if freedom % 2 == 0 else 3
    term, total = (1.0, 1.0) if freedom % 2 == 0 else (cosine, cosine)
    for k in range(first, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    if freedom % 2 == 0:
        return math.sin(angle) * total
    return 2 / math.pi * (angle + (math.sin(angle) * total if freedom > 1 else 0.0))


def _t_large(freedom: int, share: float) -> float:
    z = NormalDist().inv_cdf(0.5 + share / 2)
    first = (z**3 + z) / (4 * freedom)
    second = (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
    return z + first + second
