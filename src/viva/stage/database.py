"""The agent's own SQLite database: setups write it, checks read it, and a trial leaves it as it found it."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from viva.core.data import Data
from viva.core.errors import StageError

MOST_BYTES = 10_000_000
"""Of one value, and of all that a query returns."""

_READING = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})


_LEAVING = frozenset({sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH})
"""A setup writes the database it was given, and no other file."""


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

    async def picture(self) -> sqlite3.Connection:
        """A copy of the whole database in memory, to be put back later."""
        return await asyncio.to_thread(self._picture)

    async def restore(self, picture: sqlite3.Connection) -> None:
        """Put a picture back."""
        await asyncio.to_thread(self._restore, picture)

    def _read(self, sql: str, parameters: list[Any], timeout_s: float, rows: int) -> list[dict[str, Any]]:
        try:
            link = sqlite3.connect(f"{self.path.resolve().as_uri()}?mode=ro", uri=True)
        except sqlite3.Error as error:
            raise StageError(f"no database at {self.path.name}: {error}", kind="sql_unreachable") from error
        try:
            link.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY)
            link.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
            _interrupt_after(link, timeout_s)
            cursor = link.execute(sql, parameters)
            names = [column[0] for column in cursor.description or ()]
            return [dict(zip(names, map(_plain, row), strict=True)) for row in _bounded(cursor, rows)]
        except sqlite3.Error as error:
            raise _named(error) from error
        finally:
            link.close()

    def _write(self, script: str) -> None:
        link = sqlite3.connect(self.path)
        link.set_authorizer(lambda action, *_: sqlite3.SQLITE_DENY if action in _LEAVING else sqlite3.SQLITE_OK)
        try:
            link.executescript(f"BEGIN IMMEDIATE;\n{script}\n;COMMIT;")
        except sqlite3.Error as error:
            raise StageError(f"SQL setup: {error}", kind="sql_error") from error
        finally:
            link.close()

    def _picture(self) -> sqlite3.Connection:
        link = sqlite3.connect(self.path)
        picture = sqlite3.connect(":memory:", check_same_thread=False)  # Put back by whichever thread is free then.
        try:
            link.backup(picture)
        finally:
            link.close()
        return picture

    def _restore(self, picture: sqlite3.Connection) -> None:
        target = sqlite3.connect(self.path)
        try:
            picture.backup(target)
        except sqlite3.Error as error:
            raise StageError(f"{self.path.name} could not be put back: {error}", kind="sql_error") from error
        finally:
            target.close()


def _bounded(cursor: sqlite3.Cursor, rows: int) -> Iterator[tuple[Any, ...]]:
    """The rows of a query, up to a number of rows and of bytes."""
    size = 0
    for number, row in enumerate(cursor, start=1):
        size += sum(len(value) for value in row if isinstance(value, str | bytes))
        if number > rows:
            raise StageError(f"the query returned more than {rows} rows", kind="too_many_rows", hint="add a LIMIT")
        if size > MOST_BYTES:
            raise StageError(f"the query returned more than {MOST_BYTES:,} bytes", kind="too_large")
        yield row


def _interrupt_after(link: sqlite3.Connection, timeout_s: float) -> None:
    ends_at = time.monotonic() + timeout_s  # Another thread's time: no injected clock is read here.
    link.set_progress_handler(lambda: int(time.monotonic() > ends_at), 10_000)


def _named(error: sqlite3.Error) -> StageError:
    text = str(error)
    if "too big" in text:
        return StageError(f"a value has more than {MOST_BYTES:,} bytes", kind="too_large")
    if "interrupted" in text:
        return StageError("the query took too long", kind="sql_timeout")
    if "not authorized" in text or "prohibited" in text or "readonly" in text:
        return StageError("only SELECT is allowed here", kind="sql_not_reading")
    return StageError(f"SQL: {text}", kind="sql_error")


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
