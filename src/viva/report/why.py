"""Why a trial ended as it did, in a line: the first score that says so, and what it says."""

from __future__ import annotations

import re
from collections.abc import Sequence

from viva.core.score import AnyScore, Score, ScoreError, TrialResult
from viva.core.text import one_line

_COUNTED = re.compile(r"(\d+ of \d+) judged")


def why(result: TrialResult, scores: Sequence[AnyScore]) -> str:
    """What a reader wants to know first about a trial; '' where there is nothing to say."""
    match result.outcome:
        case "error":
            return _of_error(result, [score for score in scores if isinstance(score, ScoreError)])
        case "fail":
            return _of_failure(result, [score for score in scores if isinstance(score, Score)])
        case _:
            return flat(_kind_and_reason(result.error, _in_words(result.reason, scores)))


def _of_error(result: TrialResult, errors: list[ScoreError]) -> str:
    deciding = [error for error in errors if error.kind == result.error]
    if not deciding:
        return flat(_kind_and_reason(result.error, result.reason))
    first = next((error for error in deciding if error.weight), deciding[0])
    return flat(f"{first.kind}: {first.name}: {first.detail}") + _more(len(errors) - 1, "error")


def _of_failure(result: TrialResult, scores: list[Score]) -> str:
    failed = [score for score in scores if score.passed is False and score.weight]
    if not failed:
        return flat(result.reason)
    first = f"{failed[0].name}: {failed[0].reason}" if failed[0].reason else failed[0].name
    said = flat(first) + _more(len(failed) - 1, "failed")
    # A threshold that was missed is the verdict; the score is where to look.
    return said if result.reason.startswith("failed: ") else f"{flat(result.reason)}; {said}"


def _in_words(reason: str, scores: Sequence[AnyScore]) -> str:
    """Only criteria are judged; anything else is scored."""
    if all(score.section == "criteria" for score in scores):
        return reason
    return _COUNTED.sub(r"\1 scored", reason)


def _kind_and_reason(kind: str, reason: str) -> str:
    return f"{kind}: {reason}" if kind and reason else kind or reason


def _more(number: int, what: str) -> str:
    return f" (and {number} more {what}{'s' * (what == 'error' and number > 1)})" if number > 0 else ""


def flat(text: str) -> str:
    """A text in one line, with single spaces."""
    return " ".join(one_line(text).split())
