"""Checks and measures: what a suite asks of the evidence without a model's opinion."""

from __future__ import annotations

from typing import Any

from viva.core.data import Data


class Check(Data, frozen=True):
    """One deterministic claim about the evidence, made by a named scorer."""

    scorer: str
    settings: dict[str, Any] = {}
    label: str = ""
    weight: float = 1.0
    section: str = "checks"
    where: str = ""


class Measure(Data, frozen=True):
    """One observed quantity, taken by a named scorer."""

    scorer: str
    settings: dict[str, Any] = {}
    label: str = ""
    weight: float = 1.0
    section: str = "measures"
    where: str = ""
