"""Examining a judge: put labelled questions and null answers before it, and count."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from viva.core.case import Case
from viva.core.clock import Clock, SystemClock
from viva.core.criterion import Criterion
from viva.core.data import Data
from viva.core.evidence import Evidence
from viva.core.usage import NO_USAGE, Usage
from viva.judging.ask import together
from viva.judging.controls import NULL_ANSWERS, Controls, false_positive_rate, is_positive
from viva.judging.labelled.load import Item
from viva.judging.votes import AnyVerdict
from viva.ports.judge import Judge, Verdict, VerdictError


class Mistake(Data, frozen=True):
    """An item the judge got wrong, or on which it gave no verdict."""

    item: str
    kind: str
    expected: str
    answer: str
    """What it said; for no verdict, the kind of error."""
    criterion: str
    reason: str = ""


class JudgeReport(Data, frozen=True):
    """How far a judge can be believed."""

    judge: str
    items: int
    right: int
    not_judged: int
    """Items without a verdict: unreadable, refused, off the menu, unavailable. They are neither right nor wrong."""
    yes: int
    """How often it said that a criterion is met."""
    yes_expected: int
    by_kind: dict[str, tuple[int, int]]
    """Right and judged, by the kind of item: plain, tools, pitfall, graded, injection."""
    controls: Controls
    seconds: float
    usage: Usage = NO_USAGE
    errors: dict[str, int] = {}
    """Why items were not judged, and how many; of a provider that failed, in which way."""
    mistakes: tuple[Mistake, ...] = ()

    @property
    def judged(self) -> int:
        """Items it gave a verdict on."""
        return self.items - self.not_judged

    @property
    def accuracy(self) -> float | None:
        """The share it got right of the items it judged; None when it judged none."""
        return self.right / self.judged if self.judged else None

    @property
    def yes_rate(self) -> float | None:
        """How often it said met, of the verdicts it gave; compare with the share of items that are met."""
        return self.yes / self.judged if self.judged else None


async def examine_judge(
    judge: Judge, items: Sequence[Item], *, concurrency: int = 8, clock: Clock | None = None
) -> JudgeReport:
    """Put the items and the null answers before a judge, and count what it got right."""
    clock = clock or SystemClock()
    began = clock.monotonic()
    places = asyncio.Semaphore(concurrency)
    verdicts = await together([_judged(judge, item, places) for item in items]) if items else []
    controls = await false_positive_rate(_Patient(judge, places), _cases(items), len(NULL_ANSWERS))
    return _report(judge.name, list(zip(items, verdicts, strict=True)), controls, clock.monotonic() - began)


async def _judged(judge: Judge, item: Item, places: asyncio.Semaphore) -> AnyVerdict:
    async with places:
        return (await judge.judge(item.as_evidence(), [item.as_criterion()]))[0]


class _Patient:
    """A judge that takes no more at a time than there are places."""

    def __init__(self, judge: Judge, places: asyncio.Semaphore) -> None:
        self._judge, self._places = judge, places
        self.name, self.hash, self.rate = judge.name, judge.hash, judge.rate

    async def judge(self, evidence: Evidence, criteria: Sequence[Criterion]) -> list[AnyVerdict]:
        async with self._places:
            return await self._judge.judge(evidence, criteria)


def _cases(items: Sequence[Item]) -> list[Case]:
    # Injected replies are replaced by null answers here, so any requirement will do.
    return [item.as_evidence().case for item in items if not item.pitfall and not item.levels]


def _report(name: str, judged: list[tuple[Item, AnyVerdict]], controls: Controls, seconds: float) -> JudgeReport:
    wrong = [_mistake(item, verdict) for item, verdict in judged if not _is_right(item, verdict)]
    errors: dict[str, int] = {}
    for _, verdict in judged:
        if not isinstance(verdict, Verdict):
            why = _why(verdict)
            errors[why] = errors.get(why, 0) + 1
    return JudgeReport(
        judge=name,
        items=len(judged),
        right=len(judged) - len(wrong),
        not_judged=sum(errors.values()),
        yes=sum(
            isinstance(verdict, Verdict) and is_positive(item.as_criterion(), verdict.answer)
            for item, verdict in judged
        ),
        yes_expected=sum(is_positive(item.as_criterion(), item.answer) for item, _ in judged),
        by_kind=_by_kind(judged),
        controls=controls,
        seconds=seconds,
        usage=sum((verdict.usage for _, verdict in judged), controls.usage),
        errors=errors,
        mistakes=tuple(wrong),
    )


def _by_kind(judged: list[tuple[Item, AnyVerdict]]) -> dict[str, tuple[int, int]]:
    counted: dict[str, tuple[int, int]] = {}
    for item, verdict in judged:
        right, decided = counted.get(item.kind, (0, 0))
        counted[item.kind] = (right + _is_right(item, verdict), decided + isinstance(verdict, Verdict))
    return counted


def _is_right(item: Item, verdict: AnyVerdict) -> bool:
    return isinstance(verdict, Verdict) and verdict.answer == item.answer


def _why(error: VerdictError) -> str:
    """The kind of an error; for a provider that failed, the kind of its failure, which its detail begins with."""
    return error.detail.partition(":")[0] if error.kind == "judge_unavailable" and error.detail else error.kind


def _mistake(item: Item, verdict: AnyVerdict) -> Mistake:
    said, reason = (verdict.answer, verdict.reason) if isinstance(verdict, Verdict) else (_why(verdict), verdict.detail)
    return Mistake(
        item=item.id,
        kind=item.kind,
        expected=item.answer,
        answer=said,
        criterion=item.criterion,
        reason=reason,
    )
