"""Evidence: everything a scorer may look at, frozen and stored before any scorer runs."""

from __future__ import annotations

from typing import Any, Literal

from viva.core.case import Case
from viva.core.data import Data
from viva.core.timing import Timing
from viva.core.transcript import Transcript
from viva.core.usage import NO_USAGE, Usage
from viva.core.variant import Variant


class Observation(Data, frozen=True):
    """Something to look at while the world still stands: the agent's state, a graph query, a probe.

    Two scorers that ask for the same key share one look. `source` is `subject` for the session itself and
    otherwise the name of a connection of the stage (`graph`, `sql`, `http`).
    """

    key: str
    source: str = "subject"
    request: dict[str, Any] = {}
    when: Literal["after", "before", "both"] = "after"
    poll_s: float = 0.0
    """Look again until the asking scorer is satisfied, at most so long."""
    every_s: float = 0.5


class Observed(Data, frozen=True):
    """What an observation saw, or why it could not look."""

    value: Any = None
    error: str = ""
    """Empty when the look succeeded; else the kind of failure."""
    detail: str = ""
    took_ms: float = 0.0
    looks: int = 1


class Ending(Data, frozen=True):
    """Why a conversation ended.

    `kind` is one of: completed, turn_limit, timed_out, limit, subject_error, driver_error, stage_error, stopped,
    abandoned, budget, or the kind of the error that ended it. `ok` says that the evidence may be scored.
    """

    kind: str = "completed"
    ok: bool = True
    by: str = "driver"
    """Who ended it: driver, agent, limit, user, harness."""
    because: str = ""
    status: int | None = None
    body: str = ""


class Evidence(Data, frozen=True):
    """One trial, recorded."""

    trial: str
    """The trial's key."""
    case: Case
    variant: Variant
    repeat: int = 1
    transcript: Transcript = Transcript()
    output: Any = None
    """The structured data of the last reply, where it had any."""
    state: dict[str, Observed] = {}
    """Observations taken after the conversation, by key."""
    before: dict[str, Observed] = {}
    """The same, taken before it."""
    timing: Timing = Timing()
    ending: Ending = Ending()
    usage: dict[str, Usage] = {}
    """By role: subject, user."""
    notes: dict[str, Any] = {}
    """What the driver wants remembered: expectations met, the greeting chosen, the user's audit."""
    flags: tuple[str, ...] = ()
    started_at: str = ""
    session: str = ""
    model: str | None = None

    @property
    def text(self) -> str | None:
        """The agent's last words; None when it never answered."""
        last = self.transcript.last_reply
        return None if last is None else last.text

    @property
    def failures(self) -> int:
        """Failed attempts over the whole conversation."""
        return self.transcript.failures

    @property
    def spent(self) -> Usage:
        """Usage of all roles together."""
        return sum(self.usage.values(), NO_USAGE)
