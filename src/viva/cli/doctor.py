"""`viva doctor [SUITE]`: what is installed, configured and reachable, with secrets masked."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING

from viva.cli.exit_codes import ExitCode
from viva.cli.options import add_lenient, add_roles, add_settings, add_store, add_trust
from viva.cli.terminal import Column, Part, Styled, terminal

if TYPE_CHECKING:
    from viva.cli.finding import Finding

STYLES = {"ok": "green", "missing": "grey", "warning": "yellow", "broken": "red"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("suite", metavar="SUITE", nargs="?", help="look also at what this suite needs")
    parser.add_argument("--offline", action="store_true", help="make no connections")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON on stdout")
    add_settings(parser)
    add_roles(parser)
    add_trust(parser)
    add_lenient(parser)
    add_store(parser)


def run(args: argparse.Namespace) -> int:
    """Look at everything; 2 when something that is needed is broken."""
    found = asyncio.run(_look(args))
    if args.json:
        terminal.json([one._asdict() for one in found])
    else:
        terminal.table([Column("what"), Column("state"), Column("found"), Column("hint")], [_row(one) for one in found])
    return ExitCode.CONFIGURATION if any(one.state == "broken" for one in found) else ExitCode.FINE


async def _look(args: argparse.Namespace) -> list[Finding]:
    from viva.app.project import open_project
    from viva.cli import findings
    from viva.cli.needs import Needs
    from viva.core.suite import Roles

    project = open_project(args.allow, args.allow_env, args.store)
    found = [*findings.versions(), *findings.extras(), findings.store(project.store), *findings.keys(project)]
    suite, problem = findings.suite(args, project)
    found += problem
    if suite is None:
        return [*found, *findings.settings(args, project, None, None)]
    needs = Needs(suite, project, Roles(model=args.model, user=args.user, judge=args.judge))
    try:
        found += [*findings.settings(args, project, suite, needs.roles), *needs.problems()]
        return found if args.offline else [*found, *await needs.places()]
    finally:
        await needs.close()


def _row(one: Finding) -> list[Part]:
    return [one.what, Styled(one.state, STYLES[one.state]), one.found, one.hint]
