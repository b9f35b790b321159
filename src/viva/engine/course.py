"""What a run owes, how it is to be scheduled, and how it went."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from viva.core.errors import StoreError
from viva.core.run import RunStatus
from viva.core.trial import Trial
from viva.engine.stop import GRACE_S

LEASE_S = 60.0


@dataclass(frozen=True, slots=True)
class Owed:
    """What a run still lacks."""

    count: int
    """Trials without evidence."""
    trials: Callable[[], Iterator[Trial]]
    """Those trials, in order; may be asked for again, when another process gave some up."""
    unscored: Sequence[str] = ()
    """Keys of trials whose evidence is stored and whose result is not."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How a run is scheduled."""

    concurrency: int = 16
    grace_s: float = GRACE_S
    lease_s: float = LEASE_S
    seconds: float | None = None
    """The run's ceiling of time, for this execution."""
    owner: str = "viva"


@dataclass(slots=True)
class Course:
    """How an execution went."""

    status: RunStatus = "finished"
    reason: str = ""
    finished: int = 0
    not_run: int = 0
    """Trials still owed: stopped, cut off, or never begun."""
    abandoned: list[str] = field(default_factory=list)
    """Trials whose agent did not let go and was left behind."""
    store_error: StoreError | None = None
