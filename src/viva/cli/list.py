"""`viva list`: the runs in the store, newest first."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from viva.cli.exit_codes import ExitCode
from viva.cli.options import add_store, at_least_one
from viva.cli.terminal import Column, Part, Styled, terminal

if TYPE_CHECKING:
    from viva.core.run import Run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("--suite", metavar="NAME", help="only runs of this suite")
    parser.add_argument("--limit", metavar="N", type=at_least_one, default=50, help="at most so many (50)")
    parser.add_argument("--json", action="store_true", help="print the runs as JSON on stdout")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """List runs."""
    return asyncio.run(_list(args))


async def _list(args: argparse.Namespace) -> int:
    from viva.app.project import open_project
    from viva.core.data import to_plain
    from viva.store.sqlite import SqliteStore

    store = await SqliteStore.open(open_project((), (), args.store).store, read_only=True)
    try:
        runs = (await store.runs(args.suite))[: args.limit]
        tallies = [await store.tally(one.id) for one in runs]
    finally:
        await store.close()
    if args.json:
        terminal.json([{**to_plain(one), "done": tally.results} for one, tally in zip(runs, tallies, strict=True)])
    elif not runs:
        terminal.out("no runs yet")
    else:
        rows = [_row(one, tally.results) for one, tally in zip(runs, tallies, strict=True)]
        terminal.table(
            [Column("run"), Column("suite"), Column("status"), Column("done", right=True), Column("begun")], rows
        )
    return ExitCode.FINE


def _row(run: Run, done: int) -> list[Part]:
    from viva.cli.tables import STATUS_STYLES

    begun = run.created_at[:19].replace("T", " ")
    return [run.id, run.suite, Styled(run.status, STATUS_STYLES[run.status]), f"{done:,}/{run.planned:,}", begun]
