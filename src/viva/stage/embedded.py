"""A graph that needs no server of the user's: a child process of ours, reached over Bolt like any other."""

from __future__ import annotations

import asyncio
import json
import secrets
import sys
import tempfile
from pathlib import Path
from typing import Any

from viva.core.data import Data
from viva.core.errors import StageError
from viva.core.secret import Secret, redactor
from viva.ports.kit import Kit
from viva.registry import missing_package
from viva.stage.neo4j import GraphSettings, Neo4jGraph

READY_S = 60.0
USER = "root"


class EmbeddedSettings(Data, frozen=True):
    """Where the embedded graph keeps its files and on which loopback port it answers."""

    folder: str = ""
    """Below the suite's folder; empty means a temporary one that is gone afterwards."""
    port: int = 0
    """0 picks a free one; give a number when the agent has to know it beforehand."""
    database: str = "neo4j"


class EmbeddedGraph:
    """Starts when first used, stops with the run."""

    Settings = EmbeddedSettings

    def __init__(self, settings: EmbeddedSettings, kit: Kit) -> None:
        self._settings = settings
        self._kit = kit
        self._password = Secret(kit.env("VIVA_GRAPH_PASSWORD") or secrets.token_hex(16), "VIVA_GRAPH_PASSWORD")
        redactor.learn(self._password)
        self._graph: Neo4jGraph | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._starting = asyncio.Lock()
        self.restores = True

    @property
    def endpoint(self) -> str:
        """What exclusive use is counted against."""
        return f"embedded:{id(self)}"

    async def start(self) -> Neo4jGraph:
        """Start the child once, and connect to it."""
        async with self._starting:
            if self._graph is None:
                ready = await self._launch()
                where = GraphSettings(uri=ready["uri"], username=USER, database=ready["database"])
                self._graph = Neo4jGraph(where, self._kit, self._password)
            return self._graph

    async def read(
        self, cypher: str, parameters: dict[str, Any] | None = None, *, timeout_s: float = 10.0, rows: int = 1000
    ) -> list[dict[str, Any]]:
        """Run a read-only query."""
        return await (await self.start()).read(cypher, parameters, timeout_s=timeout_s, rows=rows)

    async def fetch(
        self,
        cypher: str,
        parameters: dict[str, Any] | None = None,
        *,
        timeout_s: float = 10.0,
        rows: int = 1000,
        raw: bool = False,
    ) -> list[dict[str, Any]]:
        """Run viva's own query."""
        return await (await self.start()).fetch(cypher, parameters, timeout_s=timeout_s, rows=rows, raw=raw)

    async def write(self, script: str, parameters: dict[str, Any] | None = None) -> None:
        """Run a script of statements in one transaction."""
        await (await self.start()).write(script, parameters)

    async def write_all(self, statements: list[tuple[str, dict[str, Any]]], timeout_s: float = 60.0) -> None:
        """Run statements in one transaction."""
        await (await self.start()).write_all(statements, timeout_s)

    async def close(self) -> None:
        """Stop the child and remove what was temporary."""
        if self._graph is not None:
            await self._graph.close()
            self._graph = None
        if self._process is not None:
            await _stop(self._process)
            self._process = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    @property
    def password(self) -> Secret:
        """For whoever has to connect as well (an agent started beside it)."""
        return self._password

    async def _launch(self) -> dict[str, str]:
        arguments = ["--folder", str(self._folder()), "--port", str(self._settings.port)]
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "viva.stage.graph_server", *arguments, "--database", self._settings.database,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        if self._process.stdin is not None:
            self._process.stdin.write(self._password.reveal().encode() + b"\n")
        try:
            async with asyncio.timeout(READY_S):
                line = await self._process.stdout.readline() if self._process.stdout else b""
        except TimeoutError:
            line = b""
        except BaseException:
            await _stop(self._process)
            raise
        if not line:
            await _stop(self._process)
            raise _not_started()
        ready: dict[str, str] = json.loads(line)
        return ready

    def _folder(self) -> Path:
        if self._settings.folder:
            root = self._kit.folder or Path.cwd()
            folder = (root / self._settings.folder).resolve()
            if not folder.is_relative_to(root.resolve()):
                raise StageError("the graph's folder must lie below the suite's folder", kind="outside_folder")
            return folder
        self._temporary = tempfile.TemporaryDirectory(prefix="viva-graph-", ignore_cleanup_errors=True)
        return Path(self._temporary.name)


def _not_started() -> StageError:
    from importlib.util import find_spec

    if find_spec("arcadedb_embedded") is None:
        missing = missing_package("arcadedb_embedded")
        return StageError(missing.message, kind=missing.kind, hint=missing.hint)
    return StageError("the embedded graph did not start", kind="graph_unreachable", hint="try: viva doctor")


async def _stop(process: asyncio.subprocess.Process) -> None:
    """Close its standard input, which ends it; kill it when that takes too long."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        async with asyncio.timeout(10):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
