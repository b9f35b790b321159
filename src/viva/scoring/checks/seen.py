"""What an observation saw, or the error that it could not look."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.core.errors import ScorerError
from viva.core.evidence import Observed


def seen_in(observed: Mapping[str, Observed], key: str) -> Any:
    """The value of an observation. Raises ScorerError of its kind where there is none: never a fail."""
    seen = observed.get(key)
    if seen is None:
        raise ScorerError("it was not looked at in this run", kind="not_observed")
    if seen.error:
        raise ScorerError(seen.detail, kind=seen.error)
    return seen.value
