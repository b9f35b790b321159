"""Everything that is asked of the store."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec

from viva.core.case import Case
from viva.core.data import replace
from viva.core.errors import StoreError
from viva.core.evidence import Evidence
from viva.core.run import Run
from viva.core.score import AnyScore, TrialResult
from viva.ports.store import Tally
from viva.store import bodies

T = TypeVar("T")

_PAGE_ROWS = 200
_PAGE_BYTES = 4_000_000
"""A page ends when either is reached, so that memory does not depend on the size of a run or of its bodies."""


class Place(NamedTuple):
    """Where a trial stands in the plan."""

    ordinal: int = -1
    variant: int = -1
    repeat: int = -1
    key: str = ""


BEGINNING = Place()


class Page(NamedTuple):
    """A few rows in the order of the plan, and where the next page begins; None after the last."""

    rows: list[Any]
    next: Place | None


_RUN = (
    "SELECT r.run, r.body, s.status, s.reason, s.at FROM runs r LEFT JOIN states s ON s.seq ="
    " (SELECT max(seq) FROM states WHERE run = r.run)"
)


def find_run(name: str, connection: sqlite3.Connection) -> tuple[int, Run]:
    """A run by its id, by `latest`, or by the beginning of an id that no other run shares."""
    if name == "latest":
        found = connection.execute(f"{_RUN} ORDER BY r.run DESC LIMIT 1").fetchall()
    else:
        found = connection.execute(f"{_RUN} WHERE r.id = ?", (name,)).fetchall() or _by_prefix(connection, name)
    if len(found) == 1:
        return found[0][0], _run(found[0])
    raise _no_such_run(name, [_run(row).id for row in found])


def list_runs(suite: str | None, connection: sqlite3.Connection) -> list[Run]:
    """All runs, newest first."""
    where, values = ("", ()) if suite is None else (" WHERE r.suite = ?", (suite,))
    return [_run(row) for row in connection.execute(f"{_RUN}{where} ORDER BY r.run DESC", values)]


def count(run: int, connection: sqlite3.Connection) -> Tally:
    """How far a run has come."""
    planned = bodies.RUN.decode(connection.execute("SELECT body FROM runs WHERE run = ?", (run,)).fetchone()[0]).planned
    (evidence,) = connection.execute("SELECT count(*) FROM evidence WHERE run = ?", (run,)).fetchone()
    (results,) = connection.execute("SELECT count(*) FROM results WHERE run = ? AND scoring = ''", (run,)).fetchone()
    return Tally(planned=planned, evidence=evidence, results=results)


def list_cases(run: int, connection: sqlite3.Connection) -> list[Case]:
    """The cases of a run, in order."""
    rows = connection.execute(
        "SELECT b.encoding, b.body FROM cases c JOIN bodies b ON b.hash = c.hash WHERE c.run = ? ORDER BY c.ordinal",
        (run,),
    )
    return [bodies.CASE.decode(bodies.unpack(*row)) for row in rows]


def evidence_keys(run: int, connection: sqlite3.Connection) -> set[str]:
    """Keys of trials whose evidence is stored."""
    return {key for (key,) in connection.execute("SELECT key FROM evidence WHERE run = ?", (run,))}


def result_keys(run: int, scoring: str, connection: sqlite3.Connection) -> set[str]:
    """Keys of trials that are scored."""
    rows = connection.execute("SELECT key FROM results WHERE run = ? AND scoring = ?", (run, scoring))
    return {key for (key,) in rows}


def list_scorings(run: int, connection: sqlite3.Connection) -> list[str]:
    """Names of the re-scorings, oldest first."""
    rows = connection.execute(
        "SELECT scoring FROM results WHERE run = ? AND scoring <> '' GROUP BY scoring ORDER BY min(seq)", (run,)
    )
    return [name for (name,) in rows]


_EVIDENCE = (
    'SELECT e.ordinal, e.variant, e.repeat, e.key, e."case", e.body, b.encoding, b.body'
    " FROM evidence e LEFT JOIN bodies b ON b.hash = e.hash WHERE e.run = ?"
)
_RESULT = (
    "SELECT r.ordinal, r.variant, r.repeat, r.key, r.result, r.scores, b.encoding, b.body"
    " FROM results r LEFT JOIN bodies b ON b.hash = r.hash WHERE r.run = ? AND r.scoring = ?"
)


def one_evidence(run: int, key: str, connection: sqlite3.Connection) -> Evidence:
    """The evidence of one trial."""
    row = connection.execute(f"{_EVIDENCE} AND e.key = ?", (run, key)).fetchone()
    if row is None:
        raise StoreError(f"no evidence of trial {key!r} is stored", kind="not_found")
    return _evidence(connection, {}, row)


def one_result(run: int, key: str, scoring: str, connection: sqlite3.Connection) -> tuple[TrialResult, list[AnyScore]]:
    """The result of one trial, with its scores."""
    row = connection.execute(f"{_RESULT} AND r.key = ?", (run, scoring, key)).fetchone()
    if row is None:
        named = f" under the scoring {scoring!r}" if scoring else ""
        raise StoreError(f"trial {key!r} is not scored{named}", kind="not_found")
    return _result(row)


def evidence_page(run: int, after: Place, connection: sqlite3.Connection) -> Page:
    """The next few pieces of evidence in the order of the plan."""
    rows = connection.execute(
        f"{_EVIDENCE} AND (e.ordinal, e.variant, e.repeat, e.key) > (?, ?, ?, ?)"
        " ORDER BY e.ordinal, e.variant, e.repeat, e.key",
        (run, *after),
    )
    return _page(rows, partial(_evidence, connection, {}))


def result_page(run: int, scoring: str, after: Place, connection: sqlite3.Connection) -> Page:
    """The next few results in the order of the plan."""
    rows = connection.execute(
        f"{_RESULT} AND (r.ordinal, r.variant, r.repeat, r.key) > (?, ?, ?, ?)"
        " ORDER BY r.ordinal, r.variant, r.repeat, r.key",
        (run, scoring, *after),
    )
    return _page(rows, _result)


def _page(rows: Iterator[tuple[Any, ...]], read: Callable[[tuple[Any, ...]], Any]) -> Page:
    found: list[Any] = []
    size = 0
    for row in rows:
        found.append(read(row))
        size += len(row[5] or row[7])
        if len(found) >= _PAGE_ROWS or size >= _PAGE_BYTES:
            return Page(found, Place(*row[:4]))
    return Page(found, None)


def _evidence(connection: sqlite3.Connection, cases: dict[bytes, Case], row: tuple[Any, ...]) -> Evidence:
    evidence = _decode(bodies.EVIDENCE, _inline_or_apart(row), row[3])
    return replace(evidence, case=_case(connection, cases, row[4]))


def _case(connection: sqlite3.Connection, cases: dict[bytes, Case], name: bytes) -> Case:
    if name not in cases:
        row = connection.execute("SELECT encoding, body FROM bodies WHERE hash = ?", (name,)).fetchone()
        cases.clear()  # In the order of the plan the trials of a case stand together: one is enough.
        cases[name] = bodies.CASE.decode(bodies.unpack(*row))
    return cases[name]


def _result(row: tuple[Any, ...]) -> tuple[TrialResult, list[AnyScore]]:
    return _decode(bodies.RESULT, row[4], row[3]), _decode(bodies.SCORES, _inline_or_apart(row), row[3])


def _inline_or_apart(row: tuple[Any, ...]) -> bytes:
    inline: bytes | None = row[5]
    return bodies.unpack(row[6], row[7]) if inline is None else inline


def _decode(decoder: msgspec.json.Decoder[T], raw: bytes, key: str) -> T:
    try:
        return decoder.decode(raw)
    except msgspec.MsgspecError as cause:
        raise StoreError(f"what is stored of trial {key!r} cannot be read: {cause}", kind="corrupt") from cause


def _by_prefix(connection: sqlite3.Connection, name: str) -> list[Any]:
    return connection.execute(
        f"{_RUN} WHERE substr(r.id, 1, length(?1)) = ?1 AND ?1 <> '' ORDER BY r.run DESC", (name,)
    ).fetchall()


def _run(row: tuple[Any, ...]) -> Run:
    run = bodies.RUN.decode(row[1])
    if row[2] is None:
        return run
    return replace(run, status=row[2], reason=row[3], finished_at="" if row[2] == "running" else row[4])


def _no_such_run(name: str, matches: list[str]) -> StoreError:
    if matches:
        return StoreError(
            f"{len(matches)} runs begin with {name!r}", kind="ambiguous", hint="one of: " + ", ".join(matches[:5])
        )
    if name == "latest":
        return StoreError("there are no runs in this store", kind="not_found", hint="run a suite first")
    return StoreError(f"there is no run {name!r}", kind="not_found", hint="`viva list` shows the runs")
