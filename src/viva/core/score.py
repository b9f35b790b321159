"""Scores: a number in [0, 1] with a reason, or an error with a name; never both, never NaN."""

from __future__ import annotations

import math
from typing import Any, Literal

from viva.core.data import Data
from viva.core.usage import Usage

Outcome = Literal["pass", "fail", "error", "skipped"]


class Score(Data, frozen=True, tag="score", tag_field="is"):
    """What a scorer found."""

    name: str
    value: float
    reason: str = ""
    passed: bool | None = None
    """None where the scorer has no opinion on passing (a measure without a threshold)."""
    raw: float | None = None
    """The value on its own scale (0–100, 1–5, ms), beside the normalised one."""
    unit: str = ""
    weight: float = 1.0
    """Negative for a pitfall: met counts against."""
    section: str = "checks"
    scorer: str = ""
    """Name and version of what made it: `fuzzy@1`."""
    hash: str = ""
    """Of the template and settings that matter to the number."""
    detail: dict[str, Any] = {}
    usage: Usage | None = None
    took_ms: float = 0.0
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if math.isnan(self.value) or not 0.0 <= self.value <= 1.0:
            raise ValueError(f"a score lies in [0, 1]; {self.name!r} says {self.value!r}")

    @property
    def outcome(self) -> Outcome:
        """Pass or fail; a score without an opinion passes."""
        return "fail" if self.passed is False else "pass"


class ScoreError(Data, frozen=True, tag="error", tag_field="is"):
    """Why there is no score. It is not zero, and no mean includes it."""

    name: str
    kind: str
    detail: str = ""
    weight: float = 1.0
    section: str = "checks"
    scorer: str = ""
    hash: str = ""
    usage: Usage | None = None
    took_ms: float = 0.0
    flags: tuple[str, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """Always error."""
        return "error"


class ScoreSkipped(Data, frozen=True, tag="skipped", tag_field="is"):
    """A score that was not owed: not needed once the threshold was decided, or switched off."""

    name: str
    reason: str = ""
    weight: float = 1.0
    section: str = "checks"
    scorer: str = ""

    @property
    def outcome(self) -> Outcome:
        """Always skipped."""
        return "skipped"


AnyScore = Score | ScoreError | ScoreSkipped


class Combined(Data, frozen=True):
    """What a formula made of the scores: one number, or none and why."""

    value: float | None
    reason: str = ""
    parts: dict[str, float] = {}
    """The dimensions that went in, by name (timing, tasks, assertions, penalty)."""
    missing: tuple[str, ...] = ()
    tolerated: tuple[str, ...] = ()
    """Names of errors the formula was told to do without; any other error leaves the trial without a verdict."""


class TrialResult(Data, frozen=True):
    """The verdict on one trial."""

    trial: str
    case: str
    outcome: Outcome
    variant: str = "default"
    repeat: int = 1
    score: float | None = None
    reason: str = ""
    error: str = ""
    """The kind of error, where the outcome is error or skipped."""
    formula: str = ""
    parts: dict[str, float] = {}
    missing: tuple[str, ...] = ()
    usage: dict[str, Usage] = {}
    failures: int = 0
    mean_ms: float | None = None
    turns: int = 0
    flags: tuple[str, ...] = ()
