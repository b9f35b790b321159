"""Adding a run with its cases, and what becomes of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from viva.core.case import Case
from viva.core.errors import StoreError
from viva.core.faultpoint import fault
from viva.core.run import Run, RunStatus
from viva.store.bodies import CASE, RUN, Body, Row, hash_of, pack, seal

_CHUNK = 500


class Created(NamedTuple):
    """A run that was added: its number in this store, and the names of its cases' bodies, in order."""

    number: int
    hashes: list[bytes]


def create_run(connection: sqlite3.Connection, run: Run, cases: Sequence[Case]) -> Created:
    """Add a run and its cases, all or nothing."""
    if connection.execute("SELECT 1 FROM runs WHERE id = ?", (run.id,)).fetchone():
        raise StoreError(f"run {run.id!r} exists already", kind="exists", hint="resume it, or choose another id")
    _refuse_twins(cases)
    fault("store.statement")
    number = connection.execute(
        "INSERT INTO runs (id, suite, body) VALUES (?, ?, ?) RETURNING run",
        (run.id, run.suite, seal(run, RUN, f"run {run.id!r}")),
    ).fetchone()[0]
    hashes: list[bytes] = []
    for start in range(0, len(cases), _CHUNK):  # In chunks, so that a long suite is never in memory twice.
        fault("store.statement")
        hashes += _add_cases(connection, number, start, cases[start : start + _CHUNK])
    return Created(int(number), hashes)


def add_state(connection: sqlite3.Connection, run: int, status: RunStatus, reason: str, at: str) -> None:
    """Say what became of a run."""
    fault("store.statement")
    connection.execute("INSERT INTO states (run, status, reason, at) VALUES (?, ?, ?, ?)", (run, status, reason, at))


def _add_cases(connection: sqlite3.Connection, run: int, start: int, cases: Sequence[Case]) -> list[bytes]:
    rows = list(_rows(cases))
    connection.executemany("INSERT OR IGNORE INTO bodies (hash, encoding, size, body) VALUES (?, ?, ?, ?)", rows)
    connection.executemany(
        "INSERT INTO cases (run, ordinal, id, hash) VALUES (?, ?, ?, ?)",
        [(run, start + i, case.id, row.hash) for i, (case, row) in enumerate(zip(cases, rows, strict=True))],
    )
    return [row.hash for row in rows]


def _rows(cases: Sequence[Case]) -> Iterator[Row]:
    for case in cases:
        raw = seal(case, CASE, f"case {case.id!r}")
        yield pack(Body(hash_of(raw), raw))


def _refuse_twins(cases: Sequence[Case]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise StoreError(f"two cases are called {case.id!r}", kind="twin_cases", hint="give each its own id")
        seen.add(case.id)
