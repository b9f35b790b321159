"""The world around the agent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from viva.core.evidence import Observation
from viva.core.stage import StagePlan
from viva.core.trial import Trial
from viva.ports.subject import Opening, Session


class Prepared(Protocol):
    """A stage that has been set for one trial."""

    @property
    def notes(self) -> dict[str, Any]:
        """What should be remembered in the evidence: what the seeds were answered, say."""
        ...

    async def observe(self, observation: Observation) -> Any:
        """Look at something that is not the agent itself; plain JSON data. Raises StageError."""
        ...

    async def undo(self) -> None:
        """Put the world back; must be safe to call twice."""
        ...


OpenSession = Callable[[Opening], Awaitable[Session]]


class Stage(Protocol):
    """Sets the world for a trial: setups, seeds, settle-wait; and opens what observations need."""

    async def prepare(
        self, trial: Trial, opening: Opening, open_session: OpenSession, begin: Callable[[], None]
    ) -> Prepared:
        """Set the stage, undoing what was done when it fails half-way. Raises StageError.

        `begin` is called when waiting for other trials is over: from then on the trial's seconds run.
        """
        ...

    async def check(self, plan: StagePlan) -> None:
        """Look whether everything a stage needs is there and answers, before anything is spent. Raises StageError."""
        ...

    async def close(self) -> None:
        """Release connections shared by all trials."""
        ...


class Graph(Protocol):
    """A graph that answers Cypher with plain data."""

    async def read(
        self, cypher: str, parameters: dict[str, Any] | None = None, *, timeout_s: float = 10.0, rows: int = 1000
    ) -> list[dict[str, Any]]:
        """Run a read-only query. Raises StageError."""
        ...

    async def write(self, script: str, parameters: dict[str, Any] | None = None) -> None:
        """Run a script of statements in one transaction. Raises StageError."""
        ...

    async def close(self) -> None:
        """Release the connection."""
        ...
