"""Timings of a conversation, computed from its transcript."""

from __future__ import annotations

from collections.abc import Sequence

from viva.core.data import Data
from viva.core.transcript import Transcript


class Timing(Data, frozen=True):
    """Response times of the agent in milliseconds; None where it never answered."""

    responses: int = 0
    mean_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    max_ms: float | None = None
    first_token_ms: float | None = None
    """Mean over the turns that streamed."""
    retry_ms: float = 0.0
    """Lost in failed attempts and back-off."""
    throttle_ms: float = 0.0
    user_ms: float = 0.0
    """Spent by the simulated user."""
    total_ms: float = 0.0
    """The trial from beginning to end."""


def timing_of(transcript: Transcript, total_ms: float) -> Timing:
    """Summarise the response times of a transcript."""
    replies = [t for t in transcript.turns if t.role == "assistant" and t.latency_ms is not None]
    times = sorted([t.latency_ms or 0.0 for t in replies])
    first = [t.first_token_ms for t in replies if t.first_token_ms is not None]
    return Timing(
        responses=len(times),
        mean_ms=sum(times) / len(times) if times else None,
        p50_ms=percentile(times, 0.50),
        p95_ms=percentile(times, 0.95),
        max_ms=times[-1] if times else None,
        first_token_ms=sum(first) / len(first) if first else None,
        retry_ms=sum([(t.total_ms or 0.0) - (t.latency_ms or 0.0) for t in replies if t.total_ms is not None]),
        throttle_ms=sum([t.throttle_ms for t in transcript.turns]),
        user_ms=sum([t.latency_ms or 0.0 for t in transcript.turns if t.role == "user"]),
        total_ms=total_ms,
    )


def percentile(ordered: Sequence[float], share: float) -> float | None:
    """The value at a share of an ordered list, interpolated; None of an empty one."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
