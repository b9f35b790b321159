"""Ceilings for a trial and a run, and the policy for trying again."""

from __future__ import annotations

from viva.core.data import Data


class Limits(Data, frozen=True):
    """Ceilings of one trial. None means no ceiling."""

    seconds: float | None = 600.0
    """For the whole trial: stage, conversation and observations."""
    turn_seconds: float = 120.0
    """For one reply, from sending to the last byte."""
    turns: int | None = 40
    """A turn is a pair: one user message and its reply."""
    bytes: int = 10_000_000
    """For one reply, counted after decompression."""
    tokens: int | None = None
    cost_usd: float | None = None


class RunLimits(Data, frozen=True):
    """Ceilings of a whole run. None means no ceiling."""

    seconds: float | None = None
    tokens: int | None = None
    cost_usd: float | None = None
    trials: int | None = None


class Retry(Data, frozen=True):
    """How often, and after what wait, a failed message is sent again."""

    attempts: int = 4
    backoff_s: float = 0.1
    factor: float = 1.0
    """Each wait is the one before times this; 1 keeps it fixed."""
    longest_s: float = 30.0

    def wait_s(self, failures: int) -> float:
        """The wait after so many failures (1 or more)."""
        return min(self.longest_s, self.backoff_s * self.factor ** (failures - 1))
