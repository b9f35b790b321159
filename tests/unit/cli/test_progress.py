"""What a person hears while a run goes on."""

from __future__ import annotations

from typing import Any

import pytest

from viva.cli.progress import EVERY_S, Progress
from viva.cli.terminal import Terminal
from viva.core.run import Run
from viva.core.score import TrialResult
from viva.core.transcript import Turn
from viva.core.usage import Usage
from viva.engine.events import RunStarted, TrialFinished, TurnTaken, Warned


class Watch:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def started(planned: int, owed: int) -> RunStarted:
    return RunStarted(run=Run(id="r", suite="s", suite_hash="h", planned=planned), owed=owed, unscored=0, resumed=False)


def finished(outcome: Any = "pass", cost_usd: float | None = None) -> TrialFinished:
    usage = {"judge": Usage(calls=1, cost_usd=cost_usd)}
    return TrialFinished(result=TrialResult(trial="t", case="t", outcome=outcome, usage=usage, reason="because"))


def test_the_status_tells_failed_errors_rate_cost_and_time_left() -> None:
    watch = Watch()
    progress = Progress(monotonic=watch)
    progress(started(planned=10, owed=10))
    for outcome in ("pass", "fail", "error", "pass"):
        progress(finished(outcome, cost_usd=0.01))
    watch.now += 2.0
    assert progress.status() == "1 failed, 1 error, 2.0/s, $0.0400, 0:03 left"


def test_an_unknown_cost_is_not_shown_as_nothing() -> None:
    progress = Progress(monotonic=Watch())
    progress(started(planned=2, owed=2))
    progress(finished())
    assert "$" not in progress.status()


def test_a_resumed_run_does_not_count_old_trials_as_speed() -> None:
    watch = Watch()
    progress = Progress(monotonic=watch)
    progress(started(planned=100, owed=10))
    progress(finished())
    watch.now += 1.0
    assert progress.status() == "0 failed, 0 errors, 1.0/s, 0:09 left"


def test_a_log_gets_a_line_now_and_then_and_a_quiet_one_none(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet, lines in ((False, 2), (True, 0)):
        watch = Watch()
        progress = Progress(quiet=quiet, to=Terminal(), monotonic=watch)
        progress(started(planned=100, owed=100))
        for _ in range(50):
            watch.now += EVERY_S / 20
            progress(finished())
        assert capsys.readouterr().err.count("\n") == lines


def test_warnings_are_heard_even_when_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    Progress(quiet=True, to=Terminal())(Warned(text="the price of\nx is not known"))
    assert capsys.readouterr().err == "warning: the price of x is not known\n"


def test_the_conversation_is_heard_live_only_when_verbose(capsys: pytest.CaptureFixture[str]) -> None:
    turn = TurnTaken(trial="france", turn=Turn(role="assistant", text="Paris", latency_ms=12.0))
    Progress(to=Terminal())(turn)
    assert capsys.readouterr().err == ""
    progress = Progress(verbose=True, to=Terminal())
    progress(turn)
    progress(finished("fail"))
    assert capsys.readouterr().err == "france  assistant │ Paris  (12 ms)\nt  fail  because\n"
