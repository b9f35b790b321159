"""Opening the file: for the one writer, for the readers, and for looking only."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from viva.core.errors import SetupError, StoreError
from viva.store.failure import may_write
from viva.store.locking import patiently
from viva.store.migrate import check, migrate, migrations

_BUSY_MS = 10_000
_JOURNAL_LIMIT_BYTES = 64 * 1024 * 1024


_OLDEST_SQLITE = (3, 35, 0)
"""The first that tells which of many rows were new (RETURNING)."""


def open_writer(path: Path) -> sqlite3.Connection:
    """Open for writing, creating the file and its folder, and bring the schema up to date."""
    _refuse_old_sqlite()
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = _connect(path, "rwc")
    try:
        # Waiting for turns is ours: see locking.
        connection.execute("PRAGMA busy_timeout = 0")
        patiently(lambda: connection.execute("PRAGMA journal_mode = WAL"), path)
        # FULL: a migration has reached the disk when it returns, also through a loss of power.
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {_JOURNAL_LIMIT_BYTES}")
        migrate(connection, path, migrations())
        # NORMAL: a commit is in the log when it returns, and survives a kill; the flusher sees to losses of power.
        connection.execute("PRAGMA synchronous = NORMAL")
    except BaseException:
        connection.close()
        raise
    return connection


def open_reader(path: Path) -> sqlite3.Connection:
    """Open for reading beside the writer."""
    connection = _connect(path, "rw")
    connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
    connection.execute("PRAGMA query_only = ON")
    return connection


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open a store that must not or cannot be written; nothing is created."""
    if not path.is_file():
        raise StoreError("there is no store here", kind="not_found", hint="run a suite first", where=str(path))
    connection = _connect(path, _look_only_mode(path))
    try:
        connection.execute(f"PRAGMA busy_timeout = {_BUSY_MS}")
        check(connection, path, migrations())
    except BaseException:
        connection.close()
        raise
    return connection


def _refuse_old_sqlite() -> None:
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise SetupError(
            f"this Python comes with SQLite {sqlite3.sqlite_version}; the store needs 3.35 or newer",
            hint="use a Python built against a newer SQLite",
        )


def _look_only_mode(path: Path) -> str:
    # A write-ahead log needs its two side files. Where they cannot be made, and no log waits to be read, the file
    # alone is the whole truth.
    wal = Path(f"{path}-wal")
    waiting = wal.exists() and wal.stat().st_size > 0
    return "ro" if waiting or may_write(path.parent) else "ro&immutable=1"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=256,
    )
