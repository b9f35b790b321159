"""A variant: a named change of conditions."""

from __future__ import annotations

from typing import Any, Literal

from viva.core.data import Data
from viva.core.ref import Ref


class Variant(Data, frozen=True):
    """The same case under other conditions: facts withheld, another model, another version of the agent."""

    name: str = "default"
    facts: Literal["supplied", "withheld"] = "supplied"
    model: str | None = None
    subject: Ref | None = None
    driver: Ref | None = None
    settings: dict[str, Any] = {}
    """Merged over the subject's settings."""


DEFAULT_VARIANT = Variant()
