"""A claim about the agent's database: one SELECT, and what it should return."""

from __future__ import annotations

from typing import Any

from viva.core.errors import SuiteError
from viva.ports.kit import Kit
from viva.scoring.checks.cypher import Cypher, QuerySettings


class SqlSettings(QuerySettings, frozen=True):
    """A SELECT and what it should return; `values` fill its question marks."""

    values: tuple[Any, ...] = ()


class Sql(Cypher):
    """Asks the stage's database, through a connection that can only read."""

    Settings = SqlSettings
    name = "sql"
    version = "1"
    source = "sql"

    def __init__(self, settings: SqlSettings, kit: Kit) -> None:
        self._values = list(settings.values)
        if settings.parameters:
            raise SuiteError("sql: use `values` for the question marks of a SELECT, not `parameters`")
        super().__init__(settings, kit)

    def _request(self, settings: QuerySettings) -> dict[str, Any]:
        return {
            "sql": settings.query,
            "parameters": self._values,
            "timeout_s": settings.timeout_s,
            "rows": settings.rows,
        }
