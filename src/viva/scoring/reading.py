"""What scorers read from the evidence: the reply, its data, an observation, the reference; each absence has a name."""

from __future__ import annotations

import json
from typing import Any

from msgspec import UNSET

from viva.core.errors import ScorerError
from viva.core.evidence import Evidence
from viva.core.text import shorten, visible

STATE = "state"
LONGEST_FUZZY = 100_000
"""Characters of a text that is compared letter by letter; the cost grows with the product of both lengths."""


class AbsentError(Exception):
    """The answer lacks what a check asks for: a failed claim, with a reason."""

    def __init__(self, reason: str, outcome: str = "missing") -> None:
        super().__init__(reason)
        self.reason = reason
        self.outcome = outcome


def reply_text(evidence: Evidence) -> str:
    """The agent's last words."""
    text = evidence.text
    if text is None:
        raise ScorerError("the agent never answered", kind="no_reply")
    return text


def reply_data(evidence: Evidence) -> Any:
    """The structured data of the last reply, else its text read as JSON. Raises AbsentError where it is neither."""
    if evidence.output is not None:
        return evidence.output
    return text_data(evidence)


def text_data(evidence: Evidence) -> Any:
    """The last reply's text read as JSON, also out of a single code fence."""
    text = reply_text(evidence).strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text[text.index("\n") : -3]
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise AbsentError(
            f"the reply has no structured data, and its text is no JSON: {show(text, 60)}", "not_json"
        ) from None


def observed(evidence: Evidence, key: str) -> Any:
    """What an observation saw. Raises ScorerError when it could not look: that is not the agent's answer."""
    seen = evidence.state.get(key)
    if seen is None:
        raise ScorerError(f"{key!r} was not observed in this run", kind="not_observed")
    if seen.error:
        raise ScorerError(f"observing {key!r} failed: {seen.error}: {seen.detail}", kind="observation_failed")
    return seen.value


def reference(evidence: Evidence, given: Any = UNSET) -> Any:
    """What to compare with: the setting, else the case's `expected`."""
    if given is not UNSET:
        return given
    if evidence.case.expected is None:
        raise ScorerError(
            f"the case {evidence.case.id!r} has nothing to compare with",
            kind="no_expected",
            hint="give the case an `expected`, or the scorer a value",
        )
    return evidence.case.expected


def as_text(value: Any) -> str:
    """A value as the text a person would write: texts as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def show(value: Any, limit: int = 80) -> str:
    """A value, short and safe to print, for a reason."""
    try:
        text = json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else f'"{value[: limit * 2]}"'
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    return visible(shorten(text, limit))


def comparable(*texts: str) -> None:
    """Refuse texts whose letter-by-letter comparison would take too long."""
    for text in texts:
        if len(text) > LONGEST_FUZZY:
            raise ScorerError(
                f"a text of {len(text)} characters is too long to compare (at most {LONGEST_FUZZY})", kind="too_large"
            )


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
