"""What setups and seeds stand on while a stage is being set."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from viva.core.errors import StageError
from viva.core.trial import Trial
from viva.ports.stage import Graph, OpenSession
from viva.ports.subject import Opening
from viva.stage.database import Database
from viva.wire.client import Wire

Undo = Callable[[], Awaitable[None]]


@dataclass
class Ground:
    """The connections of one trial, and how to undo what was done so far."""

    trial: Trial
    opening: Opening
    open_session: OpenSession
    wire: Wire
    graph_or_none: Graph | None = None
    database_or_none: Database | None = None
    undos: list[Undo] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)

    @property
    def graph(self) -> Graph:
        """The graph of the stage."""
        if self.graph_or_none is None:
            raise StageError(
                "the stage has no graph",
                kind="no_graph",
                hint="add `stage: {graph: neo4j}` or `stage: {graph: embedded}`",
            )
        return self.graph_or_none

    @property
    def database(self) -> Database:
        """The SQL database of the stage."""
        if self.database_or_none is None:
            raise StageError(
                "the stage has no database", kind="no_database", hint="add `stage: {database: {sqlite: {file: …}}}`"
            )
        return self.database_or_none
