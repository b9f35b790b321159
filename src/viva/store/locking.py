"""Taking turns with the other processes that write the same store."""

from __future__ import annotations

import random
import sqlite3
import time
from pathlib import Path

from viva.core.errors import StoreError

PATIENCE_S = 60.0
_SHORTEST_S, _LONGEST_S = 0.0005, 0.004


def is_busy(cause: BaseException) -> bool:
    """Whether someone else holds the lock."""
    code = getattr(cause, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def patiently(connection: sqlite3.Connection, statement: str, path: Path, patience_s: float = PATIENCE_S) -> bool:
    """Execute a statement that needs the lock; returns whether it had to wait.

    SQLite's own waiting grows to a tenth of a second between looks, so that whoever has waited longest comes last;
    looking at short random intervals gives everybody the same chance.
    """
    give_up = time.monotonic() + patience_s
    waited = False
    while True:
        try:
            connection.execute(statement)
            return waited
        except sqlite3.OperationalError as cause:
            if not is_busy(cause):
                raise
            if time.monotonic() > give_up:
                raise _locked_out(path, patience_s) from cause
        waited = True
        time.sleep(random.uniform(_SHORTEST_S, _LONGEST_S))  # noqa: S311 - no secret depends on it


def begin(connection: sqlite3.Connection, path: Path, patience_s: float = PATIENCE_S) -> bool:
    """Begin a transaction that may write."""
    return patiently(connection, "BEGIN IMMEDIATE", path, patience_s)


def _locked_out(path: Path, patience_s: float) -> StoreError:
    return StoreError(
        f"another process kept the store locked for {patience_s:g} s",
        kind="busy",
        hint="wait for it, or stop it, then resume",
        where=str(path),
    )
