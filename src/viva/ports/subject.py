"""The thing under test: opens a session that can send, observe and close."""

from __future__ import annotations

from typing import Any, Protocol

from viva.core.case import Case
from viva.core.data import Data
from viva.core.evidence import Observation
from viva.core.limits import Limits
from viva.core.transcript import Message, Reply
from viva.core.variant import DEFAULT_VARIANT, Variant


class Opening(Data, frozen=True):
    """What a subject is told when a session begins."""

    run: str
    trial: str
    case: Case
    variant: Variant = DEFAULT_VARIANT
    model: str | None = None
    """The model the agent should use, where it can choose; from `--model`."""
    limits: Limits = Limits()
    seed: int = 0
    purpose: str = "trial"
    """`trial`, or `seed` for a conversation that only primes the agent's memory."""


class Session(Protocol):
    """One conversation with the subject. Raises SubjectError; never retries by itself."""

    @property
    def id(self) -> str:
        """The agent's own name for the session, or ''."""
        ...

    async def send(self, message: Message) -> Reply:
        """Send one message and wait for its reply."""
        ...

    async def observe(self, observation: Observation) -> Any:
        """Look at the agent's state; plain JSON data."""
        ...

    async def close(self) -> None:
        """End the session; must be safe to call twice."""
        ...


class Subject(Protocol):
    """A factory of sessions."""

    name: str
    version: str

    @property
    def endpoint(self) -> str:
        """What concurrency is counted against: a host, a program, a function."""
        ...

    async def open(self, opening: Opening) -> Session:
        """Begin a session for one trial."""
        ...

    async def close(self) -> None:
        """Release what all sessions shared."""
        ...


class Ingesting(Protocol):
    """A session that can also be given a document to remember (text seeds)."""

    async def ingest(self, text: str) -> None:
        """Hand over a text to remember."""
        ...
