"""A transcript: turns with tool calls, events, timings and faults, in the order they happened."""

from __future__ import annotations

from typing import Any, Literal

from viva.core.data import Data
from viva.core.usage import Usage

Role = Literal["user", "assistant", "system", "tool"]


class ToolCall(Data, frozen=True):
    """A tool the agent says it called."""

    name: str
    arguments: dict[str, Any] = {}
    result: Any = None
    id: str = ""


class Event(Data, frozen=True):
    """Something the agent reports about its own work, kept raw; `kind` is `unknown` when we have no name for it."""

    kind: str
    data: dict[str, Any] = {}


class Message(Data, frozen=True):
    """What is sent to the subject."""

    text: str
    data: Any = None
    role: Role = "user"


class Reply(Data, frozen=True):
    """What the subject answered: text, and structured data where it has any."""

    text: str
    data: Any = None
    tool_calls: tuple[ToolCall, ...] = ()
    events: tuple[Event, ...] = ()
    usage: Usage | None = None
    first_token_ms: float | None = None
    agent_ms: float | None = None
    """The agent's own account of its time (a Server-Timing header, a field), where it gives one."""
    raw: str = ""
    """The body as received, capped, when it says more than text and data."""
    flags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}


class Fault(Data, frozen=True):
    """A failed attempt at one message."""

    kind: str
    detail: str = ""
    status: int | None = None
    took_ms: float = 0.0
    waited_ms: float = 0.0


class Turn(Data, frozen=True):
    """One message in the conversation, by either side."""

    role: Role
    text: str
    data: Any = None
    tool_calls: tuple[ToolCall, ...] = ()
    events: tuple[Event, ...] = ()
    at_ms: float = 0.0
    """Since the conversation began."""
    latency_ms: float | None = None
    """The successful attempt alone: of the agent for its turns, of the simulated user for its own."""
    total_ms: float | None = None
    """With failed attempts and back-off."""
    throttle_ms: float = 0.0
    """Waiting for our own turn to send."""
    first_token_ms: float | None = None
    agent_ms: float | None = None
    faults: tuple[Fault, ...] = ()
    usage: Usage | None = None
    raw: str = ""
    flags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}


class Transcript(Data, frozen=True):
    """The turns, in order."""

    turns: tuple[Turn, ...] = ()

    @property
    def replies(self) -> tuple[Turn, ...]:
        """The agent's turns."""
        return tuple(turn for turn in self.turns if turn.role == "assistant")

    @property
    def last_reply(self) -> Turn | None:
        """The agent's last turn, if it ever answered."""
        for turn in reversed(self.turns):  # Every check asks for it, and it is nearly always the last one.
            if turn.role == "assistant":
                return turn
        return None

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Every tool call of the conversation, in order."""
        return tuple(call for turn in self.turns for call in turn.tool_calls)

    @property
    def failures(self) -> int:
        """Failed attempts over all turns."""
        return sum(len(turn.faults) for turn in self.turns)
