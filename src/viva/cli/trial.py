"""One trial on the terminal: its conversation, what was observed, its scores with their reasons."""

from __future__ import annotations

import json
from collections.abc import Sequence

from viva.cli.progress import OUTCOME_STYLES
from viva.cli.tables import attempts_line, count, number, usage_line
from viva.cli.terminal import Part, Styled, terminal
from viva.cli.transcript import show_turn
from viva.core.evidence import Evidence, Observed
from viva.core.score import AnyScore, Score, ScoreError
from viva.core.text import shorten
from viva.report.blame import whose_error
from viva.report.quantity import milliseconds, quantity
from viva.report.why import flat
from viva.scoring.scorer import UNSCALED

MOST_CHARACTERS = 2000
"""Of one observed value; `--json` has the whole."""

MOST_BODY_CHARACTERS = 1000
"""Of what an agent answered in place of a reply."""


def show_trial(evidence: Evidence, scores: Sequence[AnyScore]) -> None:
    """Write one trial."""
    ending = evidence.ending
    terminal.out(Styled(evidence.trial, "bold"), "  ", Styled(ending.kind, "green" if ending.ok else "red"))
    if ending.because:
        terminal.out(flat(ending.because))
    _show_body(ending.body)
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
        name = f"{score.name} (pitfall): " if score.weight < 0 else f"{score.name}: "
        match score:
            case Score():
                found, reason = _found(score), flat(score.reason)
                terminal.out(name, found, f"  {reason}" if reason not in ("", found) else "")
            case ScoreError():
                first, *rest = shorten(score.detail, MOST_CHARACTERS).split("\n")
                terminal.out(name, Styled(f"error {score.kind}", OUTCOME_STYLES["error"]), f"  {first}")
                for line in rest:  # Under a line of its own, a caret points where it should.
                    terminal.out(f"{'':>9} │ {line}")
            case _:
                terminal.out(name, Styled("skipped", OUTCOME_STYLES["skipped"]), f"  {flat(score.reason)}")


def _found(score: Score) -> Part:
    """The number, the raw value beside it, and a verdict only where the scorer has one."""
    raw = quantity(score.raw, score.unit)
    if UNSCALED in score.flags:
        return raw
    said = number(score.value) if score.raw is None else f"{number(score.value)} ({raw})"
    return said if score.passed is None else Styled(f"{score.outcome} {said}", OUTCOME_STYLES[score.outcome])


def _show_body(body: str) -> None:
    """What the agent said when it refused: often the only place that tells why."""
    for line in shorten(body.strip(), MOST_BODY_CHARACTERS).split("\n") if body.strip() else ():
        terminal.out(Styled(f"{'body':>9} │ ", "red"), line)


def _show_account(evidence: Evidence) -> None:
    timing = evidence.timing
    times = f"mean {milliseconds(timing.mean_ms)}, p95 {milliseconds(timing.p95_ms)}"
    gave_up = not evidence.ending.ok and evidence.failures > 0 and whose_error(evidence.ending.kind) == "agent"
    failed = attempts_line(evidence.failures, evidence.failures - gave_up)
    terminal.out()
    terminal.out(f"{count(timing.responses, 'response')}, {times}, trial {milliseconds(timing.total_ms)}, {failed}")
    for role, usage in evidence.usage.items():
        terminal.out(usage_line(role, usage))
    if evidence.flags:
        terminal.out("flags: " + ", ".join(evidence.flags))
