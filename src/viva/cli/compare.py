"""`viva compare RUN RUN`: is the second run better than the first, or is that noise?"""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from viva.cli.exit_codes import ExitCode
from viva.cli.options import add_store
from viva.cli.terminal import Column, Part, Styled, terminal

if TYPE_CHECKING:
    from viva.report.compare import Comparison

MOST_CASES = 10
"""Cases listed: those that changed most."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("before", metavar="BEFORE", help="a run's id, or the beginning of one")
    parser.add_argument("after", metavar="AFTER", help="the run to hold against it, or `latest`")
    parser.add_argument("--json", action="store_true", help="print the comparison as JSON on stdout")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Compare two runs."""
    return asyncio.run(_compare(args))


async def _compare(args: argparse.Namespace) -> int:
    from viva.app.project import open_project
    from viva.core.data import to_plain
    from viva.report.compare import compare_runs
    from viva.store.sqlite import SqliteStore

    store = await SqliteStore.open(open_project((), (), args.store).store, read_only=True)
    try:
        found = await compare_runs(store, await store.run(args.before), await store.run(args.after))
    finally:
        await store.close()
    if args.json:
        terminal.json(to_plain(found))
    else:
        _show(found)
    return ExitCode.FINE


def _show(found: Comparison) -> None:
    from viva.report.text import lift_line

    changed = sorted((case for case in found.lift.cases if case.lift), key=lambda case: -abs(case.lift))
    if changed:
        columns = [Column("case"), *(Column(name, right=True) for name in ("before", "after", "change"))]
        rows: list[list[Part]] = [
            [case.case, f"{case.before:.3f}", f"{case.after:.3f}", Styled(f"{case.lift:+.3f}", _style(case.lift))]
            for case in changed[:MOST_CASES]
        ]
        terminal.table(columns, rows)
        terminal.out()
    same = len(found.lift.cases) - len(changed)
    terminal.out(f"{len(changed)} cases changed, {same} did not")
    terminal.out(lift_line(found.lift))
    if found.lift.interval is not None:
        terminal.out(Styled(_verdict(found), "bold"))
    for name in found.differing:
        terminal.err(f"the {name} of the two runs are not the same; only what both have is compared")


def _verdict(found: Comparison) -> str:
    if not found.lift.clear:
        return "no clear difference: the interval holds 0"
    return "the second run is better" if (found.lift.lift.mean or 0) > 0 else "the second run is worse"


def _style(change: float) -> str:
    return "green" if change > 0 else "red"
