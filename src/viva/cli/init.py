"""`viva init [DIR]`: a starter suite and a tiny agent that run as they are."""

from __future__ import annotations

import argparse

from viva.cli.exit_codes import ExitCode
from viva.cli.terminal import terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("folder", metavar="DIR", nargs="?", default=".", help="where to write (this folder)")
    parser.add_argument("--force", action="store_true", help="replace files that exist")


def run(args: argparse.Namespace) -> int:
    """Write the starter files and say what to do next."""
    from viva.config.starter import FILES, write_starter

    for path in write_starter(args.folder, force=args.force):
        terminal.out(f"wrote {path}")
    place = "" if args.folder == "." else f"cd {args.folder} && "
    terminal.hint(f"now try: {place}viva run {FILES[0]}")
    return ExitCode.FINE
