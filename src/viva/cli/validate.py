"""`viva validate FILE…`: read suites and build their parts as a run would, and run nothing."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from viva.cli.exit_codes import ExitCode
from viva.cli.options import add_trust
from viva.cli.terminal import Styled, terminal

if TYPE_CHECKING:
    from viva.app.project import Project


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="a suite")
    parser.add_argument("--lenient", action="store_true", help="warn about unknown keys instead of refusing them")
    parser.add_argument("--json", action="store_true", help="print what was found as JSON on stdout")
    add_trust(parser)


def run(args: argparse.Namespace) -> int:
    """Check every file, and say of each whether it is fine."""
    from viva.app.project import open_project

    project = open_project(args.allow, args.allow_env, None)
    found = [_check(file, project, args.lenient) for file in args.files]
    if args.json:
        terminal.json(found)
    else:
        for one in found:
            _say(one)
    return ExitCode.FINE if all(one["ok"] for one in found) else ExitCode.CONFIGURATION


def _check(file: str, project: Project, lenient: bool) -> dict[str, Any]:
    from viva.cli.rehearsal import rehearse
    from viva.config.load import load_suite
    from viva.core.errors import VivaError
    from viva.engine.plan import count_trials

    warnings: list[str] = []
    try:
        suite = load_suite(
            file,
            registry=project.registry,
            lenient=lenient,
            allow_env=project.environment.allow,
            warn=warnings.append,
        )
        asyncio.run(rehearse(suite, project, warnings.append))
    except VivaError as error:
        said = {"message": error.message, "where": error.where, "hint": error.hint, "kind": error.kind}
        return {"file": file, "ok": False, "error": said, "text": str(error), "warnings": warnings}
    trials = count_trials(suite.cases)
    return {
        "file": file,
        "ok": True,
        "suite": suite.name,
        "cases": len(suite.cases),
        "trials": trials,
        "warnings": warnings,
    }


def _say(found: dict[str, Any]) -> None:
    for warning in found["warnings"]:
        terminal.err(Styled("warning: ", "yellow"), warning)
    if found["ok"]:
        from viva.cli.tables import count

        what = f"{found['suite']}, {count(found['cases'], 'case')}, {count(found['trials'], 'trial')}"
        terminal.out(f"{found['file']}: ", Styled("fine", "green"), f" ({what})")
    else:
        terminal.error(found["text"])
