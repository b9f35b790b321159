"""The judge: one criterion and the evidence in, one verdict out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from viva.core.criterion import Criterion
from viva.core.data import Data
from viva.core.evidence import Evidence
from viva.core.usage import NO_USAGE, Usage


class Verdict(Data, frozen=True):
    """What the judge decided about one criterion. It holds nothing the judge may not decide."""

    criterion: str
    answer: Literal["met", "not_met", "cannot_tell"] | str
    """For a graded criterion, the name of a level."""
    reason: str = ""
    model: str = ""
    usage: Usage = NO_USAGE
    template: str = ""
    """Hash of the template that asked."""
    agreement: float | None = None
    """Share of repeats or panel members that gave this answer."""
    votes: dict[str, int] = {}
    flags: tuple[str, ...] = ()
    """E.g. unstable, reason_contradicts, reason_empty, injection_suspected, repaired, cached."""


class VerdictError(Data, frozen=True):
    """Why there is no verdict on a criterion."""

    criterion: str
    kind: str
    detail: str = ""
    model: str = ""
    usage: Usage = NO_USAGE
    template: str = ""
    flags: tuple[str, ...] = ()


class Judge(Protocol):
    """Judges criteria against evidence."""

    @property
    def name(self) -> str:
        """The model (or panel) that judges."""
        ...

    @property
    def hash(self) -> str:
        """Of the templates in use."""
        ...

    async def judge(self, evidence: Evidence, criteria: Sequence[Criterion]) -> list[Verdict | VerdictError]:
        """Judge each criterion; the answers are in the order of the criteria."""
        ...

    async def rate(
        self, evidence: Evidence, template: str, values: dict[str, Any], levels: Sequence[str]
    ) -> Verdict | VerdictError:
        """Ask one question from a named template whose answer is one of the levels."""
        ...
