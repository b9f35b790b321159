"""The agent's own SQLite database: setups write it, checks read it, and a trial leaves it as it found it."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from viva.core.data import Data
from viva.core.errors import StageError

_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})


class DatabaseSettings(Data, frozen=True):
    """Which database."""

    file: str
    """Below the suite's folder."""


class Database:
    """One SQLite file. Reads go through a read-only connection whose authoriser lets nothing but SELECT through."""

    def __init__(self, path: Path) -> None:
        self.path = path

    async def read(
        self, sql: str, parameters: list[Any] | None = None, *, timeout_s: float = 10.0, rows: int = 1000
    ) -> list[dict[str, Any]]:
        """Run one SELECT with a time limit and a row limit."""
        return await asyncio.to_thread(self._read, sql, parameters or [], timeout_s, rows)

    async def write(self, script: str) -> None:
        """Run a script in one transaction."""
        await asyncio.to_thread(self._write, script)

    async def picture(self) -> bytes:
        """The whole database, to be put back later."""
        return await asyncio.to_thread(self._picture)

    async def restore(self, picture: bytes) -> None:
        """Put a picture back."""
        await asyncio.to_thread(self._restore, picture)

    def _read(self, sql: str, parameters: list[Any], timeout_s: float, rows: int) -> list[dict[str, Any]]:
        try:
            link = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise StageError(f"no database at {self.path.name}: {error}", kind="sql_unreachable") from error
        try:
            link.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY)
            _interrupt_after(link, timeout_s)
            cursor = link.execute(sql, parameters)
            names = [column[0] for column in cursor.description or ()]
            found = cursor.fetchmany(rows + 1)
        except sqlite3.Error as error:
            raise _named(error) from error
        finally:
            link.close()
        if len(found) > rows:
            raise StageError(f"the query returned more than {rows} rows", kind="too_many_rows", hint="add a LIMIT")
        return [dict(zip(names, map(_plain, row), strict=True)) for row in found]

    def _write(self, script: str) -> None:
        link = sqlite3.connect(self.path)
        try:
            link.executescript(f"BEGIN IMMEDIATE;\n{script}\n;COMMIT;")
        except sqlite3.Error as error:
            raise StageError(f"SQL setup: {error}", kind="sql_error") from error
        finally:
            link.close()

    def _picture(self) -> bytes:
        link = sqlite3.connect(self.path)
        try:
            return link.serialize()
        finally:
            link.close()

    def _restore(self, picture: bytes) -> None:
        target, source = sqlite3.connect(self.path), sqlite3.connect(":memory:")
        try:
            source.deserialize(picture)
            source.backup(target)
        finally:
            source.close()
            target.close()


def _interrupt_after(link: sqlite3.Connection, timeout_s: float) -> None:
    # Called every so many steps of SQLite's virtual machine: about 100 million steps take 10 s.
    left = int(timeout_s * 1000)

    def tick() -> int:
        nonlocal left
        left -= 1
        return int(left < 0)

    link.set_progress_handler(tick, 10_000)


def _named(error: sqlite3.Error) -> StageError:
    text = str(error)
    if "interrupted" in text:
        return StageError("the query took too long", kind="sql_timeout")
    if "not authorized" in text or "prohibited" in text or "readonly" in text:
        return StageError("only SELECT is allowed here", kind="sql_not_reading")
    return StageError(f"SQL: {text}", kind="sql_error")


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
