"""How fast the agent answered, against a target."""

from __future__ import annotations

from typing import Literal

from viva.core.data import Data
from viva.core.errors import ScorerError, SuiteError
from viva.core.evidence import Evidence
from viva.core.score import Score
from viva.ports.kit import Kit
from viva.scoring.scorer import PlainScorer


class TimingSettings(Data, frozen=True):
    """The target, and which time is held against it."""

    target_ms: float = 0.0
    """At or below it the score is 1; at twice the target it is a half."""
    of: Literal["mean", "p50", "p95", "max"] = "mean"
    at_most_ms: float | None = None
    """Passes up to here; without it there is no opinion on passing."""


class TimingMeasure(PlainScorer):
    """min(1, target / time), over successful attempts alone: retries and back-off do not count."""

    Settings = TimingSettings
    name = "timing"
    section = "measures"
    shorthand = "target_ms"

    def __init__(self, settings: TimingSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        if not 0 < settings.target_ms < float("inf"):
            raise SuiteError("timing: target_ms must be more than 0", hint="the response time you hope for, in ms")
        self._settings = settings
        if settings.of != "mean":
            self.describe(settings.of)

    def look(self, evidence: Evidence) -> Score:
        """Hold the time against the target."""
        timing, of, target = evidence.timing, self._settings.of, self._settings.target_ms
        times = {"mean": timing.mean_ms, "p50": timing.p50_ms, "p95": timing.p95_ms, "max": timing.max_ms}
        took = times[of]
        if took is None:
            raise ScorerError("no response was timed", kind="no_reply")
        value = 1.0 if took <= target else target / took
        most = self._settings.at_most_ms
        reason = f"{of} {took:.4g} ms of {timing.responses} responses, target {target:g} ms"
        return self.measured(value, took, "ms", passed=None if most is None else took <= most, reason=reason)
