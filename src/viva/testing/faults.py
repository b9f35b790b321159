"""Faults as small frozen values: what a fake does wrong, and when."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import dataclass

from viva.core.errors import SubjectError


@dataclass(frozen=True, slots=True)
class Hang:
    """Does not answer for so long, once so many messages were answered; `ignores_cancel` makes it deaf as well."""

    after: int = 0
    ignores_cancel: bool = False
    seconds: float = 3600.0

    async def strike(self, count: int) -> None:
        """Happen, if it is time."""
        if count < self.after:
            return
        ends_at = time.monotonic() + self.seconds
        while (left := ends_at - time.monotonic()) > 0:
            try:
                await asyncio.sleep(left)
            except asyncio.CancelledError:
                if not self.ignores_cancel:
                    raise


@dataclass(frozen=True, slots=True)
class Status:
    """Answers with an HTTP status, so many times, once so many messages were answered."""

    status: int
    times: int = 1_000_000
    after: int = 0
    wait_s: float | None = None

    async def strike(self, count: int) -> None:
        """Happen, if it is time."""
        if self.after <= count < self.after + self.times:
            raise SubjectError(
                f"the agent answered with status {self.status}",
                kind="subject_error",
                status=self.status,
                body=f"status {self.status}",
                retryable=self.status == 429 or self.status >= 500,
                fatal=self.status in (401, 403),
                wait_s=self.wait_s,
            )


@dataclass(frozen=True, slots=True)
class Drip:
    """Takes so long for every answer."""

    seconds: float
    after: int = 0

    async def strike(self, count: int) -> None:
        """Happen, if it is time."""
        if count >= self.after:
            await asyncio.sleep(self.seconds)


@dataclass(frozen=True, slots=True)
class Kill:
    """Kills the whole process with a signal, once so many messages were answered."""

    after: int = 0
    signal: int = signal.SIGTERM if os.name == "nt" else signal.SIGKILL

    async def strike(self, count: int) -> None:
        """Happen, if it is time."""
        if count >= self.after:
            os.kill(os.getpid(), self.signal)


@dataclass(frozen=True, slots=True)
class Raise:
    """Raises any exception, so many times, once so many messages were answered."""

    error: BaseException
    times: int = 1_000_000
    after: int = 0

    async def strike(self, count: int) -> None:
        """Happen, if it is time."""
        if self.after <= count < self.after + self.times:
            raise self.error


Fault = Hang | Status | Drip | Kill | Raise
