"""Time as an injected thing: durations from the monotonic clock, dates from the wall clock."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """What the engine and the model clients know of time."""

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        ...

    def now(self) -> datetime:
        """The date and time, in UTC."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The real clock."""

    def monotonic(self) -> float:
        """Seconds that never go backwards."""
        return time.monotonic()

    def now(self) -> datetime:
        """The date and time, in UTC."""
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)
