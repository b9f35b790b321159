"""Thresholds of a whole run, held against its summary."""

from __future__ import annotations

from collections.abc import Iterable

from viva.core.data import Data
from viva.core.threshold import Threshold
from viva.report.summary import Summary


class ThresholdResult(Data, frozen=True):
    """Whether a threshold of the run holds, and by which number."""

    threshold: Threshold
    number: float | None
    """None when there is nothing to measure; such a threshold does not hold."""

    @property
    def holds(self) -> bool:
        """Whether the run satisfies it."""
        return self.number is not None and self.threshold.holds(self.number)

    def __str__(self) -> str:
        found = (
            "there is nothing to measure" if self.number is None else f"{self.threshold.metric} is {self.number:.4g}"
        )
        return f"{self.threshold} {'holds' if self.holds else 'does not hold'}: {found}"


def check_thresholds(thresholds: Iterable[Threshold], summary: Summary) -> tuple[ThresholdResult, ...]:
    """Hold every threshold of the run against its summary."""
    return tuple(ThresholdResult(threshold=one, number=run_metric(one.metric, summary)) for one in thresholds)


def run_metric(metric: str, summary: Summary) -> float | None:
    """The number a metric has for the whole run; None when nothing was measured under that name."""
    match metric:
        case "score":
            return summary.score.mean
        case "pass_rate":
            return summary.outcomes.pass_rate
        case "error_rate":
            return summary.outcomes.error_rate
        case _:
            return _score_metric(metric, summary)


def _score_metric(metric: str, summary: Summary) -> float | None:
    by_name = {score.name: score for score in summary.scores}
    if metric in by_name:
        return by_name[metric].value.mean
    name, dot, field = metric.rpartition(".")
    return by_name[name].raw.mean if dot and field == "raw" and name in by_name else None
