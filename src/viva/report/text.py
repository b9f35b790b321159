"""A run as one plain text: what was scored, what is true, and what was said. For people, and for files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence

from viva.core.evidence import Evidence
from viva.core.run import Run
from viva.core.score import AnyScore, Score, ScoreError, TrialResult
from viva.core.text import shorten, visible
from viva.ports.store import Store
from viva.report.paired import Lift
from viva.report.quantity import NONE, quantity
from viva.report.summary import Summary
from viva.report.why import flat
from viva.scoring.scorer import UNSCALED

WIDTH = 78
NAME_CHARS = 60


async def text_report(store: Store, run: Run, summary: Summary, scoring: str = "") -> AsyncIterator[str]:
    """The lines of a report, trial after trial; nothing an agent said can control a terminal that shows it."""
    for line in _head(run, summary):
        yield visible(line)
    async for result, scores in store.all_results(run.id, scoring):
        evidence = None
        if result.error != "not_run":
            evidence = await store.evidence(run.id, result.trial)
        for line in _trial(result, scores, evidence):
            yield visible(line)


def lift_line(lift: Lift) -> str:
    """The difference between two variants in a line, with its interval where there is one."""
    mean = lift.lift.mean
    if mean is None:
        return f"{lift.before_name} → {lift.after_name}: no case has a score under both"
    between = lift.interval
    sure = f"95 % interval {between.low:+.3f} – {between.high:+.3f}" if between else "one case: no interval"
    unpaired = f", {lift.unpaired_in_all} without a pair" if lift.unpaired_in_all else ""
    return (
        f"{lift.before_name} → {lift.after_name}: {lift.before.mean:.3f} → {lift.after.mean:.3f}, "
        f"lift {mean:+.3f} ({sure}; n={lift.lift.n}{unpaired}); average {lift.both:.3f}"
    )


def _head(run: Run, summary: Summary) -> Iterator[str]:
    counts = summary.outcomes
    yield "=" * WIDTH
    yield f"{run.suite}: run {run.id}, {run.status}"
    yield (
        f"{counts.n} trials: {counts.passed} passed, {counts.failed} failed, {counts.errors} errors, "
        f"{counts.skipped} skipped"
    )
    if summary.lift is not None:
        yield lift_line(summary.lift)
    if summary.score.mean is not None:
        yield f"Average score: {summary.score.mean:.2f} (n={summary.score.n}, errors={counts.errors})"


def _trial(result: TrialResult, scores: Sequence[AnyScore], evidence: Evidence | None) -> Iterator[str]:
    yield ""
    yield "=" * WIDTH
    yield f"{result.trial}: {result.outcome}" + (f" ({result.error})" if result.error else "")
    if evidence is not None:
        yield from _conditions(evidence)
    yield from _scores(result, scores)
    if evidence is None:
        return
    yield from _facts(evidence)
    yield from _transcript(evidence)


def _conditions(evidence: Evidence) -> Iterator[str]:
    if persona := evidence.notes.get("persona"):
        yield f"user: {persona}"
    facts = evidence.variant.facts if evidence.case.facts else "none"
    turns = evidence.transcript.turns
    yield f"facts: {facts}; {len(turns)} messages; session {evidence.session or '-'}; model {evidence.model or '-'}"
    timing = evidence.timing
    if timing.mean_ms is not None:
        yield (
            f"response times: {timing.responses} responses, average {timing.mean_ms:,.0f} ms, "
            f"p50 {timing.p50_ms or 0:,.0f} ms, p95 {timing.p95_ms or 0:,.0f} ms, max {timing.max_ms or 0:,.0f} ms"
        )
    yield f"ended: {evidence.ending.kind} by {evidence.ending.by} ({evidence.ending.because or 'no reason given'})"


def _scores(result: TrialResult, scores: Sequence[AnyScore]) -> Iterator[str]:
    yield ""
    yield "Scores"
    for score in scores:
        name = shorten(f"{score.section}: {_title(score)}", NAME_CHARS)
        if isinstance(score, Score):
            mark = {True: "pass", False: "FAIL", None: "    "}[score.passed]
            is_unscaled = UNSCALED in score.flags
            yield f"  {f'   {NONE}' if is_unscaled else f'{score.value:.2f}'} {mark}  {name}"
            if said := score.reason or (quantity(score.raw, score.unit) if is_unscaled else ""):
                yield f"             {shorten(flat(said), 200)}"
        elif isinstance(score, ScoreError):
            yield f"  error      {name}: {score.kind}: {shorten(flat(score.detail), 200)}"
        else:
            yield f"  skipped    {name}: {score.reason}"
    for name, value in result.parts.items():
        yield f"  {value:.2f}       = {name}"
    if result.missing:
        yield f"  without {', '.join(result.missing)}"
    if result.score is not None:
        yield f"  {result.score:.2f}       = {result.formula or 'score'}"
    if result.flags:
        yield f"  flags: {', '.join(result.flags)}"


def _title(score: AnyScore) -> str:
    title = score.detail.get("title") if isinstance(score, Score) else None
    name = f"{score.name} (pitfall)" if score.weight < 0 else score.name
    return f"{name} {title}" if title else name


def _facts(evidence: Evidence) -> Iterator[str]:
    if evidence.case.facts:
        yield ""
        yield "Ground truth facts"
        for fact in evidence.case.facts:
            yield f"  - {fact}"


def _transcript(evidence: Evidence) -> Iterator[str]:
    yield ""
    yield "Transcript"
    for turn in evidence.transcript.turns:
        for call in turn.tool_calls:
            yield f"  [tool] {call.name} {call.arguments}"
        # A message of several lines is set off, so that it cannot pass for several speakers.
        first, *rest = turn.text.split("\n")
        yield f"  [{turn.role}] {first}"
        for line in rest:
            yield f"      | {line}"
