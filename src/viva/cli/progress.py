"""Tells a person on stderr how a run is coming on: a live line on a terminal, a line now and then in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from viva.cli.terminal import Styled, Terminal, terminal
from viva.cli.transcript import show_turn
from viva.core.run import Run
from viva.core.score import TrialResult
from viva.core.text import one_line
from viva.engine.events import Notice, RunStarted, TrialFinished, TurnTaken, Warned

EVERY_S = 10.0
"""How often a run that nobody watches says how far it is."""

LIVE_S = 0.2
"""How often the live line is brought up to date; oftener would cost a fast run its speed."""

OUTCOME_STYLES = {"pass": "green", "fail": "yellow", "error": "red", "skipped": "grey"}


class Progress:
    """Listens to a run and keeps the person informed."""

    def __init__(
        self,
        *,
        quiet: bool = False,
        verbose: bool = False,
        to: Terminal = terminal,
        on_start: Callable[[Run], None] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._terminal = to
        self._quiet, self._verbose = quiet, verbose
        self._on_start = on_start
        self._monotonic = monotonic
        self.run_id = ""
        self._began = self._spoke = monotonic()
        self._total = self._done = self._failed = self._errors = self._before = 0
        self._cost_usd: float | None = None
        self._live = not quiet and to.is_terminal("stderr")

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Keep the live line while the body runs, where there is a terminal to keep it on."""
        if not self._live:
            yield
            return
        with self._terminal.progress(0):
            yield

    def __call__(self, notice: Notice) -> None:
        """Hear one notice."""
        match notice:
            case TrialFinished(result=result):
                self._finished(result)
            case TurnTaken(trial=trial, turn=turn) if self._verbose:
                show_turn(turn, self._terminal.err, f"{trial}  ")
            case RunStarted():
                self._started(notice)
            case Warned(text=text):
                self._terminal.err(Styled("warning: ", "yellow"), one_line(text))
            case _:
                return

    def status(self) -> str:
        """Failed, errors, rate, cost and time left, in a few words."""
        elapsed = max(1e-6, self._monotonic() - self._began)
        rate = (self._done - self._before) / elapsed
        parts = [f"{self._failed} failed", f"{self._errors} error{'' if self._errors == 1 else 's'}", f"{rate:.1f}/s"]
        if self._cost_usd is not None:
            parts.append(f"${self._cost_usd:.4f}")
        if rate > 0 and self._done < self._total:
            parts.append(f"{_clock((self._total - self._done) / rate)} left")
        return ", ".join(parts)

    def _started(self, notice: RunStarted) -> None:
        self._began = self._spoke = self._monotonic()
        self.run_id = notice.run.id
        if self._on_start is not None and not self._quiet:
            self._on_start(notice.run)
        self._total = notice.run.planned
        self._done = self._before = max(0, notice.run.planned - notice.owed - notice.unscored)
        if self._live:
            self._terminal.advance(self._done, self._total, "")

    def _finished(self, result: TrialResult) -> None:
        self._done += 1
        self._failed += result.outcome == "fail"
        self._errors += result.outcome == "error"
        for usage in result.usage.values():
            if usage.cost_usd is not None:
                self._cost_usd = (self._cost_usd or 0.0) + usage.cost_usd
        if self._verbose:
            self._say_result(result)
        self._tick()

    def _say_result(self, result: TrialResult) -> None:
        score = "" if result.score is None else f" {result.score:.2f}"
        why = " ".join(one_line(result.reason or result.error).split())
        self._terminal.err(
            f"{result.trial}  ", Styled(result.outcome + score, OUTCOME_STYLES[result.outcome]), f"  {why}"
        )

    def _tick(self) -> None:
        now = self._monotonic()
        if self._quiet or now - self._spoke < (LIVE_S if self._live else EVERY_S):
            return
        self._spoke = now
        if self._live:
            self._terminal.advance(self._done, self._total, self.status())
        else:
            self._terminal.err(f"{self._done}/{self._total} done, {self.status()}")


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
