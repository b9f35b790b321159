"""`viva score RUN`: score stored evidence again, without talking to the agent."""

from __future__ import annotations

import argparse

from viva.cli.options import add_ceilings, add_fail_under, add_lenient, add_output, add_report, add_store, add_trust


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument("id", metavar="RUN", help="a run's id, the beginning of one, or `latest`")
    parser.add_argument("--suite", metavar="FILE", help="score by this suite instead of the stored one")
    parser.add_argument("--name", metavar="NAME", default="", help="what to call the scores (else the date and time)")
    parser.add_argument("--judge", metavar="NAME", help="the model that judges criteria")
    add_ceilings(parser)
    add_fail_under(parser)
    add_trust(parser)
    add_lenient(parser)
    add_report(parser)
    add_store(parser)
    add_output(parser)


def run(args: argparse.Namespace) -> int:
    """Score a run once more; its own scores are kept."""
    from viva.app import RunSpec, rescore
    from viva.cli.examined import execute, limits_of, tell, watch
    from viva.cli.terminal import terminal
    from viva.core.suite import Roles

    progress = watch(args)
    spec = RunSpec(
        suite=args.suite or "",
        roles=Roles(judge=args.judge),
        concurrency=args.concurrency,
        limits=limits_of(args),
        store=args.store,
        allow=tuple(args.allow),
        allow_env=tuple(args.allow_env),
        cache=not args.no_cache,
        lenient=args.lenient,
        on_notice=progress,
    )
    view = execute(spec, progress, args, lambda: rescore(args.id, spec, args.name))
    code = tell(view, args)
    if not args.quiet:
        terminal.hint(f"these scores are called {view.scoring}: viva show {view.id} --scoring {view.scoring}")
    return code
