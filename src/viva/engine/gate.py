"""The gate of an endpoint: how many sessions may talk to it at once, and when it asked us to wait."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, TypeVar

from viva.core.clock import Clock
from viva.core.usage import Usage

T = TypeVar("T")


class Gate:
    """One endpoint's slots. When the endpoint says "later", every session waits, not only the one that was told."""

    def __init__(self, slots: int, clock: Clock) -> None:
        self._free = max(1, slots)
        self._waiting: deque[tuple[Callable[[], Any], asyncio.Future[Any]]] = deque()
        self._clock = clock
        self._closed_until = 0.0
        self.dearest_usd: float | None = None
        """The most one reply has cost so far: what the next one is expected to cost at most."""
        self.dearest_tokens: int | None = None

    async def enter(self, start: Callable[[], T]) -> T:
        """Wait for a slot, first come first served; what is to be done there starts the moment the slot is free.

        Starting it from the task that waits would come a turn of the event loop later, and the slot would lie idle.
        """
        if self._free:
            self._free -= 1
            return self._begin(start)
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._waiting.append((start, future))
        try:
            return await future
        except asyncio.CancelledError:
            if not future.cancelled() and future.exception() is None:
                self.leave()  # It was given the slot in the same turn, and nobody else will leave it.
            raise

    def leave(self) -> None:
        """Give the slot to who has waited longest."""
        while self._waiting:
            start, future = self._waiting.popleft()
            if future.done():  # It was cancelled while it waited.
                continue
            try:
                future.set_result(start())
                return
            except Exception as error:
                future.set_exception(error)
        self._free += 1

    def _begin(self, start: Callable[[], T]) -> T:
        try:
            return start()
        except BaseException:
            self.leave()
            raise

    def close_for(self, seconds: float) -> None:
        """Let nobody send for so long."""
        self._closed_until = max(self._closed_until, self._clock.monotonic() + seconds)

    async def pass_through(self) -> float:
        """Wait until sending is allowed; returns the milliseconds waited."""
        if self._closed_until == 0.0:
            return 0.0
        began = self._clock.monotonic()
        while (left := self._closed_until - self._clock.monotonic()) > 0:
            await self._clock.sleep(left)
        return (self._clock.monotonic() - began) * 1000

    def learn_price(self, usage: Usage) -> None:
        """Remember the dearest reply."""
        if usage.cost_usd is not None:
            self.dearest_usd = max(self.dearest_usd or 0.0, usage.cost_usd)
        self.dearest_tokens = max(self.dearest_tokens or 0, usage.tokens)
