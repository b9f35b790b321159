"""Evidence to scores to one verdict. What goes wrong in a scorer is an error with a name, never a number."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator, Sequence
from typing import Any

from viva.core.case import Case
from viva.core.check import Check, Measure
from viva.core.clock import Clock
from viva.core.data import replace
from viva.core.errors import VivaError
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.score import AnyScore, Combined, Outcome, Score, ScoreError, ScoreSkipped, TrialResult
from viva.core.text import shorten, storable
from viva.core.threshold import Threshold
from viva.engine.parts import Scoring
from viva.ports.scorer import FormulaFacts, Scorer

SCORER_S = 900.0
"""A scorer that says nothing for so long is given up; models have their own, shorter deadlines."""
DEFAULT_THRESHOLD = Threshold(value=0.5)
POSTPONED = frozenset({"budget", "stopped"})
"""Kinds of errors that say nothing about the evidence: such a trial stays owed."""

_waiting_types: set[type] = set()
"""Scorers seen to wait (for a model); the others answer at once, and need no task of their own."""


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
        if len(found) == 1:
            return [self._dress(found[0], self._label or found[0].name)]
        return [self._dress(score, f"{self._label}/{score.name}" if self._label else score.name) for score in found]

    def _dress(self, score: AnyScore, name: str) -> AnyScore:
        weight = score.weight * self._spec.weight
        if score.name == name and score.weight == weight and score.section == self._spec.section:
            return score
        return replace(score, name=name, weight=weight, section=self._spec.section)


async def score_evidence(evidence: Evidence, scoring: Scoring, clock: Clock) -> tuple[TrialResult, list[AnyScore]]:
    """Score one trial. Evidence of a failure is never shown to a scorer: it is not an answer."""
    if not evidence.ending.ok:
        return failed_result(evidence, scoring.formula_name), []
    scores = await gather_scores(evidence, scoring.scorers, clock)
    facts = FormulaFacts(
        failures=evidence.failures,
        turns=len(evidence.transcript.replies),
        completed=evidence.ending.kind == "completed",
    )
    return combine(evidence, scores, scoring, facts), scores


async def gather_scores(evidence: Evidence, scorers: Sequence[Scorer], clock: Clock) -> list[AnyScore]:
    """Run all scorers, those that wait concurrently; the answers are in the scorers' order."""
    answers: list[list[AnyScore] | asyncio.Task[list[AnyScore]]] = []
    tasks: list[asyncio.Task[list[AnyScore]]] = []
    for scorer in scorers:
        if type(_innermost(scorer)) in _waiting_types:
            tasks.append(asyncio.create_task(_ask(scorer, evidence, clock)))
            answers.append(tasks[-1])
        else:
            answers.append(await _ask(scorer, evidence, clock))
    if tasks:
        await _wait_for(tasks)
    return [score for answer in answers for score in (answer if isinstance(answer, list) else answer.result())]


async def _wait_for(tasks: list[asyncio.Task[list[AnyScore]]]) -> None:
    try:
        await asyncio.wait(tasks)
    finally:
        for task in tasks:
            task.cancel()


async def _ask(scorer: Scorer, evidence: Evidence, clock: Clock) -> list[AnyScore]:
    began = clock.monotonic()
    try:
        found = await _bounded(scorer, evidence)
    except TimeoutError:
        return [_score_error(scorer, "timed_out", f"no score within {SCORER_S:g} s", began, clock)]
    except VivaError as error:
        return [_score_error(scorer, error.kind, str(error), began, clock)]
    except BaseException as error:
        if isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and _is_cancelled()):
            raise
        return [_score_error(scorer, "scorer_error", f"{type(error).__name__}: {error}", began, clock)]
    return _checked(scorer, found, began, clock)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _bounded(scorer: Scorer, evidence: Evidence) -> Any:
    kind = type(_innermost(scorer))
    if kind not in _waiting_types:
        return await _Watched(scorer.score(evidence), kind)
    async with asyncio.timeout(SCORER_S):
        return await scorer.score(evidence)


class _Watched:
    """Awaits a coroutine and remembers its scorer's type as one that waits, when it does."""

    __slots__ = ("_kind", "_work")

    def __init__(self, work: Coroutine[Any, Any, Any], kind: type) -> None:
        self._work = work
        self._kind = kind

    def __await__(self) -> Generator[Any, Any, Any]:
        steps = self._work.__await__()
        try:
            waiting_for = next(steps)
        except StopIteration as done:
            return done.value
        _waiting_types.add(self._kind)
        while True:
            try:
                sent = yield waiting_for
            except GeneratorExit:
                steps.close()
                raise
            except BaseException as thrown:
                step = _throw(steps, thrown)
            else:
                step = _send(steps, sent)
            if step.is_done:
                return step.value
            waiting_for = step.value


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


def _checked(scorer: Scorer, found: Any, began: float, clock: Clock) -> list[AnyScore]:
    """Accept scores only, and sign them with the scorer that made them."""
    if not isinstance(found, list | tuple) or not found:
        return [_score_error(scorer, "no_score", f"it answered {shorten(repr(found), 200)}", began, clock)]
    return [_signed(scorer, score, began, clock) for score in found]


def _signed(scorer: Scorer, score: Any, began: float, clock: Clock) -> AnyScore:
    signature, took_ms = f"{scorer.name}@{scorer.version}", (clock.monotonic() - began) * 1000
    if isinstance(score, Score | ScoreError):
        return replace(
            score, scorer=score.scorer or signature, hash=score.hash or scorer.hash, took_ms=score.took_ms or took_ms
        )
    if isinstance(score, ScoreSkipped):
        return replace(score, scorer=score.scorer or signature)
    return _score_error(scorer, "no_score", f"it answered {shorten(repr(score), 200)}", began, clock)


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


def _innermost(scorer: Any) -> Any:
    return scorer.inner if isinstance(scorer, Labelled) else scorer


def combine(evidence: Evidence, scores: list[AnyScore], scoring: Scoring, facts: FormulaFacts) -> TrialResult:
    """Make the verdict of a trial from its scores."""
    combined = _apply(scoring, scores, facts)
    outcome, error, reason = _decide(evidence.case, scores, combined)
    usage = dict(evidence.usage)
    if judged := [score.usage for score in scores if isinstance(score, Score | ScoreError) and score.usage]:
        usage["judge"] = sum(judged[1:], judged[0])
    return TrialResult(
        trial=evidence.trial,
        case=evidence.case.id,
        outcome=outcome,
        variant=evidence.variant.name,
        repeat=evidence.repeat,
        score=combined.value,
        reason=reason,
        error=error,
        formula=scoring.formula_name,
        parts=combined.parts,
        missing=combined.missing,
        usage=usage,
        failures=facts.failures,
        mean_ms=evidence.timing.mean_ms,
        turns=facts.turns,
        flags=_flags(evidence, scores),
    )


def _apply(scoring: Scoring, scores: list[AnyScore], facts: FormulaFacts) -> Combined:
    try:
        return scoring.formula.combine(scores, facts)
    except Exception as error:
        return Combined(value=None, reason=f"the formula failed: {type(error).__name__}: {error}")


def _decide(case: Case, scores: list[AnyScore], combined: Combined) -> tuple[Outcome, str, str]:
    """Outcome, kind of error, reason: thresholds decide where there are any, else checks, else half of the points."""
    if not scores:
        return "skipped", "no_scores", "nothing was asked of the evidence"
    if combined.value is None:
        kinds = [score.kind for score in scores if isinstance(score, ScoreError)]
        return "error", kinds[0] if kinds else "no_score", combined.reason
    thresholds = [threshold for threshold in case.thresholds if threshold.scope == "trial"]
    if thresholds:
        return _by_thresholds(thresholds, scores, combined)
    opinions = [score for score in scores if isinstance(score, Score) and score.passed is not None]
    if opinions:
        failed = [score.name for score in opinions if not score.passed]
        return ("fail", "", "failed: " + ", ".join(failed)) if failed else ("pass", "", combined.reason)
    return _by_thresholds([DEFAULT_THRESHOLD], scores, combined)


def _by_thresholds(
    thresholds: Sequence[Threshold], scores: list[AnyScore], combined: Combined
) -> tuple[Outcome, str, str]:
    missed = []
    for threshold in thresholds:
        number = metric_of(threshold.metric, scores, combined)
        if number is None:
            return "error", "missing_score", f"the threshold {threshold} has no number to look at"
        if not threshold.holds(number):
            missed.append(f"{threshold} (it is {number:.4g})")
    return ("fail", "", "below: " + ", ".join(missed)) if missed else ("pass", "", combined.reason)


def metric_of(metric: str, scores: Sequence[AnyScore], combined: Combined) -> float | None:
    """The number a threshold looks at: the formula's, a score's, its raw value, or a part of the formula's sum."""
    if metric == "score":
        return combined.value
    for score in scores:
        if isinstance(score, Score):
            if score.name == metric:
                return score.value
            if f"{score.name}.raw" == metric:
                return score.raw
    return combined.parts.get(metric)


def failed_result(evidence: Evidence, formula: str) -> TrialResult:
    """The verdict on a trial that never came to an answer."""
    ending = evidence.ending
    return TrialResult(
        trial=evidence.trial,
        case=evidence.case.id,
        outcome="skipped" if ending.kind == "skipped" else "error",
        variant=evidence.variant.name,
        repeat=evidence.repeat,
        reason=ending.because,
        error=ending.kind,
        formula=formula,
        usage=evidence.usage,
        failures=evidence.failures,
        mean_ms=evidence.timing.mean_ms,
        turns=len(evidence.transcript.replies),
        flags=_flags(evidence),
    )


def is_postponed(scores: Sequence[AnyScore]) -> bool:
    """Whether scoring was cut short from outside, so that the trial must be scored again later."""
    return any(isinstance(score, ScoreError) and score.kind in POSTPONED for score in scores)


def _flags(evidence: Evidence, scores: Sequence[AnyScore] = ()) -> tuple[str, ...]:
    """What a reader should know about the trial as a whole: its turns, its ending, and whoever played the user."""
    flags = dict.fromkeys(flag for turn in evidence.transcript.turns for flag in turn.flags)
    for score in scores:
        if isinstance(score, Score):
            flags |= dict.fromkeys(flag for flag in score.flags if flag.startswith("user:"))
    if evidence.ending.kind == "turn_limit":
        flags["turn_limit"] = None
    return tuple(flags)
