"""A graph behind Bolt: Neo4j, Memgraph, ArcadeDB, through the official driver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from viva.core.data import Data, to_json
from viva.core.errors import StageError, SuiteError
from viva.core.secret import Secret, redactor
from viva.expressions.cypher import check_reading, split_script
from viva.ports.kit import Kit
from viva.registry import need
from viva.stage.values import plain

DEFAULT_URI = "bolt://localhost:7687"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


_WHOSE = "NEO_PASSWORD goes to NEO_URI alone: leave `uri` out, or give the graph `password: env:NAME`"
MOST_BYTES = 10_000_000
"""Of what one query of a suite returns."""


class GraphSettings(Data, frozen=True):
    """How to reach a graph. What is not said comes from NEO_URI, NEO_USERNAME, NEO_PASSWORD, NEO_DATABASE."""

    uri: str = ""
    username: str = ""
    password: str = ""
    """As `env:NAME`; '' takes NEO_PASSWORD, but only for an address that is not the suite's."""
    database: str = ""
    restore: str = "auto"
    """Whether what a trial changed is put back: `auto` (on this machine only), `always`, `never`."""


class Neo4jGraph:
    """Read and write through Bolt; every failure is one StageError line that says what to do."""

    Settings = GraphSettings

    def __init__(self, settings: GraphSettings, kit: Kit, password: Secret | None = None) -> None:
        uri = settings.uri or kit.env("NEO_URI") or DEFAULT_URI
        self.uri, user_in_uri = _without_user(uri)
        self.username = settings.username or kit.env("NEO_USERNAME") or user_in_uri or "neo4j"
        self._password = password or _password(settings, kit)
        self._database = settings.database or kit.env("NEO_DATABASE") or None
        self.restores = _restores(settings.restore, self.uri)
        self._is_of_suite = bool(settings.uri)
        self._driver: Any = None

    @property
    def endpoint(self) -> str:
        """What exclusive use is counted against."""
        return f"{self.uri}/{self._database or ''}"

    async def read(
        self, cypher: str, parameters: dict[str, Any] | None = None, *, timeout_s: float = 10.0, rows: int = 1000
    ) -> list[dict[str, Any]]:
        """Run a read-only query: filtered, in a read session, with a time limit and a row limit."""
        check_reading(cypher)
        found = await self.fetch(cypher, parameters, timeout_s=timeout_s, rows=rows)
        if len(to_json(found)) > MOST_BYTES:
            raise StageError(f"the query returned more than {MOST_BYTES:,} bytes", kind="too_large")
        return found

    async def fetch(
        self,
        cypher: str,
        parameters: dict[str, Any] | None = None,
        *,
        timeout_s: float = 10.0,
        rows: int = 1000,
        raw: bool = False,
    ) -> list[dict[str, Any]]:
        """Run viva's own query, not text from a suite; `raw` leaves values as the driver gives them."""
        neo4j = need("neo4j")
        async with self._blame(cypher, timeout_s), self._session(neo4j.READ_ACCESS) as session:
            result = await session.run(neo4j.Query(cypher, timeout=timeout_s), parameters or {})
            found: list[dict[str, Any]] = []
            async for record in result:
                if len(found) >= rows:
                    raise StageError(
                        f"the query returned more than {rows} rows",
                        kind="too_many_rows",
                        hint="add a LIMIT or count in the query",
                    )
                found.append({key: record[key] if raw else plain(record[key]) for key in record.keys()})  # noqa: SIM118
            return found
        raise AssertionError  # pragma: no cover - the context managers never swallow

    async def write(self, script: str, parameters: dict[str, Any] | None = None) -> None:
        """Run a script of statements in one transaction."""
        await self.write_all([(statement, parameters or {}) for statement in split_script(script)])

    async def write_all(self, statements: Sequence[tuple[str, dict[str, Any]]], timeout_s: float = 60.0) -> None:
        """Run statements in one transaction: all of them, or none."""
        if not statements:
            return
        neo4j = need("neo4j")
        async with self._blame(statements[0][0], timeout_s), self._session(neo4j.WRITE_ACCESS) as session:
            transaction = await session.begin_transaction(timeout=timeout_s)
            async with transaction:
                for statement, parameters in statements:
                    result = await transaction.run(statement, parameters)
                    await result.consume()
                await transaction.commit()

    async def close(self) -> None:
        """Release the connection."""
        if self._driver is not None:
            await self._driver.close()
            self._driver = None

    @asynccontextmanager
    async def _session(self, access: str) -> AsyncIterator[Any]:
        neo4j = need("neo4j")
        if self._driver is None:
            auth = (self.username, self._password.reveal()) if self._password else None
            self._driver = neo4j.AsyncGraphDatabase.driver(
                self.uri,
                auth=auth,
                connection_timeout=5,
                max_transaction_retry_time=0,
                connection_acquisition_timeout=10,
            )
        async with self._driver.session(database=self._database, default_access_mode=access) as session:
            yield session

    @asynccontextmanager
    async def _blame(self, cypher: str, timeout_s: float) -> AsyncIterator[None]:
        """Give every failure of the driver a name and one line."""
        try:
            async with asyncio.timeout(timeout_s + 1):
                yield
        except (StageError, SuiteError):
            raise
        except TimeoutError as error:
            raise StageError(
                f"the graph did not answer within {timeout_s:g} s", kind="graph_timeout", where=_head(cypher)
            ) from error
        except Exception as error:
            raise self._named(error, cypher) from error

    def _named(self, error: Exception, cypher: str) -> StageError:
        code = str(getattr(error, "code", "") or "")
        name = type(error).__name__
        message = str(getattr(error, "message", "") or error).splitlines()[0]
        if "Security" in code or name == "AuthError":
            return StageError(
                f"the graph at {self.uri} refused user {self.username!r}",
                kind="graph_auth",
                hint="set NEO_USERNAME and NEO_PASSWORD" if self._password or not self._is_of_suite else _WHOSE,
            )
        if name in ("ServiceUnavailable", "SessionExpired", "ConfigurationError", "OSError", "ConnectionError"):
            return StageError(
                f"no graph answers at {self.uri}",
                kind="graph_unreachable",
                hint="start it, set NEO_URI, or use `graph: embedded`",
            )
        if "TransactionTimedOut" in code:
            return StageError("the query took too long", kind="graph_timeout", where=_head(cypher))
        if "SyntaxError" in code or name == "CypherSyntaxError":
            return StageError(f"Cypher syntax: {message}", kind="cypher_syntax", where=_head(cypher))
        return StageError(f"the graph refused the query: {message}", kind="graph_error", where=_head(cypher))


def _password(settings: GraphSettings, kit: Kit) -> Secret | None:
    if settings.password:
        return kit.secret(settings.password)
    value = kit.env("NEO_PASSWORD")
    # The user's own password goes to the user's own graph, not to an address a suite chose.
    if not value or (settings.uri and settings.uri != kit.env("NEO_URI")):
        return None
    secret = Secret(value, "NEO_PASSWORD")
    redactor.learn(secret)
    return secret


def _without_user(uri: str) -> tuple[str, str]:
    parts = urlsplit(uri)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, parts.query, "")), parts.username or ""


def _restores(policy: str, uri: str) -> bool:
    if policy not in ("auto", "always", "never"):
        raise SuiteError(f"restore is 'auto', 'always' or 'never', not {policy!r}")
    return policy == "always" or (policy == "auto" and urlsplit(uri).hostname in LOOPBACK)


def _head(cypher: str) -> str:
    line = " ".join(cypher.split())
    return line if len(line) <= 80 else line[:79] + "…"
