"""`viva export RUN FILE`: a run as lines of JSON, to keep or to send."""

from __future__ import annotations

import argparse
import asyncio

from viva.cli.exit_codes import ExitCode
from viva.cli.options import add_store
from viva.cli.terminal import terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("id", metavar="RUN", help="a run's id, the beginning of one, or `latest`")
    parser.add_argument("file", metavar="FILE", help="where to write it; the file appears whole or not at all")
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Export a run."""
    return asyncio.run(_export(args))


async def _export(args: argparse.Namespace) -> int:
    from viva.app.project import open_project
    from viva.cli.tables import count
    from viva.store.export import export_run
    from viva.store.sqlite import SqliteStore

    store = await SqliteStore.open(open_project((), (), args.store).store, read_only=True)
    try:
        end = await export_run(store, args.id, args.file)
    finally:
        await store.close()
    terminal.out(f"wrote {args.file}: {count(end.cases, 'case')}, {count(end.evidence, 'trial')}")
    return ExitCode.FINE
