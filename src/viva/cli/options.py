"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

import argparse
import math


def add_store(parser: argparse.ArgumentParser) -> None:
    """Where runs are kept."""
    parser.add_argument(
        "--store", metavar="PATH", help="where runs are kept (else VIVA_STORE, else .viva/viva.db of the project)"
    )


def add_output(parser: argparse.ArgumentParser) -> None:
    """How much is said, and in which form."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON on stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress, and one line of result")
    parser.add_argument("-v", "--verbose", action="store_true", help="show conversations as they happen, on stderr")


def add_report(parser: argparse.ArgumentParser) -> None:
    """A file for people."""
    parser.add_argument(
        "--report", metavar="FILE", help="write a text report to this file: scores, facts and every transcript"
    )


def add_trust(parser: argparse.ArgumentParser) -> None:
    """What a suite may use; it can never allow anything itself."""
    parser.add_argument(
        "--allow",
        metavar="MODULE",
        action="append",
        default=[],
        help="let suites import this module, or start a program: command:NAME (repeatable)",
    )
    parser.add_argument(
        "--allow-env",
        metavar="NAME",
        action="append",
        default=[],
        help="let suites read this environment variable as env:NAME (repeatable)",
    )


def add_roles(parser: argparse.ArgumentParser) -> None:
    """Which model plays which part."""
    parser.add_argument("--model", metavar="NAME", help="the model the agent should use, passed on to it")
    parser.add_argument("--user", metavar="NAME", help="the model that plays the user")
    parser.add_argument("--judge", metavar="NAME", help="the model that judges criteria")


def add_ceilings(parser: argparse.ArgumentParser) -> None:
    """Ceilings of the whole run, and how many trials are in flight."""
    parser.add_argument("-c", "--concurrency", metavar="N", type=at_least_one, help="trials in flight at once")
    parser.add_argument("--budget", metavar="USD", type=positive, help="stop when the run has cost so much")
    parser.add_argument("--max-seconds", metavar="S", type=positive, help="stop after so many seconds")
    parser.add_argument("--no-cache", action="store_true", help="ask models anew instead of using stored replies")


def add_fail_under(parser: argparse.ArgumentParser) -> None:
    """The threshold of the command line."""
    parser.add_argument(
        "--fail-under", metavar="X", type=share, help="exit with 1 when the mean score of the run is below X (0 to 1)"
    )


def at_least_one(text: str) -> int:
    """A whole number of 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


def positive(text: str) -> float:
    """A number above 0."""
    number = float(text)
    if not math.isfinite(number) or number <= 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return number


def share(text: str) -> float:
    """A number from 0 to 1."""
    number = float(text)
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text} does not lie between 0 and 1")
    return number
