"""`viva import FILE`: read an exported run into the store, even when the file was torn."""

from __future__ import annotations

import argparse
import asyncio

from viva.cli.exit_codes import ExitCode
from viva.cli.options import add_store
from viva.cli.terminal import terminal

SHOWN = 10
"""Bad lines listed one by one."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("file", metavar="FILE", help="a file that `viva export` wrote")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Import a run; everything whole is taken, and what is not is said, with its line."""
    return asyncio.run(_import(args))


async def _import(args: argparse.Namespace) -> int:
    from viva.app.project import open_project
    from viva.cli.tables import count
    from viva.store.export import import_run
    from viva.store.sqlite import SqliteStore

    store = await SqliteStore.open(open_project((), (), args.store).store)
    try:
        report = await import_run(store, args.file)
    finally:
        await store.close()
    terminal.out(f"run {report.run}: {count(report.evidence, 'trial')}, {count(report.results, 'result')} taken in")
    for bad in report.bad[:SHOWN]:
        terminal.error(f"{args.file}:{bad.number}: {bad.reason}")
    if not report.complete:
        terminal.error(f"the file is not whole: {count(report.bad_lines, 'bad line')}; what is whole was taken")
        return ExitCode.TRIAL_ERRORS
    return ExitCode.FINE
