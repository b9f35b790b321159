"""Thresholds that say nothing: a share lies from 0 to 1, so some can never be met and some always are."""

from __future__ import annotations

from viva.core.errors import SuiteError
from viva.core.threshold import Threshold

SHARES = ("score", "pass_rate", "error_rate")
"""Numbers from 0 to 1, of which it is also odd to ask what always holds."""


def check_share(threshold: Threshold, where: str) -> None:
    """Refuse a threshold on a share that every share meets, or none."""
    if threshold.metric not in SHARES:
        return
    check_reachable(threshold, where)
    if all(threshold.holds(number) for number in _samples(threshold)):
        hint = "leave it out, or ask for something that can be missed"
        raise SuiteError(f"{threshold} always holds: {threshold.metric} lies from 0 to 1", hint=hint, where=where)


def check_reachable(threshold: Threshold, where: str) -> None:
    """Refuse a threshold on a score or share that can never be met."""
    if not any(threshold.holds(number) for number in _samples(threshold)):
        message = f"{threshold} can never hold: {threshold.metric} lies from 0 to 1"
        raise SuiteError(message, hint=_hint(threshold), where=where)


def _samples(threshold: Threshold) -> tuple[float, ...]:
    """Both ends, the middle, and the value itself tell for every comparator."""
    own = (threshold.value,) if 0 <= threshold.value <= 1 else ()
    return (0.0, 0.5, 1.0, *own)


def _hint(threshold: Threshold) -> str:
    if threshold.metric not in SHARES:
        return f"{threshold.metric}.raw is the number on its own scale"
    value, metric, comparator = threshold.value, threshold.metric, threshold.comparator
    for most in (10, 100):
        if 1 < value <= most:
            return f"for {value:g} of {most} write `{metric} {comparator} {value / most:g}`"
    return "give a number from 0 to 1"
