"""The run's purse: who wants to spend asks first, and pays afterwards."""

from __future__ import annotations

from typing import Protocol

from viva.core.usage import Usage


class Meter(Protocol):
    """Counts tokens and money of a whole run.

    Every `reserve` that returned is followed by exactly one `charge`: of what the call used, or of `NO_USAGE` when it
    failed. So calls that are still under way count against the ceiling, and it is not passed by asking all at once.
    """

    def reserve(self, cost_usd: float | None, tokens: int | None) -> None:
        """Ask for a call of at most this size (None: not known). Raises LimitError (`budget`) when it would exceed."""
        ...

    def charge(self, usage: Usage) -> None:
        """Count what the reserved call really used."""
        ...
