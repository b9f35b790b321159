"""Asking scorers: at once where they answer at once, side by side where they wait; failures are errors with names."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Any

from viva.core.check import Check, Measure
from viva.core.clock import Clock
from viva.core.data import replace
from viva.core.errors import VivaError
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.score import AnyScore, Score, ScoreError, ScoreSkipped
from viva.core.text import shorten, storable
from viva.ports.scorer import Scorer

SCORER_S = 900.0
"""A scorer that says nothing for so long is given up; models have their own, shorter deadlines."""

_waiting_types: set[type] = set()
"""Scorers seen to wait (for a model); the others answer at once, and need neither a task nor a deadline."""

_Answer = list[AnyScore]


class Labelled:
    """A scorer under the label, weight and section the suite gave it."""

    def __init__(self, scorer: Scorer, spec: Check | Measure, label: str = "") -> None:
        self.name = scorer.name
        self.version = scorer.version
        self._scorer = scorer
        self._spec = spec
        self._label = label or spec.label

    @property
    def inner(self) -> Scorer:
        """The scorer itself."""
        return self._scorer

    @property
    def label(self) -> str:
        """The suite's label, else the scorer's own."""
        return self._label or self._scorer.label

    @property
    def weight(self) -> float:
        """The suite's weight."""
        return self._spec.weight

    @property
    def section(self) -> str:
        """The suite's section."""
        return self._spec.section

    @property
    def hash(self) -> str:
        """Of what changes its numbers."""
        return self._scorer.hash

    def observations(self) -> tuple[Observation, ...]:
        """What must be looked at."""
        return self._scorer.observations()

    def settled(self, observation: Observation, seen: Observed) -> bool:
        """Whether polling can stop."""
        return self._scorer.settled(observation, seen)

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Score, then put label, weight and section on the answer."""
        found = await self._scorer.score(evidence)
        return [replace(score, **self.dress(score, len(found) == 1)) for score in found]

    def dress(self, score: AnyScore, is_alone: bool) -> dict[str, Any]:
        """What the suite puts on a score; of several, each keeps its own name behind the label."""
        name = score.name
        if self._label:
            name = self._label if is_alone else f"{self._label}/{name}"
        return {"name": name, "weight": score.weight * self._spec.weight, "section": self._spec.section}


async def gather_scores(evidence: Evidence, scorers: Sequence[Scorer], clock: Clock) -> list[AnyScore]:
    """Run all scorers, those that wait concurrently; the answers are in the scorers' order."""
    answers: list[_Answer | asyncio.Task[_Answer]] = []
    tasks: list[asyncio.Task[_Answer]] = []
    for scorer in scorers:
        bare = scorer.inner if isinstance(scorer, Labelled) else scorer
        if type(bare) in _waiting_types:
            tasks.append(asyncio.create_task(_ask(scorer, bare, evidence, clock)))
            answers.append(tasks[-1])
        else:
            answer = _begin(scorer, bare, evidence, clock)
            answers.append(answer if isinstance(answer, list) else await answer)
    if tasks:
        await _wait_for(tasks)
    return [score for answer in answers for score in (answer if isinstance(answer, list) else answer.result())]


async def _wait_for(tasks: list[asyncio.Task[_Answer]]) -> None:
    try:
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()


def _begin(scorer: Scorer, bare: Scorer, evidence: Evidence, clock: Clock) -> _Answer | Coroutine[Any, Any, _Answer]:
    """Ask a scorer that is not known to wait: its answer, or where it does wait, a coroutine that goes on with it."""
    began = clock.monotonic()
    try:
        steps = bare.score(evidence).__await__()
        waiting_for = next(steps)
    except StopIteration as done:
        return _checked(scorer, done.value, began, clock)
    except BaseException as error:
        return [_failure(error, scorer, began, clock)]
    _waiting_types.add(type(bare))
    return _finish(scorer, lambda: _Rest(steps, waiting_for), began, clock)


async def _ask(scorer: Scorer, bare: Scorer, evidence: Evidence, clock: Clock) -> _Answer:
    return await _finish(scorer, lambda: bare.score(evidence), clock.monotonic(), clock)


async def _finish(scorer: Scorer, work: Callable[[], Awaitable[Any]], began: float, clock: Clock) -> _Answer:
    try:
        async with asyncio.timeout(SCORER_S):
            found = await work()
    except BaseException as error:
        return [_failure(error, scorer, began, clock)]
    return _checked(scorer, found, began, clock)


class _Rest:
    """What is left of an awaitable whose first step has been taken and waits."""

    __slots__ = ("_steps", "_waiting_for")

    def __init__(self, steps: Generator[Any, Any, Any], waiting_for: Any) -> None:
        self._steps = steps
        self._waiting_for = waiting_for

    def __await__(self) -> Generator[Any, Any, Any]:
        steps, step = self._steps, _Step(False, self._waiting_for)
        while not step.is_done:
            try:
                sent = yield step.value
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as thrown:
                step = _throw(steps, thrown)
            else:
                step = _send(steps, sent)
        return step.value


class _Step:
    __slots__ = ("is_done", "value")

    def __init__(self, is_done: bool, value: Any) -> None:
        self.is_done = is_done
        self.value = value


def _send(steps: Generator[Any, Any, Any], sent: Any) -> _Step:
    try:
        return _Step(False, steps.send(sent))
    except StopIteration as done:
        return _Step(True, done.value)


def _throw(steps: Generator[Any, Any, Any], thrown: BaseException) -> _Step:
    try:
        return _Step(False, steps.throw(thrown))
    except StopIteration as done:
        return _Step(True, done.value)


def _failure(error: BaseException, scorer: Scorer, began: float, clock: Clock) -> ScoreError:
    """What a scorer's failure is called; raises what is no failure of the scorer, but the end of whoever asks."""
    if isinstance(error, TimeoutError):
        return _score_error(scorer, "timed_out", f"no score within {SCORER_S:g} s", began, clock)
    if isinstance(error, VivaError):
        return _score_error(scorer, error.kind, str(error), began, clock)
    if isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and _is_cancelled()):
        raise error
    return _score_error(scorer, "scorer_error", f"{type(error).__name__}: {error}", began, clock)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def _checked(scorer: Scorer, found: Any, began: float, clock: Clock) -> _Answer:
    """Accept scores only; label them as the suite says, and sign them with the scorer that made them."""
    if not isinstance(found, list | tuple) or not found:
        return [_score_error(scorer, "no_score", f"it answered {shorten(repr(found), 200)}", began, clock)]
    return [_signed(scorer, score, len(found) == 1, began, clock) for score in found]


def _signed(scorer: Scorer, score: Any, is_alone: bool, began: float, clock: Clock) -> AnyScore:
    if not isinstance(score, Score | ScoreError | ScoreSkipped):
        return _score_error(scorer, "no_score", f"it answered {shorten(repr(score), 200)}", began, clock)
    put_on = scorer.dress(score, is_alone) if isinstance(scorer, Labelled) else {}
    put_on["scorer"] = score.scorer or f"{scorer.name}@{scorer.version}"
    if not isinstance(score, ScoreSkipped):
        put_on["hash"] = score.hash or scorer.hash
        put_on["took_ms"] = score.took_ms or (clock.monotonic() - began) * 1000
    return replace(score, **put_on)


def _score_error(scorer: Scorer, kind: str, detail: str, began: float, clock: Clock) -> ScoreError:
    return ScoreError(
        name=scorer.label,
        kind=kind,
        detail=storable(shorten(detail, 2048)),
        weight=getattr(scorer, "weight", 1.0),
        section=getattr(scorer, "section", "checks"),
        scorer=f"{scorer.name}@{scorer.version}",
        hash=scorer.hash,
        took_ms=(clock.monotonic() - began) * 1000,
    )
