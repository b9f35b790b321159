"""Replies of models kept on disk, so that the same question is paid for once.

A look-up happens on the event loop itself: an indexed read of a local file takes some ten microseconds, a tenth of
what handing it to a thread would. Writing is a thread's work, and losing the last replies in a crash loses money,
not truth; so commits need not reach the disk one by one, and a cache that cannot be written is reported, not fatal.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import NamedTuple, Self
from urllib.parse import quote

from viva.core.clock import Clock, SystemClock
from viva.core.data import Data, to_json
from viva.core.secret import redactor
from viva.store.failure import explain, kind_of

_FORMAT = 1
_MOST_TOUCHED = 512
_SLACK = 0.05
"""When the cache is full, this share is dropped at once, so that not every new reply pays for an eviction."""

_MANY = "SELECT key, reply FROM replies WHERE key IN (SELECT value FROM json_each(?))"
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS replies (
    key     TEXT PRIMARY KEY,
    model   TEXT NOT NULL,
    reply   BLOB NOT NULL,
    made_at TEXT NOT NULL,
    used    INTEGER NOT NULL,
    hits    INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS replies_by_use ON replies (used);
PRAGMA user_version = {_FORMAT};
"""


class CacheStats(Data, frozen=True):
    """What a cache holds and how often it helped."""

    entries: int = 0
    bytes: int = 0
    hits: int = 0
    """Over the life of the file."""
    session_hits: int = 0
    session_misses: int = 0
    failure: str = ""
    """Why replies are no longer kept; empty while they are."""


class _Put(NamedTuple):
    key: str
    model: str
    reply: bytes


_Touches = dict[str, int]


class SqliteCache:
    """Implements `viva.ports.store.ResponseCache`. Open it with `await SqliteCache.open(path)`."""

    def __init__(self, path: Path, clock: Clock, most_entries: int) -> None:
        self.path = path
        self._clock = clock
        self._most_entries = most_entries
        self._reading = _connect(path)
        self._writing = _connect(path)
        self._pending: dict[str, bytes] = {}
        """Replies on their way to the disk, so that a question asked again at once is answered."""
        self._touched: _Touches = {}
        self._queue: SimpleQueue[_Put | _Touches | None] = SimpleQueue()
        self._hits = self._misses = 0
        self._entries_about = int(self._reading.execute("SELECT count(*) FROM replies").fetchone()[0])
        self.failure = ""
        self._closed = False
        self._thread = threading.Thread(target=self._serve, name="viva-cache-writer", daemon=True)
        self._thread.start()

    @classmethod
    async def open(cls, path: str | Path, *, clock: Clock | None = None, most_entries: int = 200_000) -> Self:
        """Open a cache, creating it; a damaged one is begun anew. Raises StoreError."""
        return await asyncio.to_thread(cls._open, Path(path), clock or SystemClock(), most_entries)

    @classmethod
    def _open(cls, path: Path, clock: Clock, most_entries: int) -> Self:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _prepare(path)
            return cls(path, clock, most_entries)
        except (sqlite3.Error, OSError) as cause:
            raise explain(cause, path, "opening the cache of replies") from cause

    async def get(self, key: str) -> bytes | None:
        """A stored reply, or None; a cache that cannot be read has no reply."""
        reply = self._pending.get(key)
        if reply is None:
            reply = self._look_up(key)
        if reply is None:
            self._misses += 1
            return None
        self._hits += 1
        self._touch(key)
        return reply

    async def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The stored replies among these keys, read in one go."""
        found = {key: reply for key in keys if (reply := self._pending.get(key)) is not None}
        if len(found) < len(keys):
            found.update(self._look_up_many([key for key in keys if key not in found]))
        self._hits += len(found)
        for key in found:
            self._touch(key)
        return found

    async def put(self, key: str, reply: bytes, model: str) -> None:
        """Keep a reply, soon; one that contains a secret is not kept at all."""
        if self.failure or self._closed or redactor.raw(reply) != reply:
            return
        self._pending[key] = reply
        self._queue.put(_Put(key, model, reply))

    async def stats(self) -> CacheStats:
        """Count what is kept."""
        return await asyncio.to_thread(self._stats)

    async def clear(self) -> int:
        """Forget every reply; returns how many there were."""
        return await asyncio.to_thread(self._clear)

    async def close(self) -> None:
        """Write what is queued and release the file."""
        if self._closed:
            return
        self._closed = True
        self._queue.put(self._touched)
        self._queue.put(None)
        await asyncio.to_thread(self._thread.join)
        self._reading.close()

    def _look_up(self, key: str) -> bytes | None:
        try:
            row = self._reading.execute("SELECT reply FROM replies WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as cause:
            self.failure = str(explain(cause, self.path, "reading the cache of replies"))
            return None
        return None if row is None else bytes(row[0])

    def _look_up_many(self, keys: Sequence[str]) -> list[tuple[str, bytes]]:
        # One parameter, however many keys: their number is bounded by nothing.
        wanted = to_json(keys).decode()
        try:
            return self._reading.execute(_MANY, (wanted,)).fetchall()
        except sqlite3.Error as cause:
            self.failure = str(explain(cause, self.path, "reading the cache of replies"))
            return []

    def _touch(self, key: str) -> None:
        self._touched[key] = self._touched.get(key, 0) + 1
        if len(self._touched) >= _MOST_TOUCHED:
            self._queue.put(self._touched)
            self._touched = {}

    def _serve(self) -> None:
        while (first := self._queue.get()) is not None:
            puts, touches, is_last = self._gather(first)
            self._write(puts, touches)
            for put in puts:
                self._forget_pending(put)
            if is_last:
                break
        self._writing.close()

    def _gather(self, first: _Put | _Touches) -> tuple[list[_Put], list[_Touches], bool]:
        puts: list[_Put] = []
        touches: list[_Touches] = []
        item: _Put | _Touches | None = first
        while item is not None:
            if isinstance(item, _Put):
                puts.append(item)
            else:
                touches.append(item)
            try:
                item = self._queue.get_nowait()
            except Empty:
                return puts, touches, False
        return puts, touches, True

    def _forget_pending(self, put: _Put) -> None:
        # A newer reply for the same key may be on its way already.
        if self._pending.get(put.key) is put.reply:
            self._pending.pop(put.key, None)

    def _write(self, puts: list[_Put], touches: list[_Touches]) -> None:
        if self.failure:
            return
        try:
            self._transact(puts, touches)
        except Exception as cause:
            with suppress(sqlite3.Error):
                self._writing.execute("ROLLBACK")
            self.failure = str(explain(cause, self.path, "keeping replies", sum(len(put.reply) for put in puts)))

    def _transact(self, puts: list[_Put], touches: list[_Touches]) -> None:
        made_at = self._clock.now().isoformat()
        write = self._writing
        write.execute("BEGIN IMMEDIATE")
        # Order of use is a counter, not a time: a clock that jumps must not empty the cache.
        (turn,) = write.execute("SELECT coalesce(max(used), 0) + 1 FROM replies").fetchone()
        write.executemany(
            "INSERT INTO replies (key, model, reply, made_at, used) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (key) DO UPDATE SET reply = excluded.reply, model = excluded.model,"
            " made_at = excluded.made_at, used = excluded.used",
            [(put.key, put.model, put.reply, made_at, turn) for put in puts],
        )
        for touched in touches:
            write.executemany(
                "UPDATE replies SET hits = hits + ?, used = ? WHERE key = ?",
                [(hits, turn, key) for key, hits in touched.items()],
            )
        self._entries_about += len(puts)
        if self._entries_about > self._most_entries:
            self._evict(write)
        write.execute("COMMIT")

    def _evict(self, write: sqlite3.Connection) -> None:
        (entries,) = write.execute("SELECT count(*) FROM replies").fetchone()
        too_many = max(0, entries - int(self._most_entries * (1 - _SLACK)))
        write.execute(
            "DELETE FROM replies WHERE rowid IN (SELECT rowid FROM replies ORDER BY used, rowid LIMIT ?)", (too_many,)
        )
        self._entries_about = entries - too_many

    def _stats(self) -> CacheStats:
        connection = _connect(self.path)
        try:
            entries, size, hits = connection.execute(
                "SELECT count(*), coalesce(sum(length(reply)), 0), coalesce(sum(hits), 0) FROM replies"
            ).fetchone()
        finally:
            connection.close()
        return CacheStats(
            entries=entries,
            bytes=size,
            hits=hits,
            session_hits=self._hits,
            session_misses=self._misses,
            failure=self.failure,
        )

    def _clear(self) -> int:
        connection = _connect(self.path)
        try:
            return connection.execute("DELETE FROM replies").rowcount
        finally:
            connection.close()


def _prepare(path: Path) -> None:
    try:
        _create(path)
    except sqlite3.DatabaseError as cause:
        if kind_of(cause, path) != "corrupt":
            raise
        aside = path.with_name(f"{path.name}.damaged-{int(time.time())}")
        path.replace(aside)  # Kept for whoever wants to know; a cache may be empty, it may not be wrong.
        _create(path)


def _create(path: Path) -> None:
    connection = _connect(path)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != _FORMAT:
            connection.executescript(f"BEGIN IMMEDIATE; DROP TABLE IF EXISTS replies; {_SCHEMA} COMMIT;")
    finally:
        connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(str(path))}?mode=rwc", uri=True, isolation_level=None, check_same_thread=False, timeout=10.0
    )
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection
