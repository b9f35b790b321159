"""A clock that stands still until it is told to move."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta


class FakeClock:
    """Sleeping moves the time on at once; the wall clock may be set to anything without the other noticing."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._seconds = 0.0
        self._now = now
        self.slept: list[float] = []
        """Every wait, in order."""

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return self._seconds

    def now(self) -> datetime:
        """The date and time, in UTC."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Move the time on, and let the others run."""
        self.slept.append(seconds)
        self.advance(seconds)
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        """Move both clocks on."""
        self._seconds += seconds
        self._now += timedelta(seconds=seconds)

    def jump(self, by: timedelta) -> None:
        """Set the wall clock alone, as a user or a time server does."""
        self._now += by
