"""The final table: a run's trials and scores, with n and errors beside every mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from viva.cli.progress import OUTCOME_STYLES
from viva.cli.terminal import Column, Part, Styled, terminal
from viva.core.run import Run
from viva.core.score import TrialResult
from viva.core.text import shorten
from viva.core.usage import Usage
from viva.report.intervals import Interval
from viva.report.quantity import NONE, milliseconds, quantity
from viva.report.running import Quantiles
from viva.report.summary import Outcomes, ScoreSummary, Summary, VariantSummary
from viva.report.text import lift_line
from viva.report.thresholds import ThresholdResult
from viva.scoring.scorer import UNSCALED

MOST_ROWS = 30
"""Of trials or scores in one table; a line says how many are not shown."""

STATUS_STYLES = {"finished": "green", "running": "cyan", "interrupted": "yellow", "aborted": "red"}


class TrialRow(NamedTuple):
    """A trial worth a row, and why it ended as it did."""

    result: TrialResult
    why: str


def show_run(run: Run, summary: Summary, thresholds: Sequence[ThresholdResult] = ()) -> None:
    """Write what a run says as a whole."""
    terminal.out(
        Styled(run.suite, "bold"), "  run ", run.id, "  ", Styled(run.status, STATUS_STYLES[run.status]), _why(run)
    )
    terminal.out()
    if len(summary.variants) > 1:
        show_variants(summary.variants)
    show_scores(summary)
    _show_lines(summary, thresholds)


def show_trials(rows: Sequence[TrialRow], of: int) -> None:
    """Write a table of trials, worst news first in colour."""
    columns = [
        Column("trial"),
        Column("outcome"),
        Column("score", right=True),
        Column("turns", right=True),
        Column("mean", right=True),
        Column("why"),
    ]
    terminal.table(columns, [_trial_row(row) for row in rows])
    if of > len(rows):
        more = count(of - len(rows), "more trial")
        terminal.out(f"{more} not shown (viva show RUN --trials lists all)")
    terminal.out()


def show_scores(summary: Summary) -> None:
    """Write a table of score means; quantities that are no part of any mean bring a column for themselves."""
    shown = summary.scores[:MOST_ROWS]
    with_raw = any(score.unscaled for score in shown)
    columns = [
        Column("score"),
        *([Column("raw", right=True)] if with_raw else []),
        Column("mean", right=True),
        Column("95 % interval", right=True),
        Column("n", right=True),
        Column("failed", right=True),
        Column("errors", right=True),
    ]
    rows = [_score_row(score, with_raw) for score in shown]
    rows.append(_total_row(summary, with_raw))
    terminal.table(columns, rows)
    if len(summary.scores) > MOST_ROWS:
        terminal.out(f"{count(len(summary.scores) - MOST_ROWS, 'more score')} not shown (--json has all)")


def show_variants(variants: Sequence[VariantSummary]) -> None:
    """Write a table of variants side by side."""
    columns = [
        Column("variant"),
        Column("mean", right=True),
        Column("95 % interval", right=True),
        Column("n", right=True),
        Column("passed", right=True),
        Column("failed", right=True),
        Column("errors", right=True),
        Column("p95", right=True),
    ]
    terminal.table(columns, [_variant_row(variant) for variant in variants])
    terminal.out()


def number(value: float | None) -> str:
    """A score as text; a missing one is a dash, never 0."""
    return NONE if value is None else f"{value:.3f}"


def usage_line(role: str, usage: Usage) -> str:
    """What one role used, in a line."""
    return f"{role}: {count(usage.calls, 'call')}, {count(usage.tokens, 'token')}, {money(usage)}"


def money(usage: Usage) -> str:
    """A cost as text; an unknown price is said to be unknown."""
    return "cost unknown" if usage.cost_usd is None else f"${usage.cost_usd:.4f}"


def attempts_line(failures: int, retries: int) -> str:
    """How many attempts failed, and how many of those were tried again."""
    failed = count(failures, "failed attempt")
    if not failures:
        return failed
    if retries == failures:
        return f"{failed}, tried again"
    return f"{failed}, {retries:,} of them tried again" if retries else f"{failed}, not tried again"


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 trial`, `2,000 trials`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _trial_row(row: TrialRow) -> list[Part]:
    result = row.result
    return [
        result.trial,
        Styled(result.outcome, OUTCOME_STYLES[result.outcome]),
        number(result.score),
        str(result.turns),
        milliseconds(result.mean_ms),
        shorten(row.why, 160),
    ]


def _score_row(score: ScoreSummary, with_raw: bool) -> list[Part]:
    return [
        f"{score.name} (pitfall)" if score.pitfall else score.name,
        *([quantity(score.raw.mean, score.unit)] if with_raw else []),
        number(score.value.mean),
        _interval(score.value.interval),
        str(score.value.n + score.unscaled),
        _count(score.outcomes.get("fail", 0), "yellow"),
        _count(score.errors, "red"),
    ]


def _total_row(summary: Summary, with_raw: bool) -> list[Part]:
    return [
        Styled("trial score", "bold"),
        *([NONE] if with_raw else []),
        Styled(number(summary.score.mean), "bold"),
        _interval(summary.score.interval),
        str(summary.score.n),
        _count(summary.outcomes.failed, "yellow"),
        _count(summary.outcomes.errors, "red"),
    ]


def _variant_row(variant: VariantSummary) -> list[Part]:
    outcomes = variant.outcomes
    return [
        variant.name,
        number(variant.score.mean),
        _interval(variant.score.interval),
        str(variant.score.n),
        str(outcomes.passed),
        _count(outcomes.failed, "yellow"),
        _count(outcomes.errors, "red"),
        milliseconds(variant.latency_ms.p95),
    ]


def _count(number: int, style: str) -> Part:
    return Styled(str(number), style) if number else "0"


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return NONE
    return f"{max(0.0, interval.low):.3f} – {min(1.0, interval.high):.3f}"


def _why(run: Run) -> str:
    return f" ({run.reason})" if run.reason else ""


def _show_lines(summary: Summary, thresholds: Sequence[ThresholdResult]) -> None:
    terminal.out()
    terminal.out(_outcomes_line(summary.outcomes))
    if summary.lift is not None:
        terminal.out(lift_line(summary.lift))
    if summary.spoilt:
        without = f"{number(summary.unspoilt.mean)} (n={summary.unspoilt.n})"
        affected = f"the simulated user misbehaved in {count(summary.spoilt, 'scored trial')}"
        terminal.out(f"{affected}: mean score {number(summary.score.mean)} with them, {without} without")
    # Where nobody but the agent can be at fault, saying so is noise.
    if set(summary.blame) - {"agent"} or (summary.blame and any(part.name == "user" for part in summary.sections)):
        terminal.out("to look into first: " + ", ".join(f"{who} {n}" for who, n in summary.blame.items()))
    if summary.error_kinds:
        terminal.out(Styled("errors: ", "red"), _kinds(summary.error_kinds))
    for score in summary.scores[:MOST_ROWS]:
        if score.error_kinds:
            terminal.out(Styled(f"errors in {score.name}: ", "red"), _kinds(score.error_kinds))
    if summary.latency_ms.n:
        terminal.out(_latency_line(summary.latency_ms))
    for role, usage in summary.usage.items():
        terminal.out(usage_line(role, usage))
    if summary.failures:
        terminal.out(attempts_line(summary.failures, summary.retries))
    # That a quantity is unscaled is to be seen in its row.
    if flags := {flag: n for flag, n in summary.flags.items() if flag != UNSCALED}:
        terminal.out("flags: " + ", ".join(f"{n} × {flag}" for flag, n in flags.items()))
    for result in thresholds:
        terminal.out(Styled(str(result), "green" if result.holds else "red"))


def _kinds(kinds: dict[str, int]) -> str:
    most = sorted(kinds.items(), key=lambda one: -one[1])
    return ", ".join(f"{n} × {kind}" for kind, n in most[:MOST_ROWS])


def _outcomes_line(outcomes: Outcomes) -> str:
    counts = (
        f"{count(outcomes.n, 'trial')}: {outcomes.passed:,} passed, {outcomes.failed:,} failed, "
        f"{count(outcomes.errors, 'error')}, {outcomes.skipped:,} skipped"
    )
    rate, interval = outcomes.pass_rate, outcomes.pass_interval
    if rate is None or interval is None:
        return counts
    return f"{counts}; pass rate {rate:.0%} (95 % interval {interval.low:.0%} – {interval.high:.0%})"


def _latency_line(latency: Quantiles) -> str:
    return (
        f"response times: mean {milliseconds(latency.mean)}, p50 {milliseconds(latency.p50)}, "
        f"p95 {milliseconds(latency.p95)}, max {milliseconds(latency.max)}"
    )
