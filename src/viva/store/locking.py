"""Taking turns with the other processes that write the same store."""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from viva.core.errors import StoreError

T = TypeVar("T")

PATIENCE_S = 60.0
_SHORTEST_S, _LONGEST_S = 0.0005, 0.004


def is_busy(cause: BaseException) -> bool:
    """Whether someone else holds the lock."""
    code = getattr(cause, "sqlite_errorcode", None)
    return code is not None and code & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def patiently(act: Callable[[], T], path: Path, patience_s: float = PATIENCE_S) -> tuple[T, bool]:
    """Do something that needs the lock; returns what came of it, and whether it had to wait.

    SQLite's own waiting grows to a tenth of a second between looks, so that whoever has waited longest comes last;
    looking at short random intervals gives everybody the same chance.
    """
    give_up = time.monotonic() + patience_s
    waited = False
    while True:
        try:
            return act(), waited
        except sqlite3.OperationalError as cause:
            if not is_busy(cause):
                raise
            if time.monotonic() > give_up:
                raise _locked_out(path, patience_s) from cause
        waited = True
        time.sleep(random.uniform(_SHORTEST_S, _LONGEST_S))  # noqa: S311 - no secret depends on it


def begin(connection: sqlite3.Connection, path: Path, patience_s: float = PATIENCE_S) -> bool:
    """Begin a transaction that may write; returns whether that had to wait."""
    return patiently(lambda: connection.execute("BEGIN IMMEDIATE"), path, patience_s)[1]


def _locked_out(path: Path, patience_s: float) -> StoreError:
    return StoreError(
        f"another process kept the store locked for {patience_s:g} s",
        kind="busy",
        hint="wait for it, or stop it, then resume",
        where=str(path),
    )
