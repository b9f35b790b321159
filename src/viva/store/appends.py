"""Adding evidence and results: many rows in one statement.

Every step of a statement that a thread executes costs two hand-overs of the interpreter lock, which hurts while the
event loop is busy; so the rows of a batch are inserted together, in chunks of few different sizes (each statement is
prepared once), and only where a row was refused is it asked which.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from viva.core.errors import StoreError
from viva.core.faultpoint import fault
from viva.store.bodies import Body, pack

T = TypeVar("T")

_LARGEST_CHUNK = 64
_COARSE = 8
"""Chunks of more rows than this have a multiple of it."""


class Insert(NamedTuple):
    """How the rows of one table are added; a row that is already there is left as it is."""

    table: str
    columns: str
    row: str
    identity: str
    """The columns that name a row, as they stand at the beginning of its parameters."""


BODIES = Insert("bodies", "hash, encoding, size, body", "(?, ?, ?, ?)", "hash")

EVIDENCE = Insert(
    "evidence",
    'run, key, ordinal, variant, repeat, ending, ok, "case", hash, body',
    "(?, ?, (SELECT ordinal FROM cases WHERE run = ? AND id = ?), ?, ?, ?, ?, ?, ?, ?)",
    "run, key",
)

RESULTS = Insert(
    "results",
    "run, scoring, key, ordinal, variant, repeat, outcome, score, result, hash, scores",
    "(?, ?, ?, (SELECT ordinal FROM cases WHERE run = ? AND id = ?), "
    "coalesce((SELECT variant FROM evidence WHERE run = ? AND key = ?), 0), ?, ?, ?, ?, ?, ?)",
    "run, scoring, key",
)


class Append(NamedTuple):
    """One row to add, and the bodies it refers to."""

    insert: Insert
    identity: tuple[Any, ...]
    rest: tuple[Any, ...]
    bodies: tuple[Body, ...]
    trial: str


def write_appends(connection: sqlite3.Connection, appends: Sequence[Append]) -> list[bool]:
    """Add rows; says of each whether it was new."""
    bodies = {body.hash: body for append in appends for body in append.bodies}
    if bodies:
        for rows in chunks([pack(body) for body in bodies.values()]):
            _insert(connection, BODIES, rows)
    added: set[tuple[Any, ...]] = set()
    for insert in (EVIDENCE, RESULTS):
        mine = [append for append in appends if append.insert is insert]
        for chunk in chunks(mine):
            added.update(_add(connection, insert, chunk))
    return [_taken(added, append) for append in appends]


def _add(connection: sqlite3.Connection, insert: Insert, appends: Sequence[Append]) -> Iterable[tuple[Any, ...]]:
    """Add rows of one table; the identities of those that were new."""
    try:
        done = _insert(connection, insert, [append.identity + append.rest for append in appends])
    except sqlite3.IntegrityError as cause:
        if "NOT NULL" not in str(cause):
            raise
        raise StoreError(
            f"trial {appends[0].trial!r} is of a case that its run does not have",
            kind="foreign_trial",
            hint="a run keeps the cases it was created with; fork it to add others",
        ) from cause
    if done.rowcount == len(appends):
        return [append.identity for append in appends]
    return _last(connection, insert, done) if done.rowcount else ()


def _last(connection: sqlite3.Connection, insert: Insert, done: sqlite3.Cursor) -> list[tuple[Any, ...]]:
    # Rows are numbered one after the other, so those of the last statement are the last so many.
    question = f"SELECT {insert.identity} FROM {insert.table} WHERE seq > ?"  # noqa: S608 - names of our own
    return connection.execute(question, ((done.lastrowid or 0) - done.rowcount,)).fetchall()


def _taken(added: set[tuple[Any, ...]], append: Append) -> bool:
    # Of two equal rows in one batch only the first was new.
    if append.identity in added:
        added.discard(append.identity)
        return True
    return False


def _insert(connection: sqlite3.Connection, insert: Insert, rows: Sequence[tuple[Any, ...]]) -> sqlite3.Cursor:
    fault("store.statement")
    return connection.execute(_statement(insert, len(rows)), tuple(chain.from_iterable(rows)))


def chunks(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """The parts that are added by one statement each."""
    at = 0
    while at < len(rows):
        left = min(_LARGEST_CHUNK, len(rows) - at)
        size = left if left <= _COARSE else left - left % _COARSE
        yield rows[at : at + size]
        at += size


@cache
def _statement(insert: Insert, size: int) -> str:
    rows = ", ".join([insert.row] * size)
    head = f"INSERT INTO {insert.table} ({insert.columns})"
    return f"{head} VALUES {rows} ON CONFLICT ({insert.identity}) DO NOTHING"
