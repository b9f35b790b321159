"""One thing `viva doctor` looked at."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Finding(NamedTuple):
    """What was looked at, in which state it is, and what to do about it."""

    what: str
    state: Literal["ok", "missing", "warning", "broken"]
    found: str
    hint: str = ""
