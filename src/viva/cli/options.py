"""Options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

import argparse
import math
from types import NoneType
from typing import Any


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


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Where the agent is and how it is called, over what the suite says."""
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        dest="settings",
        type=setting,
        action="append",
        default=[],
        help="a setting of the agent, over the suite's: url=http://…, headers.X-Team=a (repeatable)",
    )


def add_lenient(parser: argparse.ArgumentParser) -> None:
    """What an unknown key in a suite means."""
    parser.add_argument("--lenient", action="store_true", help="warn about unknown keys instead of refusing them")


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
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return number


def positive(text: str) -> float:
    """A number above 0."""
    number = _number(text)
    if not math.isfinite(number) or number <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return number


def share(text: str) -> float:
    """A number from 0 to 1."""
    number = _number(text)
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return number


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def setting(text: str) -> tuple[str, Any]:
    """`KEY=VALUE`: the key with dots for what lies inside another, the value as YAML would read it."""
    key, equals, value = text.partition("=")
    if not equals or not all(key.split(".")):
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE, like url=http://127.0.0.1:9000")
    return key, _value(value)


def _value(text: str) -> Any:
    """A number, a word, or with brackets or quotes around it a list, a mapping or a text."""
    from viva.config.tree import plain
    from viva.config.yaml import read_yaml
    from viva.core.errors import SuiteError

    is_marked = text.startswith(("{", "[", '"', "'"))
    try:
        found = plain(read_yaml(text, "--set")) if text else ""
    except SuiteError as error:
        if is_marked:
            raise argparse.ArgumentTypeError(f"{text!r}: {error.message}") from error
        return text
    # `Answer: briefly` is a sentence, not a mapping, and a # in it begins no comment.
    return found if is_marked or isinstance(found, bool | int | float | NoneType) else text
