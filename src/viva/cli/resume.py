"""`viva resume RUN`: do exactly what an interrupted run still lacks."""

from __future__ import annotations

import argparse

from viva.cli.options import add_ceilings, add_fail_under, add_lenient, add_output, add_report, add_store, add_trust


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("id", metavar="RUN", help="a run's id, the beginning of one, or `latest`")
    add_ceilings(parser)
    add_fail_under(parser)
    add_trust(parser)
    add_lenient(parser)
    add_report(parser)
    add_store(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Go on with a run."""
    from viva.app import RunSpec, resume
    from viva.cli.examined import execute, limits_of, tell, watch

    progress = watch(args)
    spec = RunSpec(
        suite="",
        concurrency=args.concurrency,
        limits=limits_of(args),
        store=args.store,
        allow=tuple(args.allow),
        allow_env=tuple(args.allow_env),
        cache=not args.no_cache,
        lenient=args.lenient,
        on_notice=progress,
    )
    return tell(execute(spec, progress, args, lambda: resume(args.id, spec)), args)
