"""Claims: which process works on which trial of a run, so that two never work on the same one.

A lease belongs to an owner and covers all its claims. It ends when its time is over or when its process is dead.
Time is the monotonic clock wherever owner and asker share one (one boot of one machine): a jump of the wall clock
neither ends a lease nor keeps it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from viva.core.clock import Clock
from viva.core.faultpoint import fault
from viva.store.liveness import Holder, is_dead, this_process


class Moment(NamedTuple):
    """Now, on both clocks."""

    mono: float
    wall: float


class Lease(NamedTuple):
    """Who asks, and for how long."""

    owner: str
    seconds: float


def moment(clock: Clock) -> Moment:
    """Look at both clocks."""
    return Moment(clock.monotonic(), clock.now().timestamp())


def claim(connection: sqlite3.Connection, run: int, keys: Sequence[str], lease: Lease, now: Moment) -> list[str]:
    """Take what nobody holds and nobody has finished."""
    fault("store.statement")
    owner = lease.owner
    _drop_ended(connection, run, owner, now)
    _write_lease(connection, run, lease, now)
    _forget_finished(connection, run, owner)
    connection.executemany(
        "INSERT OR IGNORE INTO claims (run, key, owner) SELECT ?1, ?2, ?3 WHERE NOT EXISTS"
        " (SELECT 1 FROM results WHERE run = ?1 AND scoring = '' AND key = ?2)",
        ((run, key, owner) for key in keys),
    )
    held = {key for (key,) in connection.execute("SELECT key FROM claims WHERE run = ? AND owner = ?", (run, owner))}
    return [key for key in dict.fromkeys(keys) if key in held]


def heartbeat(connection: sqlite3.Connection, run: int, lease: Lease, now: Moment) -> None:
    """Prolong a lease that still stands; one that was taken away is not given back."""
    fault("store.statement")
    connection.execute(
        "UPDATE leases SET lease_s = ?, until_mono = ?, until_wall = ? WHERE run = ? AND owner = ?",
        (lease.seconds, now.mono + lease.seconds, now.wall + lease.seconds, run, lease.owner),
    )


def release(connection: sqlite3.Connection, run: int, owner: str) -> None:
    """Give up a lease and all it covers."""
    fault("store.statement")
    connection.execute("DELETE FROM claims WHERE run = ? AND owner = ?", (run, owner))
    connection.execute("DELETE FROM leases WHERE run = ? AND owner = ?", (run, owner))


def _forget_finished(connection: sqlite3.Connection, run: int, owner: str) -> None:
    # Keeps the list of claims as short as the work in hand, however long the run.
    connection.execute(
        "DELETE FROM claims WHERE run = ?1 AND owner = ?2 AND EXISTS"
        " (SELECT 1 FROM results r WHERE r.run = ?1 AND r.scoring = '' AND r.key = claims.key)",
        (run, owner),
    )


def _write_lease(connection: sqlite3.Connection, run: int, lease: Lease, now: Moment) -> None:
    until = (lease.seconds, now.mono + lease.seconds, now.wall + lease.seconds)
    connection.execute(
        "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        (run, lease.owner, *this_process(), *until),
    )


def _drop_ended(connection: sqlite3.Connection, run: int, owner: str, now: Moment) -> None:
    others = connection.execute(
        "SELECT owner, space, pid, started, lease_s, until_mono, until_wall FROM leases WHERE run = ? AND owner <> ?",
        (run, owner),
    ).fetchall()
    for name, space, pid, started, lease_s, until_mono, until_wall in others:
        holder = Holder(space, pid, started)
        if _is_over(holder, lease_s, until_mono, until_wall, now) or is_dead(holder):
            release(connection, run, name)


def _is_over(holder: Holder, lease_s: float, until_mono: float, until_wall: float, now: Moment) -> bool:
    shares_clock = holder.space == this_process().space
    at, until = (now.mono, until_mono) if shares_clock else (now.wall, until_wall)
    # A lease that seems to begin in the future was written before the clock was set back (or before a reboot).
    return at >= until or until - lease_s > at + 1.0
