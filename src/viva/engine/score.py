"""Evidence to scores to one verdict. What goes wrong in a scorer is an error with a name, never a number."""

from __future__ import annotations

from collections.abc import Sequence

from viva.core.case import Case
from viva.core.clock import Clock
from viva.core.evidence import Evidence
from viva.core.score import AnyScore, Combined, Outcome, Score, ScoreError, ScoreSkipped, TrialResult
from viva.core.threshold import Threshold
from viva.engine.ask import gather_scores
from viva.engine.parts import Scoring
from viva.ports.scorer import FormulaFacts

DEFAULT_THRESHOLD = Threshold(value=0.5)
UNSCALED = "unscaled"
"""The flag of a quantity without a target: it has a raw value and no place between good and bad."""
POSTPONED = frozenset({"budget", "stopped"})
"""Kinds of errors that say nothing about the evidence: such a trial stays owed."""


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
        if all(_asks_nothing(score) for score in scores):
            return "skipped", "no_scores", "quantities were taken; nothing was asked of them"
        return "error", kinds[0] if kinds else "no_score", combined.reason
    for score in scores:
        # Whatever the formula counts: what could not be checked has not passed.
        if isinstance(score, ScoreError) and score.weight and score.name not in combined.tolerated:
            return "error", score.kind, f"{score.name}: {score.detail}"
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


def _asks_nothing(score: AnyScore) -> bool:
    return isinstance(score, ScoreSkipped) or (isinstance(score, Score) and UNSCALED in score.flags)


def metric_of(metric: str, scores: Sequence[AnyScore], combined: Combined) -> float | None:
    """The number a threshold looks at: the formula's, a score's, its raw value, or a part of the formula's sum."""
    if metric == "score":
        return combined.value
    for score in scores:
        if isinstance(score, Score):
            if score.name == metric:
                return None if UNSCALED in score.flags else score.value
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
        if isinstance(score, Score) and score.flags:
            flags |= dict.fromkeys(flag for flag in score.flags if flag.startswith("user:"))
    if evidence.ending.kind == "turn_limit":
        flags["turn_limit"] = None
    return tuple(flags)
