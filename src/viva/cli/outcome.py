"""What became of a run: read from the store, shown as tables or JSON, and turned into an exit code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.cli.exit_codes import ExitCode
from viva.cli.tables import MOST_ROWS, TrialRow, count, number, show_run, show_trials
from viva.cli.terminal import terminal
from viva.core.data import Data, to_plain
from viva.core.errors import SetupError
from viva.core.run import Run, RunStatus
from viva.core.secret import redactor
from viva.core.threshold import Threshold
from viva.ports.store import Store
from viva.report.summary import Outcomes, Summariser, Summary
from viva.report.text import text_report
from viva.report.thresholds import ThresholdResult, check_thresholds
from viva.report.why import why


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """A run, its summary, and the trials worth a row."""

    run: Run
    summary: Summary
    thresholds: tuple[ThresholdResult, ...]
    shown: tuple[TrialRow, ...]

    def code_after(self, status: RunStatus) -> ExitCode:
        """The exit code the stored results deserve after an execution that ended so."""
        if self.summary.outcomes.errors or status in ("aborted", "interrupted"):
            return ExitCode.TRIAL_ERRORS
        below = not all(result.holds for result in self.thresholds)
        return ExitCode.BELOW_THRESHOLD if below else ExitCode.FINE


async def read_outcome(
    store: Store, run: Run, *, scoring: str = "", fail_under: float | None = None, every_trial: bool = False
) -> RunOutcome:
    """Read a run's results once, keeping sums and a few rows."""
    summariser = Summariser()
    first: list[TrialRow] = []
    unlucky: list[TrialRow] = []
    async for result, scores in store.all_results(run.id, scoring):
        summariser.add(result, scores)
        if every_trial or len(first) < MOST_ROWS:
            first.append(TrialRow(result, why(result, scores)))
        if result.outcome != "pass" and len(unlucky) < MOST_ROWS:
            unlucky.append(TrialRow(result, why(result, scores)))
    summary = summariser.summary()
    fits = every_trial or summary.outcomes.n <= MOST_ROWS
    return RunOutcome(
        run=run,
        summary=summary,
        thresholds=check_thresholds(_thresholds(run, fail_under), summary),
        shown=tuple(first if fits else unlucky),
    )


async def write_report(
    file: str, store: Store, outcome: RunOutcome, scoring: str = "", *, append: bool = False
) -> None:
    """Write the text report of a run to a file. Raises SetupError when that cannot be done."""
    try:
        with Path(file).open("a" if append else "w", encoding="utf-8") as target:  # noqa: ASYNC230  (the run is over)
            async for line in text_report(store, outcome.run, outcome.summary, scoring):
                target.write(redactor.text(line) + "\n")
    except OSError as error:
        raise SetupError(f"cannot write the report: {error.strerror}", kind="not_writable", where=file) from error


def print_run(outcome: RunOutcome, *, as_json: bool = False, quiet: bool = False, code: int | None = None) -> None:
    """Show a run: JSON, one line, or tables."""
    if as_json:
        terminal.json(outcome_data(outcome, outcome.code_after(outcome.run.status) if code is None else code))
    elif quiet:
        terminal.out(one_line_result(outcome))
    else:
        if outcome.shown:
            show_trials(outcome.shown, outcome.summary.outcomes.n)
        show_run(outcome.run, outcome.summary, outcome.thresholds)


def outcome_data(outcome: RunOutcome, code: int) -> dict[str, Any]:
    """A run as plain data, for `--json`."""
    summary = outcome.summary
    return {
        "run": to_plain(outcome.run),
        "exit_code": int(code),
        "outcomes": _with_rates(summary.outcomes),
        **{key: value for key, value in explicit(summary).items() if key != "outcomes"},
        "thresholds": [
            {"threshold": str(one.threshold), "number": one.number, "holds": one.holds} for one in outcome.thresholds
        ],
    }


def explicit(value: Any) -> Any:
    """Plain data with every field there, so that a script finds null where nothing is known."""
    if isinstance(value, Data):
        return {name: explicit(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: explicit(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [explicit(item) for item in value]
    return value


def one_line_result(outcome: RunOutcome) -> str:
    """A run in one line, for `--quiet`."""
    counts, score = outcome.summary.outcomes, outcome.summary.score
    return (
        f"{outcome.run.suite} {outcome.run.id}: score {number(score.mean)} (n={score.n}), "
        f"{counts.passed} passed, {counts.failed} failed, {count(counts.errors, 'error')}, {counts.skipped} skipped"
    )


def _thresholds(run: Run, fail_under: float | None) -> Iterable[Threshold]:
    yield from run.thresholds
    if fail_under is not None:
        yield Threshold(metric="score", value=fail_under, scope="run")


def _with_rates(outcomes: Outcomes) -> dict[str, Any]:
    rates = {"pass_rate": outcomes.pass_rate, "error_rate": outcomes.error_rate}
    return {**explicit(outcomes), **rates}
