"""`viva run FILE…`: examine an agent, watch it, and say what came of it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from viva.cli.exit_codes import ExitCode
from viva.cli.options import (
    add_ceilings,
    add_fail_under,
    add_lenient,
    add_output,
    add_report,
    add_roles,
    add_settings,
    add_store,
    add_trust,
    at_least_one,
)

if TYPE_CHECKING:
    from viva.app import RunSpec
    from viva.cli.progress import Progress


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("files", metavar="FILE", nargs="+", help="a suite")
    which = parser.add_argument_group("which cases")
    which.add_argument("-k", metavar="WORDS", dest="match", default="", help="only cases whose id matches: a or not b")
    which.add_argument("--tag", metavar="TAG", action="append", default=[], help="only cases with this tag; repeatable")
    which.add_argument("--limit", metavar="N", type=at_least_one, help="only the first N of those cases")
    which.add_argument("--repeats", metavar="N", type=at_least_one, help="run every case so many times")
    add_settings(parser)
    add_roles(parser)
    add_ceilings(parser)
    parser.add_argument("--fresh", action="store_true", help="begin a new run, whatever the store holds")
    parser.add_argument("--fork", action="store_true", help="begin a new run when the suite has changed")
    add_fail_under(parser)
    add_trust(parser)
    add_lenient(parser)
    add_report(parser)
    add_store(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Run every suite, one after another; the gravest exit code wins."""
    from viva.cli.examined import worst
    from viva.cli.terminal import terminal

    # Several suites are one document too, or no script could read it; what was finished is told even after an error.
    documents: list[dict[str, Any]] | None = [] if args.json and len(args.files) > 1 else None
    codes: list[int] = []
    try:
        for file in args.files:
            codes.append(_run_one(file, args, documents, is_first=not codes))
            if codes[-1] > ExitCode.BUG:  # A signal stopped it.
                break
    finally:
        if documents is not None:
            terminal.json(documents)
    return worst(codes)


def _run_one(file: str, args: argparse.Namespace, documents: list[dict[str, Any]] | None, *, is_first: bool) -> int:
    from viva.app import examine
    from viva.cli.examined import execute, tell, watch

    progress = watch(args, is_first=is_first)
    spec = _spec(file, args, progress)
    return tell(execute(spec, progress, args, lambda: examine(spec)), args, documents)


def _spec(file: str, args: argparse.Namespace, progress: Progress) -> RunSpec:
    from viva.app import RunSpec
    from viva.cli.examined import limits_of
    from viva.core.suite import Roles

    return RunSpec(
        suite=file,
        settings=dict(args.settings),
        roles=Roles(model=args.model, user=args.user, judge=args.judge),
        repeats=args.repeats,
        concurrency=args.concurrency,
        match=args.match,
        tags=tuple(args.tag),
        limit=args.limit,
        limits=limits_of(args),
        store=args.store,
        allow=tuple(args.allow),
        allow_env=tuple(args.allow_env),
        fresh=args.fresh,
        fork=args.fork,
        cache=not args.no_cache,
        lenient=args.lenient,
        on_notice=progress,
    )
