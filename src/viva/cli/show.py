"""`viva show RUN [TRIAL]`: a run as a whole, or one trial with everything that is known about it."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from viva.cli.exit_codes import ExitCode
from viva.cli.options import add_report, add_store
from viva.cli.terminal import terminal

if TYPE_CHECKING:
    from viva.core.run import Run
    from viva.ports.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("id", metavar="RUN", help="a run's id, the beginning of one, or `latest`")
    parser.add_argument("trial", metavar="TRIAL", nargs="?", help="a trial's name, as tables show it")
    parser.add_argument("--trials", action="store_true", help="list every trial of the run")
    parser.add_argument(
        "--scoring", metavar="NAME", default="", help="show a re-scoring instead of the run's own scores"
    )
    parser.add_argument("--json", action="store_true", help="print JSON on stdout; with --trials, one trial per line")
    add_report(parser)
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Show a run or a trial."""
    return asyncio.run(_show(args))


async def _show(args: argparse.Namespace) -> int:
    from viva.app.project import open_project
    from viva.store.sqlite import SqliteStore

    store = await SqliteStore.open(open_project((), (), args.store).store, read_only=True)
    try:
        found = await store.run(args.id)
        await _check_scoring(store, found, args.scoring)
        if args.trial is not None:
            await _show_trial(store, found, args)
        elif args.trials and args.json:
            await _stream_trials(store, found, args.scoring)
        else:
            await _show_run(store, found, args)
    finally:
        await store.close()
    return ExitCode.FINE


async def _check_scoring(store: Store, run: Run, scoring: str) -> None:
    from viva.core.errors import SuiteError
    from viva.registry import suggest

    if not scoring:
        return
    names = await store.scorings(run.id)
    if scoring in names:
        return
    hint = suggest(scoring, names) if names else f"there is none yet: viva score {run.id} --name {scoring} makes one"
    raise SuiteError(f"run {run.id} has no scoring called {scoring!r}", kind="not_found", hint=hint)


async def _show_run(store: Store, run: Run, args: argparse.Namespace) -> None:
    from viva.cli.outcome import print_run, read_outcome, write_report

    outcome = await read_outcome(store, run, scoring=args.scoring, every_trial=args.trials)
    if args.report:
        await write_report(args.report, store, outcome, args.scoring)
    print_run(outcome, as_json=args.json)


async def _stream_trials(store: Store, run: Run, scoring: str) -> None:
    from viva.core.data import to_plain

    async for result, scores in store.all_results(run.id, scoring):
        terminal.json({**to_plain(result), "scores": to_plain(scores)}, indent=None)


async def _show_trial(store: Store, run: Run, args: argparse.Namespace) -> None:
    from viva.cli.trial import show_trial
    from viva.core.data import to_plain

    evidence = await store.evidence(run.id, args.trial)
    scores = await store.scores(run.id, args.trial, args.scoring)
    if args.json:
        terminal.json({"evidence": to_plain(evidence), "scores": to_plain(scores)})
    else:
        show_trial(evidence, scores)
