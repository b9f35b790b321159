"""What follows an execution, whoever started it: the tables, the way on, and the exit code."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from viva.app import RunSpec, RunView, run_blocking
from viva.cli.exit_codes import ExitCode
from viva.cli.outcome import RunOutcome, print_run, read_outcome, write_report
from viva.cli.progress import Progress
from viva.cli.tables import count
from viva.cli.terminal import terminal
from viva.core.limits import RunLimits
from viva.core.secret import redactor
from viva.store.sqlite import SqliteStore

GRAVITY = (
    ExitCode.FINE,
    ExitCode.BELOW_THRESHOLD,
    ExitCode.TRIAL_ERRORS,
    ExitCode.CONFIGURATION,
    ExitCode.HUNG_UP,
    ExitCode.INTERRUPTED,
    ExitCode.TERMINATED,
)
"""Exit codes, from the least to the gravest news."""


def limits_of(args: argparse.Namespace) -> RunLimits | None:
    """The ceilings of the command line; None when it names none, so that the suite's hold."""
    if args.budget is None and args.max_seconds is None:
        return None
    return RunLimits(seconds=args.max_seconds, cost_usd=args.budget)


def execute(spec: RunSpec, progress: Progress, work: Callable[[], Coroutine[Any, Any, RunView]]) -> RunView:
    """Do the work while the person is kept informed, about its stopping too."""
    spec.stopper.on_ask(lambda: _say_stopping(spec.stopper.asked))
    with progress.watching():
        return run_blocking(work, spec.stopper)


def _say_stopping(asked: int) -> None:
    if asked == 1:
        terminal.hint("finishing what is in flight, then saving; once more stops now")
    elif asked == 2:
        terminal.hint("stopping now; what is finished is saved")


def tell(view: RunView, args: argparse.Namespace) -> int:
    """Show what came of an execution and return its exit code."""
    outcome = run_blocking(lambda: _read(view, args))
    code = code_of(view, outcome)
    print_run(outcome, as_json=args.json, quiet=args.quiet, code=code)
    _tell_more(view, args)
    return code


async def _read(view: RunView, args: argparse.Namespace) -> RunOutcome:
    store = await SqliteStore.open(view.store, read_only=True)
    try:
        outcome = await read_outcome(store, view.run, scoring=view.scoring, fail_under=args.fail_under)
        if args.report:
            await write_report(args.report, store, outcome, view.scoring)
        return outcome
    finally:
        await store.close()


def code_of(view: RunView, outcome: RunOutcome) -> int:
    """The exit code: a signal before errors before thresholds."""
    return 128 + view.signal if view.signal else outcome.code_after(view.course.status)


def worst(codes: Iterable[int]) -> int:
    """The gravest of several exit codes."""
    known = {int(code): rank for rank, code in enumerate(GRAVITY)}
    return max(codes, key=lambda code: known.get(code, len(GRAVITY)))


def _tell_more(view: RunView, args: argparse.Namespace) -> None:
    if view.owed_nothing and not args.quiet:
        terminal.hint(f"nothing was missing: run {view.id} is complete (--fresh runs it again)")
    if view.abandoned:
        left = count(len(view.abandoned), "agent")
        terminal.error(f"{left} did not let go, left behind: {_few(view.abandoned)}")
    course = view.course
    if course.status != "finished":
        terminal.error(f"stopped early: {course.reason or course.status}; {count(course.not_run, 'trial')} missing")
        terminal.hint(f"go on with: {resume_command(view, args)}")
    if redactor.count:
        terminal.err(f"{count(redactor.count, 'secret')} masked in what was stored and shown")


def resume_command(view: RunView, args: argparse.Namespace) -> str:
    """The command that does what is missing, with the permissions this one had."""
    words = ["viva", "resume", view.id]
    if view.scoring:
        words = ["viva", "score", view.id, "--name", view.scoring]
        words += ["--suite", args.suite] if args.suite else []
    for option, values in (("--allow", args.allow), ("--allow-env", args.allow_env)):
        for value in values:
            words += [option, value]
    if args.store:
        words += ["--store", args.store]
    return shlex.join(words)


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + ("…" if len(names) > 5 else "")
