"""What follows an execution, whoever started it: the tables, the way on, and the exit code."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from viva.app import RunSpec, RunView, run_blocking
from viva.cli.exit_codes import ExitCode
from viva.cli.outcome import RunOutcome, outcome_data, print_run, read_outcome, write_report
from viva.cli.permissions import tell_permissions
from viva.cli.progress import Progress
from viva.cli.tables import count
from viva.cli.terminal import terminal
from viva.core.errors import StoreError
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


def watch(args: argparse.Namespace, *, is_first: bool = True) -> Progress:
    """Who keeps the person informed; permissions are told with the first suite only."""
    return Progress(quiet=args.quiet, verbose=args.verbose, on_start=tell_permissions if is_first else None)


def execute(
    spec: RunSpec, progress: Progress, args: argparse.Namespace, work: Callable[[], Coroutine[Any, Any, RunView]]
) -> RunView:
    """Do the work while the person is kept informed, about its stopping too."""
    spec.stopper.on_ask(lambda: _say_stopping(spec.stopper.asked))
    try:
        with progress.watching():
            return run_blocking(work, spec.stopper)
    except (StoreError, OSError) as error:
        if progress.run_id:  # What was stored before the disk was full can be gone on with.
            scoring = getattr(args, "name", None)
            error.add_note(f"go on with: {resume_command(progress.run_id, scoring, args)}")
        raise


def _say_stopping(asked: int) -> None:
    if asked == 1:
        terminal.hint("finishing what is in flight, then saving; once more stops now")
    elif asked == 2:
        terminal.hint("stopping now; what is finished is saved")


def tell(view: RunView, args: argparse.Namespace, documents: list[dict[str, Any]] | None = None) -> int:
    """Show what came of an execution and return its exit code; JSON goes to the documents where there are any."""
    outcome = run_blocking(lambda: _read(view, args))
    code = code_of(view, outcome)
    if documents is None:
        print_run(outcome, as_json=args.json, quiet=args.quiet, code=code)
    else:
        documents.append(outcome_data(outcome, code))
    _tell_more(view, args)
    return code


async def _read(view: RunView, args: argparse.Namespace) -> RunOutcome:
    store = await SqliteStore.open(view.store, read_only=True)
    try:
        outcome = await read_outcome(store, view.run, scoring=view.scoring, fail_under=args.fail_under)
        if args.report:
            # Of several suites, one report after the other.
            await write_report(args.report, store, outcome, view.scoring, append=getattr(args, "reported", False))
            args.reported = True
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
        terminal.hint(f"go on with: {resume_command(view.id, view.scoring or None, args)}")
    if redactor.count:
        terminal.err(f"{count(redactor.count, 'secret')} masked in what was stored and shown")


def resume_command(run_id: str, scoring: str | None, args: argparse.Namespace) -> str:
    """The command that does what is missing, with the permissions this one had; None is no scoring but the run."""
    words = ["viva", "resume", run_id]
    if scoring is not None:
        words = ["viva", "score", run_id, *(["--name", scoring] if scoring else [])]
        words += ["--suite", args.suite] if args.suite else []
    words += ["--lenient"] if args.lenient else []
    for option, values in (("--allow", args.allow), ("--allow-env", args.allow_env)):
        for value in values:
            words += [option, value]
    if args.store:
        words += ["--store", args.store]
    return shlex.join(words)


def _few(names: tuple[str, ...]) -> str:
    return ", ".join(names[:5]) + ("…" if len(names) > 5 else "")
