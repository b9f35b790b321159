"""A case: one situation to put the subject in, and all we know about the right outcome."""

from __future__ import annotations

from typing import Any, Literal

from viva.core.check import Check, Measure
from viva.core.criterion import Criterion
from viva.core.data import Data
from viva.core.limits import Limits, Retry
from viva.core.ref import Ref
from viva.core.stage import NO_STAGE, StagePlan
from viva.core.threshold import Threshold
from viva.core.variant import DEFAULT_VARIANT, Variant


class Task(Data, frozen=True):
    """One thing the simulated user wants done; its acceptance text is for the judge alone."""

    text: str
    kind: Literal["task", "question"] = "task"
    acceptance: str = ""
    where: str = ""


class Case(Data, frozen=True):
    """One situation, with every default of the suite already filled in."""

    id: str
    input: Any = None
    """What the `once` driver sends: a text, or structured data."""
    tasks: tuple[Task, ...] = ()
    facts: tuple[str, ...] = ()
    expected: Any = None
    """The reference answer (a solution, a ground truth)."""
    context: Any = None
    criteria: tuple[Criterion, ...] = ()
    checks: tuple[Check, ...] = ()
    measures: tuple[Measure, ...] = ()
    judging: Ref = Ref(name="each")
    """How criteria are judged: `each`, `holistic`, …"""
    formula: Ref = Ref(name="mean@1")
    thresholds: tuple[Threshold, ...] = ()
    driver: Ref = Ref(name="once")
    variants: tuple[Variant, ...] = (DEFAULT_VARIANT,)
    repeats: int = 1
    stage: StagePlan = NO_STAGE
    limits: Limits = Limits()
    retry: Retry = Retry()
    tags: tuple[str, ...] = ()
    description: str = ""
    metadata: dict[str, Any] = {}
    where: str = ""
