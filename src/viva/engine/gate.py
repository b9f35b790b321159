"""The gate of an endpoint: how many sessions may talk to it at once, and when it asked us to wait."""

from __future__ import annotations

import asyncio

from viva.core.clock import Clock
from viva.core.usage import Usage


class Gate:
    """One endpoint's slots. When the endpoint says "later", every session waits, not only the one that was told."""

    def __init__(self, slots: int, clock: Clock) -> None:
        self.slots = asyncio.Semaphore(max(1, slots))
        self._clock = clock
        self._closed_until = 0.0
        self.dearest_usd: float | None = None
        """The most one reply has cost so far: what the next one is expected to cost at most."""
        self.dearest_tokens: int | None = None

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
