"""Bringing a store to the schema of this program: numbered steps, each in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from viva.core.errors import StoreError
from viva.core.faultpoint import fault
from viva.store.locking import begin
from viva.version import __version__

APPLICATION_ID = 0x76697661  # "viva"


class Migration(NamedTuple):
    """One step from a schema to the next."""

    number: int
    name: str
    statements: tuple[str, ...]


@cache
def migrations() -> tuple[Migration, ...]:
    """All steps this program knows, in order."""
    folder = files("viva.store") / "migrations"
    found = sorted(item.name for item in folder.iterdir() if item.name.endswith(".sql"))
    return tuple(
        Migration(int(name[:4]), name[5:-4], tuple(statements((folder / name).read_text("utf-8")))) for name in found
    )


def statements(script: str) -> list[str]:
    """Split a script, so that a fault can be tried between any two of its statements."""
    found: list[str] = []
    pending = ""
    for line in script.splitlines(keepends=True):
        if not pending.strip() and (not line.strip() or line.lstrip().startswith("--")):
            continue
        pending += line
        if sqlite3.complete_statement(pending):
            found.append(pending.strip())
            pending = ""
    return found


def migrate(connection: sqlite3.Connection, path: Path, steps: Sequence[Migration]) -> None:
    """Apply what is missing; a kill at any moment leaves the old schema or the new one."""
    while missing := _missing(connection, path, steps):
        _apply(connection, path, missing[0])


def check(connection: sqlite3.Connection, path: Path, steps: Sequence[Migration]) -> None:
    """Refuse a store that cannot be read without migrating it, as a read-only opening may not."""
    if _missing(connection, path, steps):
        raise StoreError(
            "the store has an older schema and was opened for reading only",
            kind="old_schema",
            hint="open it once with a command that may write, such as `viva list`",
            where=str(path),
        )


def _missing(connection: sqlite3.Connection, path: Path, steps: Sequence[Migration]) -> list[Migration]:
    version = _version(connection)
    newest = steps[-1].number
    if version > newest:
        raise StoreError(
            f"written by version {_writer(connection)} (schema {version}), you have {__version__} (schema {newest})",
            kind="newer_schema",
            hint="upgrade viva, or choose another store",
            where=str(path),
        )
    if version == 0 and connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
        raise StoreError("this SQLite file is not a viva store", kind="not_a_store", where=str(path))
    return [step for step in steps if step.number > version]


def _apply(connection: sqlite3.Connection, path: Path, step: Migration) -> None:
    begin(connection, path)
    try:
        if _version(connection) < step.number:  # Another process may have been faster.
            for statement in step.statements:
                fault("store.migrate")
                connection.execute(statement)
            fault("store.migrate")
            connection.execute("INSERT OR REPLACE INTO about VALUES ('viva_version', ?)", (__version__,))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {step.number}")
        fault("store.migrate")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    fault("store.migrated")


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _writer(connection: sqlite3.Connection) -> str:
    try:
        row = connection.execute("SELECT value FROM about WHERE name = 'viva_version'").fetchone()
    except sqlite3.Error:
        return "unknown"
    return str(row[0]) if row else "unknown"
