"""Who talks to the subject and decides when to stop."""

from __future__ import annotations

from typing import Any, Protocol

from viva.core.case import Case
from viva.core.data import Data
from viva.core.transcript import Turn
from viva.core.usage import Usage
from viva.core.variant import Variant


class Stop(Data, frozen=True):
    """A driver's recorded decision to end the conversation."""

    because: str
    kind: str = "completed"
    by: str = "driver"
    notes: dict[str, Any] = {}
    """What the driver wants remembered in the evidence."""


class Conversation(Protocol):
    """What a driver holds: the engine's side of one session. It sends with retry, limits and timing."""

    @property
    def case(self) -> Case: ...

    @property
    def variant(self) -> Variant: ...

    @property
    def seed(self) -> int:
        """Where this trial's random choices start from; equal for all variants of a case."""
        ...

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The transcript so far."""
        ...

    async def say(
        self, text: str, data: Any = None, *, latency_ms: float | None = None, metadata: dict[str, Any] | None = None
    ) -> Turn:
        """Send a user message and return the agent's turn. Raises SubjectError or LimitError.

        `latency_ms` and `metadata` describe the user's side (a simulated user's thinking time, its decision).
        """
        ...

    def remark(self, text: str, *, latency_ms: float | None = None, metadata: dict[str, Any] | None = None) -> None:
        """Put a user message into the transcript without sending it (a sign-off)."""
        ...

    async def wait(self, seconds: float) -> None:
        """Wait as a user would."""
        ...

    def charge(self, usage: Usage) -> None:
        """Count what the simulated user's model used."""
        ...


class Driver(Protocol):
    """Holds one conversation, then says why it stopped."""

    name: str
    version: str

    async def drive(self, conversation: Conversation) -> Stop:
        """Talk until done. Raises DriverError when it cannot go on."""
        ...
