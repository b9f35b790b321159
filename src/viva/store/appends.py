"""Adding evidence and results: many rows in one statement.

Every statement that a thread executes costs two hand-overs of the interpreter lock, which hurts while the event
loop is busy; so the rows of a batch are inserted together, in chunks whose sizes are powers of two (few different
statements, each prepared once).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from viva.core.errors import StoreError
from viva.core.faultpoint import fault
from viva.store.bodies import Body, pack

_LARGEST_CHUNK = 64


class Insert(NamedTuple):
    """How the rows of one table are added; a row that is already there is left as it is."""

    head: str
    row: str
    identity: str
    """The columns that name a row, as they stand at the beginning of its parameters."""


BODIES = Insert("INSERT INTO bodies (hash, encoding, size, body)", "(?, ?, ?, ?)", "hash")

EVIDENCE = Insert(
    'INSERT INTO evidence (run, key, ordinal, variant, repeat, ending, ok, "case", hash, body)',
    "(?, ?, (SELECT ordinal FROM cases WHERE run = ? AND id = ?), ?, ?, ?, ?, ?, ?, ?)",
    "run, key",
)

RESULTS = Insert(
    "INSERT INTO results (run, scoring, key, ordinal, variant, repeat, outcome, score, result, hash, scores)",
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
        _insert(connection, BODIES, [pack(body) for body in bodies.values()])
    added: set[tuple[Any, ...]] = set()
    for insert in (EVIDENCE, RESULTS):
        mine = [append for append in appends if append.insert is insert]
        if mine:
            added |= _add(connection, insert, mine)
    return [_taken(added, append) for append in appends]


def _add(connection: sqlite3.Connection, insert: Insert, appends: list[Append]) -> set[tuple[Any, ...]]:
    try:
        return _insert(connection, insert, [append.identity + append.rest for append in appends])
    except sqlite3.IntegrityError as cause:
        if "NOT NULL" not in str(cause):
            raise
        raise StoreError(
            f"trial {appends[0].trial!r} is of a case that its run does not have",
            kind="foreign_trial",
            hint="a run keeps the cases it was created with; fork it to add others",
        ) from cause


def _taken(added: set[tuple[Any, ...]], append: Append) -> bool:
    # Of two equal rows in one batch only the first was new.
    if append.identity in added:
        added.discard(append.identity)
        return True
    return False


def _insert(connection: sqlite3.Connection, insert: Insert, rows: Sequence[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
    added: set[tuple[Any, ...]] = set()
    at = 0
    while at < len(rows):
        size = min(_LARGEST_CHUNK, 1 << (len(rows) - at).bit_length() - 1)
        fault("store.statement")
        found = connection.execute(_statement(insert, size), tuple(chain.from_iterable(rows[at : at + size])))
        added.update(found.fetchall())
        at += size
    return added


@cache
def _statement(insert: Insert, size: int) -> str:
    rows = ", ".join([insert.row] * size)
    return f"{insert.head} VALUES {rows} ON CONFLICT ({insert.identity}) DO NOTHING RETURNING {insert.identity}"
