"""Notices: what a run tells whoever listens (progress, live transcript); cheap when nobody does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from viva.core.run import Run, RunStatus
from viva.core.score import TrialResult
from viva.core.transcript import Turn


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A run begins or goes on; `owed` trials are missing, `unscored` of the stored ones have no scores yet."""

    run: Run
    owed: int
    unscored: int
    resumed: bool


@dataclass(frozen=True, slots=True)
class TrialStarted:
    """A trial got its slot and begins to talk."""

    trial: str


@dataclass(frozen=True, slots=True)
class TurnTaken:
    """One side of a conversation said something."""

    trial: str
    turn: Turn


@dataclass(frozen=True, slots=True)
class TrialFinished:
    """A trial's result is in the store: from now on it survives anything."""

    result: TrialResult


@dataclass(frozen=True, slots=True)
class Warned:
    """Something the user should know that ends nothing."""

    text: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run came to its end, or was ended."""

    run: str
    status: RunStatus
    reason: str
    finished: int
    """Trials finished in this execution."""
    not_run: int
    abandoned: tuple[str, ...] = ()


Notice = RunStarted | TrialStarted | TurnTaken | TrialFinished | Warned | RunFinished
Listener = Callable[[Notice], None]


class Announcer:
    """Passes notices on; a listener that fails is dropped rather than stopping the run."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = listener
        self.failed = ""

    @property
    def heard(self) -> bool:
        """Whether anybody listens, so that nobody makes notices for nothing."""
        return self._listener is not None

    def tell(self, notice: Notice) -> None:
        """Pass a notice on."""
        if self._listener is None:
            return
        try:
            self._listener(notice)
        except Exception as error:
            self._listener = None
            self.failed = f"the listener failed and hears nothing more: {type(error).__name__}: {error}"
