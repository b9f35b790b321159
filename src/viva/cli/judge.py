"""`viva judge test`: measure how far a judge can be believed, on a labelled set that ships with viva."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from viva.cli.exit_codes import ExitCode
from viva.cli.options import at_least_one, share
from viva.cli.terminal import Column, Styled, terminal

if TYPE_CHECKING:
    from viva.judging.controls import Controls
    from viva.judging.examination import JudgeReport


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what the command takes."""
    parser.add_argument(
        "action", metavar="test", choices=["test"], help="put labelled questions and null answers before a judge"
    )
    parser.add_argument(
        "--model", "--judge", metavar="NAME", help="the judge to measure (else VIVA_JUDGE, the settings, a key)"
    )
    parser.add_argument("--limit", metavar="N", type=at_least_one, help="only so many items, from all over the set")
    parser.add_argument(
        "--repeats", metavar="K", type=at_least_one, default=1, help="ask K times and take the majority"
    )
    parser.add_argument(
        "-c", "--concurrency", metavar="N", type=at_least_one, default=8, help="calls in flight at once"
    )
    parser.add_argument("--mistakes", action="store_true", help="list what it got wrong")
    parser.add_argument(
        "--fail-under", metavar="X", type=share, help="exit with 1 when its accuracy is below X (0 to 1)"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON on stdout")


def run(args: argparse.Namespace) -> int:
    """Examine the judge; 1 below --fail-under, 3 when there are items it did not judge."""
    report = asyncio.run(_examine(args))
    if args.json:
        terminal.json(_plain(report))
    else:
        _show(report, args.mistakes)
    if report.accuracy is None or report.not_judged or report.controls.errors:
        return ExitCode.TRIAL_ERRORS
    is_low = args.fail_under is not None and report.accuracy < args.fail_under
    return ExitCode.BELOW_THRESHOLD if is_low else ExitCode.FINE


async def _examine(args: argparse.Namespace) -> JudgeReport:
    from viva.app.kit import RunKit
    from viva.app.project import open_project
    from viva.config.settings import choose_roles
    from viva.core.suite import Roles
    from viva.judging.examination import examine_judge
    from viva.judging.judge import JudgeSettings, ModelJudge
    from viva.judging.labelled.load import spread

    project = open_project((), (), None)
    roles = choose_roles(Roles(judge=args.model), Roles(), project.environment, project.settings)
    kit = RunKit(project.registry, project.environment, roles=roles, warn=_warn)
    try:
        # No cache: the time a judge takes is one of the things to be measured.
        judge = ModelJudge(kit.model("judge"), settings=JudgeSettings(repeats=args.repeats))
        return await examine_judge(judge, spread(args.limit), concurrency=args.concurrency)
    finally:
        await kit.close()


def _warn(text: str) -> None:
    terminal.err(Styled("warning: ", "yellow"), text)


def _show(report: JudgeReport, with_mistakes: bool) -> None:
    from viva.models.catalogue import caveat

    terminal.out(Styled(report.judge, "bold"), f" on {report.items} labelled items")
    if warning := caveat(report.judge):
        terminal.out(Styled(warning, "yellow"))
    terminal.table(
        [Column("what"), Column("found", right=True), Column("meaning")], [list(row) for row in _rows(report)]
    )
    if with_mistakes and report.mistakes:
        columns = [Column("item"), Column("criterion"), Column("is"), Column("it said"), Column("because")]
        rows = [[one.item, one.criterion, one.expected, one.answer, one.reason] for one in report.mistakes]
        terminal.table(columns, rows, title="mistakes")


def _rows(report: JudgeReport) -> list[tuple[str, str, str]]:
    expected = report.yes_expected / report.items if report.items else None
    cost = report.usage.cost_usd
    kinds = [
        (f"  {kind}", f"{right}/{judged}" if judged else "none", _MEANING.get(kind, ""))
        for kind, (right, judged) in report.by_kind.items()
    ]
    return [
        ("accuracy", _percent(report.accuracy), _right(report)),
        *kinds,
        ("yes-rate", _percent(report.yes_rate), f"how often it says met; {_percent(expected)} are"),
        ("false positives", _percent(report.controls.rate), _fooled(report.controls)),
        ("not judged", str(report.not_judged), _told(report.errors) or "every reply was a verdict"),
        ("seconds", f"{report.seconds:.1f}", f"{report.usage.calls} calls, {report.usage.tokens} tokens"),
        ("cost", "unknown" if cost is None else f"${cost:.4f}", "" if cost is not None else "no price is known for it"),
    ]


_MEANING = {
    "plain": "one requirement, one reply",
    "tools": "what the tools returned decides",
    "pitfall": "met means that the problem is present",
    "graded": "one of several levels",
    "injection": "the reply talks to the judge",
}


def _plain(report: JudgeReport) -> dict[str, Any]:
    from viva.core.data import to_plain

    found: dict[str, Any] = to_plain(report)
    rates = {"accuracy": report.accuracy, "yes_rate": report.yes_rate, "false_positive_rate": report.controls.rate}
    return {**rates, "judged": report.judged, **found}


def _percent(share_of: float | None) -> str:
    return "none" if share_of is None else f"{share_of:.0%}"


def _right(report: JudgeReport) -> str:
    if not report.judged:
        return f"0 of {report.items} judged: {_told(report.errors)}"
    if report.not_judged:
        missing = f"{report.not_judged} not judged"
        return f"{report.right} of {report.judged} judged right; {missing}; a coin is right on half"
    return f"{report.right} of {report.items} right; a coin is right on half"


def _fooled(controls: Controls) -> str:
    missing = f"; {controls.errors} not judged" if controls.errors else ""
    return f"{controls.false_positives} of {controls.asked} verdicts on null answers credit them{missing}"


def _told(errors: dict[str, int]) -> str:
    return ", ".join(f"{count} × {kind}" for kind, count in errors.items())
