"""Flushing the write-ahead log to the disk, in a thread of its own, for those who wait for that.

A commit puts rows into the log, where they survive the end of this process; a flush makes them survive a loss of
power. A flush takes milliseconds, and whoever needs no flush must not wait behind one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from viva.core.faultpoint import fault

T = TypeVar("T")

_BINARY = getattr(os, "O_BINARY", 0)


class Flusher(Generic[T]):
    """Flushes the log once for everything that was handed over meanwhile, then says so."""

    def __init__(self, path: Path, then: Callable[[list[T], Exception | None], None]) -> None:
        self._log = f"{path}-wal"
        self._folder = str(path.parent)
        self._then = then
        self._file: int | None = None
        self._queue: SimpleQueue[list[T] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="viva-store-flusher", daemon=True)
        self._thread.start()

    def hand_over(self, committed: list[T]) -> None:
        """Flush what is committed, and call back with it; with what went wrong, when something did."""
        self._queue.put(committed)

    def close(self) -> None:
        """Flush all that is committed; blocks until that is done."""
        self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        is_open = True
        while is_open:
            committed, is_open = self._take()
            if committed:
                self._then(committed, self._flush())
        self._flush()  # For those who did not wait; when it fails, nobody was told otherwise.
        if self._file is not None:
            os.close(self._file)

    def _take(self) -> tuple[list[T], bool]:
        found = self._queue.get()
        committed: list[T] = []
        while found is not None:
            committed += found
            try:
                found = self._queue.get_nowait()
            except Empty:
                return committed, True
        return committed, False

    def _flush(self) -> Exception | None:
        try:
            fault("store.flush")
            if self._file is None:
                self._file = self._open()
            os.fsync(self._file)
            fault("store.flushed")
        except Exception as cause:
            return cause
        return None

    def _open(self) -> int:
        # The log was made when the store was opened; its name must survive as well as its content.
        if os.name == "posix":
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        return os.open(self._log, os.O_RDWR | _BINARY)
