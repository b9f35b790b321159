"""How long a server asks us to wait, in every form servers use to say so."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

LONGEST_S = 366 * 86_400.0
"""What asks for more than a year is not a time to wait for, and is ignored."""

_EPOCH_S = 1e9
_EPOCH_MS = 1e12
_DURATION = re.compile(r"(?:(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s))+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)", re.ASCII)
_UNIT_S = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_RESET = re.compile(r"(?:^|-)ratelimit-(?:(.+)-)?reset(?:-(.+))?$")


def retry_after_s(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait before the next call, or None when the server does not say.

    Looks at `retry-after-ms`, then `Retry-After` (seconds or a date), then the reset times of rate limits
    (`x-ratelimit-reset-requests: 1m30s`, an ISO time, an epoch).
    """
    lower = {name.lower(): value for name, value in headers.items()}
    if "retry-after-ms" in lower:
        milliseconds = _seconds(lower["retry-after-ms"], now)
        if milliseconds is not None:
            return milliseconds / 1000
    if "retry-after" in lower:
        seconds = _seconds(lower["retry-after"], now)
        if seconds is not None:
            return seconds
    return _longest_reset(lower, now)


def _longest_reset(headers: Mapping[str, str], now: datetime) -> float | None:
    """The latest reset among exhausted limits, or among all where the server does not tell which is exhausted."""
    resets: dict[str, float] = {}
    exhausted: list[float] = []
    for name, value in headers.items():
        found = _RESET.search(name)
        seconds = _seconds(value, now) if found else None
        if seconds is None:
            continue
        resets[name] = seconds
        if headers.get(name.replace("reset", "remaining"), "").strip() == "0":
            exhausted.append(seconds)
    return max(exhausted or resets.values(), default=None)


def _seconds(text: str, now: datetime) -> float | None:
    text = text.strip()
    number = _number(text)
    if number is None:
        number = duration_s(text)
    if number is None:
        return _until(text, now)
    if number >= _EPOCH_MS:
        return _sane(number / 1000 - now.timestamp())
    return _sane(number - now.timestamp() if number >= _EPOCH_S else number)


def _number(text: str) -> float | None:
    try:
        return float(text) if text[:1].isdigit() or text[:1] in "-+." else None
    except ValueError:
        return None


def duration_s(text: str) -> float | None:
    """Read `1m30s`, `250ms`, `34.07s`; None for anything else."""
    if len(text) > 64 or not _DURATION.fullmatch(text):
        return None
    return sum(float(amount) * _UNIT_S[unit] for amount, unit in _PART.findall(text))


def _until(text: str, now: datetime) -> float | None:
    moment = _http_date(text) or _iso_date(text)
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return _sane((moment - now).total_seconds())


def _http_date(text: str) -> datetime | None:
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _iso_date(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _sane(seconds: float) -> float | None:
    """A past moment is no wait; a wait of years, or one that is no number, is not meant."""
    if seconds != seconds or seconds > LONGEST_S:  # noqa: PLR0124  (NaN is the one value unequal to itself)
        return None
    return max(0.0, seconds)
