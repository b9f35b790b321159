"""Stopping: the first signal drains and saves, the second stops now."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

GRACE_S = 10.0
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


class Stopper:
    """What the user asked for: nothing, to finish what is in flight, or to stop now."""

    def __init__(self) -> None:
        self.asked = 0
        """How often the user asked."""
        self.by = 0
        """The number of the first signal; 0 when nobody asked, or when a program did."""
        self._listeners: list[Callable[[], None]] = []

    @property
    def exit_code(self) -> int:
        """What a process that was stopped so exits with: 130 for SIGINT, 143 for SIGTERM, 129 for SIGHUP."""
        return 128 + (self.by or signal.SIGINT)

    def ask(self, number: int = 0) -> None:
        """Ask to stop; a second time: to stop now."""
        self.asked += 1
        self.by = self.by or number
        for listener in self._listeners:
            listener()

    def on_ask(self, listener: Callable[[], None]) -> None:
        """Have something called, within the event loop, whenever the user asks."""
        self._listeners.append(listener)


@contextmanager
def signals_heard(stopper: Stopper) -> Iterator[None]:
    """Let SIGINT, SIGTERM and SIGHUP ask the stopper while the run lasts; only a main thread hears signals."""
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}
    try:
        for number in SIGNALS:
            kept = signal.getsignal(number)
            _hear(loop, number, stopper)
            before[number] = kept
    except (ValueError, RuntimeError):
        pass  # Not the main thread: whoever started us there stops us through the stopper.
    try:
        yield
    finally:
        for number, handler in before.items():
            _unhear(loop, number)
            signal.signal(number, handler)


def _hear(loop: asyncio.AbstractEventLoop, number: int, stopper: Stopper) -> None:
    try:
        loop.add_signal_handler(number, stopper.ask, number)
    except NotImplementedError:  # Windows: the handler runs between steps of the loop.

        def handler(number: int, _frame: FrameType | None) -> None:
            loop.call_soon_threadsafe(stopper.ask, number)

        signal.signal(number, handler)


def _unhear(loop: asyncio.AbstractEventLoop, number: int) -> None:
    try:
        loop.remove_signal_handler(number)
    except NotImplementedError:
        return
