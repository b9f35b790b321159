"""A run seen from Python: its trials, scores and evidence can be walked; everything is read from the store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from viva.app.door import run_blocking
from viva.core.evidence import Evidence
from viva.core.run import Run, RunStatus
from viva.core.score import AnyScore, Outcome, TrialResult
from viva.engine.course import Course
from viva.report.summary import Summariser, Summary
from viva.store.sqlite import SqliteStore


@dataclass(frozen=True, slots=True, repr=False)
class TrialView:
    """One trial: its result, its scores, and on request its evidence."""

    run: str
    store: Path
    result: TrialResult
    scores: tuple[AnyScore, ...]

    def __repr__(self) -> str:
        """One short line, for notebooks."""
        why = f" ({self.result.error})" if self.result.error else ""
        score = "" if self.score is None else f" {self.score:.3f}"
        return f"<TrialView {self.key}: {self.outcome}{score}{why}>"

    @property
    def key(self) -> str:
        """The trial's name within its run."""
        return self.result.trial

    @property
    def outcome(self) -> Outcome:
        """pass, fail, error or skipped."""
        return self.result.outcome

    @property
    def score(self) -> float | None:
        """The formula's number; None where there is none."""
        return self.result.score

    @property
    def evidence(self) -> Evidence:
        """What was recorded; read from the store each time."""
        return run_blocking(self.read_evidence)

    async def read_evidence(self) -> Evidence:
        """The same, for async code."""
        store = await SqliteStore.open(self.store, read_only=True)
        try:
            return await store.evidence(self.run, self.key)
        finally:
            await store.close()


@dataclass(frozen=True, repr=False)
class RunView:
    """A run as it was left, and how this execution of it went."""

    run: Run
    store: Path
    course: Course = field(default_factory=Course)
    scoring: str = ""
    owed_nothing: bool = False
    """Nothing was missing: nothing was run."""
    resumed: bool = False
    signal: int = 0
    """The signal that stopped it before its end; 0 when none did."""

    def __repr__(self) -> str:
        """One short line, for notebooks; the numbers are read from the store only when they are asked for."""
        scoring = f", scoring {self.scoring}" if self.scoring else ""
        missing = f", {self.not_run} missing" if self.not_run else ""
        return f"<RunView {self.id}: {self.run.suite}{scoring}, {self.status}, {self.planned} planned{missing}>"

    @property
    def id(self) -> str:
        """The run's name in the store."""
        return self.run.id

    @property
    def status(self) -> RunStatus:
        """finished, interrupted, aborted or running."""
        return self.run.status

    @property
    def reason(self) -> str:
        """Why it ended before its end."""
        return self.run.reason

    @property
    def planned(self) -> int:
        """Trials in all."""
        return self.run.planned

    @property
    def not_run(self) -> int:
        """Trials still owed (stopped, or not run for lack of budget)."""
        return self.course.not_run

    @property
    def abandoned(self) -> tuple[str, ...]:
        """Trials whose agent did not let go and was left behind."""
        return tuple(self.course.abandoned)

    @property
    def score(self) -> float | None:
        """The mean of the trials' scores; None without any."""
        return self.summary.score.mean

    @property
    def pass_rate(self) -> float | None:
        """Passed among those that passed or failed; errors are no failures."""
        return self.summary.outcomes.pass_rate

    @cached_property
    def summary(self) -> Summary:
        """The numbers of the run; read from the store when first asked for."""
        return run_blocking(self.read_summary)

    async def read_summary(self) -> Summary:
        """The same, for async code."""
        summariser = Summariser()
        async for trial in self.walk():
            summariser.add(trial.result, trial.scores)
        return summariser.summary()

    @property
    def trials(self) -> list[TrialView]:
        """All scored trials, in the order of the plan."""
        return run_blocking(self._list)

    def __iter__(self) -> Iterator[TrialView]:
        return iter(self.trials)

    def __getitem__(self, key: str) -> TrialView:
        for trial in self.trials:
            if trial.key == key:
                return trial
        raise KeyError(key)

    async def walk(self) -> AsyncIterator[TrialView]:
        """All scored trials, a little at a time, for async code and for runs larger than memory."""
        store = await SqliteStore.open(self.store, read_only=True)
        try:
            async for result, scores in store.all_results(self.id, self.scoring):
                yield TrialView(self.id, self.store, result, tuple(scores))
        finally:
            await store.close()

    async def _list(self) -> list[TrialView]:
        return [trial async for trial in self.walk()]


async def open_view(path: str | Path, run_id: str = "latest", scoring: str = "") -> RunView:
    """View a stored run. Raises StoreError."""
    store = await SqliteStore.open(path, read_only=True)
    try:
        run = await store.run(run_id)
        return RunView(run, store.path, scoring=scoring)
    finally:
        await store.close()
