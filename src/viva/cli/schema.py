"""`viva schema`: the JSON Schema of suite files, for editors."""

from __future__ import annotations

import argparse

from viva.cli.exit_codes import ExitCode
from viva.cli.terminal import terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("-o", "--output", metavar="FILE", help="write it to a file instead of stdout")
    parser.add_argument(
        "--allow", metavar="MODULE", action="append", default=[], help="a module suites may import (repeatable)"
    )


def run(args: argparse.Namespace) -> int:
    """Print the schema, or write it to a file."""
    import json
    from pathlib import Path

    from viva.app.project import open_project
    from viva.config.schema import suite_schema

    schema = suite_schema(open_project(args.allow, (), None).registry)
    if args.output is None:
        terminal.json(schema)
    else:
        Path(args.output).write_text(json.dumps(schema, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        terminal.err(f"wrote {args.output}")
    return ExitCode.FINE
