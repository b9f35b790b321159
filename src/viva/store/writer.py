"""The one writer: a thread that commits whatever has queued up while it was busy, in one transaction.

A commit costs more than a row, so rows share commits. Nothing waits on purpose: while one commit is under way the
next batch gathers by itself. What must survive a loss of power is handed to the flusher after its commit.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from viva.core.errors import StoreError
from viva.core.faultpoint import fault
from viva.store.appends import Append, chunks, write_appends
from viva.store.failure import DISK_KINDS, explain, kind_of
from viva.store.flusher import Flusher
from viva.store.locking import begin, patiently
from viva.store.presence import Presence

_MOST_JOBS = 512
_MOST_BYTES = 16_000_000
_MANNERS_S = 0.002

Work = Callable[[sqlite3.Connection], Any]


class Job:
    """One thing to write, and who waits for it."""

    __slots__ = ("answer", "error", "flushed", "future", "loop", "size", "what")

    def __init__(self, what: Append | Work, size: int, flushed: bool, loop: asyncio.AbstractEventLoop) -> None:
        self.what = what
        self.size = size
        self.flushed = flushed
        self.loop = loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.answer: Any = None
        self.error: StoreError | None = None


class Writer:
    """Commits jobs in groups; a job's future is resolved after its commit, and its flush where it asks for one."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._presence = Presence(path)
        self._inbox: deque[Job] = deque()
        self._bell: SimpleQueue[bool] = SimpleQueue()
        """Rung with True when there are jobs, with False when there will be no more."""
        self._ringing: asyncio.AbstractEventLoop | None = None
        self._contended = False
        self._closed = False
        self.failure: StoreError | None = None
        self._flusher: Flusher[Job] = Flusher(path, self._on_flushed)
        self._thread = threading.Thread(target=self._serve, name="viva-store-writer", daemon=True)
        self._thread.start()

    def submit(self, what: Append | Work, size: int = 0, *, flushed: bool = True) -> asyncio.Future[Any]:
        """Queue a job; its future is done when it survives a loss of power or, not flushed, a kill of this process."""
        if self.failure is not None or self._closed:
            raise self.failure or StoreError("the store is closed", kind="closed", where=str(self._path))
        loop = asyncio.get_running_loop()
        job = Job(what, size, flushed, loop)
        self._inbox.append(job)
        if self._ringing is not loop:
            # Once for all jobs of this turn of the loop: waking a thread costs more than a job, and so does a commit.
            self._ringing = loop
            loop.call_soon(self._ring)
        return job.future

    def _ring(self) -> None:
        self._ringing = None
        self._bell.put(True)

    def close(self) -> None:
        """Commit what is queued, then release the file; blocks until that is done."""
        if not self._closed:
            self._closed = True
            self._bell.put(False)
        self._thread.join()

    def _serve(self) -> None:
        is_open = True
        while is_open:
            is_open = self._bell.get()
            while batch := self._take():
                for group in _groups(batch):
                    self._write(group)
                    self._acknowledge(group)
        self._flusher.close()
        self._connection.close()

    def _acknowledge(self, batch: list[Job]) -> None:
        unflushed = [job for job in batch if job.flushed and job.error is None]
        if len(unflushed) < len(batch):
            _settle([job for job in batch if not job.flushed or job.error is not None])
        if unflushed:
            self._flusher.hand_over(unflushed)

    def _on_flushed(self, batch: list[Job], cause: Exception | None) -> None:
        if cause is not None:
            self._refuse(batch, cause)
            # Whatever the cause: the system may not report pages that it failed to write a second time.
            self.failure = self.failure or batch[0].error
        _settle(batch)

    def _take(self) -> list[Job]:
        batch: list[Job] = []
        size = 0
        while self._inbox and len(batch) < _MOST_JOBS and size < _MOST_BYTES:
            batch.append(self._inbox.popleft())
            size += batch[-1].size
        return batch

    def _write(self, batch: list[Job]) -> None:
        try:
            self._transact(batch)
        except Exception as cause:
            self._blame(batch, cause)

    def _blame(self, batch: list[Job], cause: Exception) -> None:
        kind = kind_of(cause, self._path)
        if len(batch) > 1 and kind not in DISK_KINDS and kind != "busy":
            for job in batch:  # One of them is at fault; the others must not suffer for it.
                self._write([job])
            return
        self._refuse(batch, cause)

    def _refuse(self, batch: list[Job], cause: Exception) -> None:
        doing = f"writing {len(batch)} facts" if len(batch) > 1 else "writing"
        error = explain(cause, self._path, doing, sum(job.size for job in batch))
        if error.kind in DISK_KINDS and self.failure is None:
            self.failure = error
        for job in batch:
            job.error = error

    def _transact(self, batch: list[Job]) -> None:
        if self.failure is not None:
            raise self.failure
        self._take_turns()
        if all(_is_swift(job) for job in batch):
            fault("store.begun")
            self._contended = patiently(lambda: self._execute(batch), self._path)[1]
        else:
            self._contended = begin(self._connection, self._path)
            self._execute_together(batch)
        fault("store.committed")
        # Commit before acknowledging: a kill here may leave a row we never reported, and never the reverse.
        self._presence.confirm()

    def _execute_together(self, batch: list[Job]) -> None:
        try:
            fault("store.begun")
            self._execute(batch)
            fault("store.commit")
            self._connection.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _take_turns(self) -> None:
        # Whoever has just committed would win the lock again at once; leave a gap for those who wait.
        if self._contended:
            time.sleep(_MANNERS_S)

    def _execute(self, batch: list[Job]) -> None:
        appends: list[Job] = []
        for job in batch:
            if isinstance(job.what, Append):
                appends.append(job)
            else:
                job.answer = job.what(self._connection)
        if appends:
            kept = write_appends(self._connection, [job.what for job in appends if isinstance(job.what, Append)])
            for job, is_new in zip(appends, kept, strict=True):
                job.answer = is_new

    def _roll_back(self) -> None:
        # SQLite may have rolled back by itself, or be unable to; the cause is already on its way to the caller.
        with suppress(sqlite3.Error):
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def _groups(batch: list[Job]) -> Iterator[list[Job]]:
    """What is committed together: first what waits for no flush, as much at once as one statement can add."""
    swift = [job for job in batch if _is_swift(job)]
    for chunk in chunks(swift):
        yield list(chunk)
    if len(swift) < len(batch):
        yield [job for job in batch if not _is_swift(job)]


def _is_swift(job: Job) -> bool:
    """Whether a job is one row and nothing else: a statement is a transaction by itself, and needs no other two."""
    return not job.flushed and isinstance(job.what, Append) and not job.what.bodies


def _settle(batch: Iterable[Job]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[Job]] = {}
    for job in batch:
        by_loop.setdefault(job.loop, []).append(job)
    for loop, jobs in by_loop.items():
        with suppress(RuntimeError):  # The loop was closed: nobody waits any more.
            loop.call_soon_threadsafe(_resolve, jobs)


def _resolve(jobs: list[Job]) -> None:
    for job in jobs:
        if job.future.done():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.answer)
