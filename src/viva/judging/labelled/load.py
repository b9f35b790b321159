"""Reading the labelled set and the measurements that ship with viva."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any, Literal

import msgspec

from viva.core.case import Case
from viva.core.criterion import Criterion, Level
from viva.core.data import Data, from_json
from viva.core.evidence import Evidence
from viva.core.transcript import ToolCall, Transcript, Turn
from viva.core.variant import DEFAULT_VARIANT

HERE = Path(__file__).parent


class Item(Data, frozen=True):
    """One question about judging, with its answer."""

    id: str
    kind: Literal["plain", "tools", "pitfall", "graded", "injection"]
    domain: str
    question: str
    reply: str
    criterion: str
    answer: str
    pitfall: bool = False
    levels: tuple[str, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()

    def as_criterion(self) -> Criterion:
        """What the judge is to decide."""
        levels = tuple(Level(name=name, value=float(name)) for name in self.levels)
        return Criterion(id=self.id, text=self.criterion, pitfall=self.pitfall, levels=levels)

    def as_evidence(self) -> Evidence:
        """What the judge is shown."""
        turns = (
            Turn(role="user", text=self.question),
            Turn(role="assistant", text=self.reply, tool_calls=self.tool_calls),
        )
        case = Case(id=self.id, input=self.question, criteria=(self.as_criterion(),))
        return Evidence(trial=self.id, case=case, variant=DEFAULT_VARIANT, transcript=Transcript(turns=turns))


class Measured(Data, frozen=True):
    """What was measured of a judge when viva was made."""

    accuracy: float
    items: int
    yes_rate: float
    unreadable: int = 0
    false_positives: float | None = None

    def __str__(self) -> str:
        right = round(self.accuracy * self.items)
        return f"right on {right} of {self.items} labelled items as a judge (a coin is right on {self.items // 2})"


@functools.lru_cache(maxsize=1)
def items() -> tuple[Item, ...]:
    """The labelled set, in its order."""
    lines = (HERE / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(from_json(line, Item) for line in lines)


def spread(limit: int | None) -> tuple[Item, ...]:
    """The whole set, or so many of its items, taken evenly from all over it."""
    every = items()
    if limit is None or limit >= len(every):
        return every
    return tuple(every[i * len(every) // limit] for i in range(limit))


@functools.lru_cache(maxsize=1)
def _measurements() -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode((HERE / "measured.json").read_bytes())
    return found


def measured(model: str) -> Measured | None:
    """What was measured of a model as a judge; None for one that was not measured."""
    found = _measurements().get(model)
    return None if found is None else msgspec.convert(found, Measured)
