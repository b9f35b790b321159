"""Reading beside the writer: a few threads, each with its own connection."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from viva.core.errors import StoreError
from viva.store.failure import explain

T = TypeVar("T")
_THREADS = 2


class Reader:
    """Runs questions in threads, so that a long one never holds up the event loop."""

    def __init__(self, path: Path, connect: Callable[[Path], sqlite3.Connection]) -> None:
        self._path = path
        self._connect = connect
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="viva-store-reader")
        self._closed = False

    async def ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        """Answer a question from one consistent view of the store."""
        if self._closed:
            raise StoreError("the store is closed", kind="closed", where=str(self._path))
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, question)

    def close(self) -> None:
        """Release the connections; blocks until running questions are answered."""
        self._closed = True
        self._pool.shutdown(wait=True)
        for connection in self._connections:
            connection.close()
        self._connections.clear()

    def _answer(self, question: Callable[[sqlite3.Connection], T]) -> T:
        try:
            connection = self._connection()
            connection.execute("BEGIN")
            try:
                return question(connection)
            finally:
                connection.execute("ROLLBACK")
        except (sqlite3.Error, OSError) as cause:
            raise explain(cause, self._path, "reading") from cause

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect(self._path)
            self._local.connection = connection
            self._connections.append(connection)
        return connection
