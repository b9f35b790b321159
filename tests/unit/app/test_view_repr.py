"""What a notebook shows of a run: a short line, read from nowhere."""

from pathlib import Path

from viva.app.view import RunView, TrialView
from viva.core.run import Run
from viva.core.score import Score, TrialResult
from viva.engine.course import Course

NOWHERE = Path("no-such-store.db")


def test_a_run_is_one_short_line_and_needs_no_store() -> None:
    run = Run(id="r-1", suite="capitals", suite_hash="h", status="interrupted", planned=60)
    assert repr(RunView(run, NOWHERE, Course(not_run=12))) == (
        "<RunView r-1: capitals, interrupted, 60 planned, 12 missing>"
    )
    assert repr(RunView(run, NOWHERE, scoring="looser")) == (
        "<RunView r-1: capitals, scoring looser, interrupted, 60 planned>"
    )


def test_a_trial_is_one_short_line() -> None:
    scores = (Score(name="x", value=1.0, reason="long " * 500),)
    passed = TrialResult(trial="france#2", case="france", outcome="pass", score=1.0)
    failed = TrialResult(trial="spain", case="spain", outcome="error", error="timed_out")
    assert repr(TrialView("r-1", NOWHERE, passed, scores)) == "<TrialView france#2: pass 1.000>"
    assert repr(TrialView("r-1", NOWHERE, failed, ())) == "<TrialView spain: error (timed_out)>"
