"""One trial on the terminal: its conversation, what was observed, its scores with their reasons."""

from __future__ import annotations

import json
from collections.abc import Sequence

from viva.cli.progress import OUTCOME_STYLES
from viva.cli.tables import count, milliseconds, number, usage_line
from viva.cli.terminal import Styled, terminal
from viva.cli.transcript import show_turn
from viva.core.evidence import Evidence, Observed
from viva.core.score import AnyScore, Score, ScoreError
from viva.core.text import shorten

MOST_CHARACTERS = 2000
"""Of one observed value; `--json` has the whole."""


def show_trial(evidence: Evidence, scores: Sequence[AnyScore]) -> None:
    """Write one trial."""
    ending = evidence.ending
    terminal.out(Styled(evidence.trial, "bold"), "  ", Styled(ending.kind, "green" if ending.ok else "red"))
    if ending.because:
        terminal.out(" ".join(ending.because.split()))
    terminal.out()
    for turn in evidence.transcript.turns:
        show_turn(turn, terminal.out)
    _show_observed("before", evidence.before)
    _show_observed("state", evidence.state)
    _show_scores(scores)
    _show_account(evidence)


def _show_observed(title: str, observed: dict[str, Observed]) -> None:
    for key, seen in observed.items():
        lead = Styled(f"{title:>9} │ {key}: ", "green")
        if seen.error:
            terminal.out(lead, Styled(f"{seen.error}: {seen.detail}", "red"))
        else:
            terminal.out(lead, shorten(json.dumps(seen.value, ensure_ascii=False, default=str), MOST_CHARACTERS))


def _show_scores(scores: Sequence[AnyScore]) -> None:
    terminal.out()
    if not scores:
        terminal.out("no scores")
    for score in scores:
        style = OUTCOME_STYLES[score.outcome]
        match score:
            case Score():
                said, why = f"{score.outcome} {number(score.value)}", score.reason
            case ScoreError():
                said, why = f"error {score.kind}", score.detail
            case _:
                said, why = "skipped", score.reason
        terminal.out(f"{score.name}: ", Styled(said, style), f"  {' '.join(why.split())}")


def _show_account(evidence: Evidence) -> None:
    timing = evidence.timing
    times = f"mean {milliseconds(timing.mean_ms)}, p95 {milliseconds(timing.p95_ms)}"
    failed = count(evidence.failures, "failed attempt")
    terminal.out()
    terminal.out(f"{count(timing.responses, 'response')}, {times}, trial {milliseconds(timing.total_ms)}, {failed}")
    for role, usage in evidence.usage.items():
        terminal.out(usage_line(role, usage))
    if evidence.flags:
        terminal.out("flags: " + ", ".join(evidence.flags))
