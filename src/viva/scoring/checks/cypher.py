"""A claim about the graph: a read-only query, and what it should return."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from viva.core.data import content_hash
from viva.core.errors import SuiteError
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.score import Score
from viva.expressions.cypher import check_reading
from viva.ports.kit import Kit
from viva.scoring.checks.rows import RowsSettings, compare
from viva.scoring.checks.seen import seen_in
from viva.scoring.scorer import PlainScorer


class QuerySettings(RowsSettings, frozen=True):
    """A query and what it should return."""

    query: str = ""
    parameters: dict[str, Any] = {}
    """Values always travel as parameters, never inside the text."""
    timeout_s: float = 10.0
    rows: int = 1000
    """More rows than this are an error."""
    poll_s: float = 0.0
    """Ask again until the claim holds, at most so long: for agents that act a little later."""
    every_s: float = 0.5


class Cypher(PlainScorer):
    """Asks the stage's graph before the world is put away, and compares afterwards."""

    Settings = QuerySettings
    name = "cypher"
    version = "1"
    shorthand = "query"
    source = "graph"

    def __init__(self, settings: QuerySettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self.describe(settings.query)
        if not settings.query.strip():
            raise SuiteError(f"{self.name}: a query is needed")
        _one_expectation(self.name, settings)
        self._settings = settings
        self._observation = Observation(
            key=f"{self.source}:{content_hash([settings.query, settings.parameters])}",
            source=self.source,
            request=self._request(settings),
            poll_s=settings.poll_s,
            every_s=settings.every_s,
        )

    def _request(self, settings: QuerySettings) -> dict[str, Any]:
        check_reading(settings.query)
        return {
            "cypher": settings.query,
            "parameters": settings.parameters,
            "timeout_s": settings.timeout_s,
            "rows": settings.rows,
        }

    def observations(self) -> tuple[Observation, ...]:
        """The query."""
        return (self._observation,)

    def settled(self, observation: Observation, seen: Observed) -> bool:
        """Whether the claim holds already."""
        return not seen.error and compare(seen.value, self._settings)[0]

    def look(self, evidence: Evidence) -> Score:
        """Pass or fail by the rows; an error where the query could not be asked."""
        rows = seen_in(evidence.state, self._observation.key)
        holds, reason = compare(rows, self._settings)
        return self.claim(holds, reason, {"rows": rows[:20]})


def _one_expectation(name: str, settings: RowsSettings) -> None:
    given = [
        settings.expected is not UNSET,
        settings.row is not None,
        settings.table is not None,
        settings.at_least is not None or settings.at_most is not None,
        settings.empty is not None,
    ]
    if sum(given) != 1:
        raise SuiteError(
            f"{name}: give exactly one expectation", hint="expected, row, table, at_least/at_most, or empty"
        )
