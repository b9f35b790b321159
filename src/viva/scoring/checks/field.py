"""A claim about one field of the agent's answer or state: at a dotted path, or found by a jq program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from msgspec import UNSET

from viva.core.data import Data
from viva.core.errors import ScorerError, SuiteError
from viva.core.evidence import Evidence, Observation
from viva.core.score import AnyScore, Score
from viva.expressions.pattern import compile_pattern
from viva.expressions.pattern_syntax import PatternError
from viva.ports.kit import Kit
from viva.scoring.checks import jq
from viva.scoring.checks.rows import same
from viva.scoring.path import follow, parse_path
from viva.scoring.reading import (
    STATE,
    AbsentError,
    as_text,
    comparable,
    observed,
    reference,
    reply_data,
    show,
    text_data,
)
from viva.scoring.scorer import PlainScorer


class FieldSettings(Data, frozen=True):
    """Which field, and what it should be. Every comparison that is given must hold; none means: equals `expected`."""

    path: str = ""
    """`a.b[0].c`; indices also as `a.b.0`, other keys as `a["x.y"]`."""
    jq: str = ""
    """A jq program in place of a path; its first result counts."""
    of: Literal["output", "text", "state"] = "output"
    """The reply's data (else its text as JSON), its text as JSON, or the observed state."""
    key: str = STATE
    """Which observation `of: state` looks at."""
    equals: Any = UNSET
    not_equals: Any = UNSET
    tolerance: float | None = None
    """How far a number may be from `equals`."""
    relative: float | None = None
    """The same, as a share of `equals`."""
    fuzzy: float | None = None
    """How similar the text must be to `equals`, from 0 to 100."""
    one_of: tuple[Any, ...] | None = None
    matches: str = ""
    """A pattern, in RE2's syntax."""
    at_least: float | None = None
    at_most: float | None = None
    present: bool | None = None
    absent: bool | None = None


SCALARS = frozenset((str, int, float, bool, type(None)))

Test = Callable[[Any, Evidence], str]
"""Empty when the value is as it should be, else what is wrong with it."""


class Field(PlainScorer):
    """Looks one field up, and compares it. A missing field is a named outcome, never ''."""

    Settings = FieldSettings
    name = "field"

    def __init__(self, settings: FieldSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        _check(settings)
        self._jq = settings.jq
        self._path = parse_path(settings.path)
        self._of = settings.of
        self._key = settings.key
        self._wants_absent = settings.absent is True or settings.present is False
        self._tests = _tests(settings)
        self.describe(settings.jq or settings.path)

    def observations(self) -> tuple[Observation, ...]:
        """The state, where that is what the claim is about."""
        return (Observation(key=self._key),) if self._of == "state" else ()

    def score(self, evidence: Evidence) -> Coroutine[Any, Any, Sequence[AnyScore]]:
        """Compare the field; a jq program runs beside the event loop, in its own process."""
        if not self._jq or evidence.transcript.last_reply is None:
            return super().score(evidence)
        return self._score_jq(evidence)

    async def _score_jq(self, evidence: Evidence) -> Sequence[AnyScore]:
        try:
            data = self._data(evidence)
            found = await asyncio.to_thread(jq.worker.first, self._jq, data)
            return (self._compare(found, evidence),)
        except AbsentError as absent:
            return (self._absent(absent),)
        except ScorerError as error:
            return (self.error(error.kind, str(error)),)

    def look(self, evidence: Evidence) -> Score:
        """Follow the path."""
        try:
            return self._compare(follow(self._data(evidence), self._path), evidence)
        except AbsentError as absent:
            return self._absent(absent)

    def _data(self, evidence: Evidence) -> Any:
        if self._of == "output":
            return reply_data(evidence)
        return text_data(evidence) if self._of == "text" else observed(evidence, self._key)

    def _absent(self, absent: AbsentError) -> Score:
        holds = self._wants_absent and absent.outcome == "missing"
        return self.claim(holds, absent.reason, {"outcome": absent.outcome})

    def _compare(self, found: Any, evidence: Evidence) -> Score:
        detail = {"found": found if type(found) in SCALARS else show(found, 400)}
        if self._wants_absent:
            return self.claim(False, f"it should be absent, and is {show(found)}", detail)
        wrong = [said for test in self._tests if (said := test(found, evidence))]
        return self.claim(not wrong, "; ".join(wrong), detail)


def _check(settings: FieldSettings) -> None:
    if bool(settings.jq) == bool(settings.path):
        raise SuiteError("field: say which field", hint="give `path` or `jq`, one of them")
    if settings.jq:
        jq.check_program(settings.jq)
    for name, limit in (("tolerance", settings.tolerance), ("relative", settings.relative), ("fuzzy", settings.fuzzy)):
        if limit is not None and not 0 <= limit < float("inf"):
            raise SuiteError(f"field: {name} must not be negative")
    if settings.fuzzy is not None and settings.fuzzy > 100:
        raise SuiteError("field: fuzzy goes from 0 to 100")


def _tests(settings: FieldSettings) -> list[Test]:
    tests = [
        _not_equals(settings.not_equals) if settings.not_equals is not UNSET else None,
        _one_of(settings.one_of) if settings.one_of is not None else None,
        _matches(settings.matches) if settings.matches else None,
        _between(settings.at_least, settings.at_most)
        if settings.at_least is not None or settings.at_most is not None
        else None,
    ]
    found = [test for test in tests if test is not None]
    if settings.tolerance is not None or settings.relative is not None:
        found.append(_near(settings.equals, settings.tolerance or 0.0, settings.relative or 0.0))
    elif settings.fuzzy is not None:
        found.append(_similar(settings.equals, settings.fuzzy))
    elif settings.equals is not UNSET or (not found and settings.present is None and settings.absent is None):
        found.append(_equals(settings.equals))
    return found


def _equals(given: Any) -> Test:
    def test(found: Any, evidence: Evidence) -> str:
        wanted = reference(evidence, given)
        if type(found) is type(wanted) and type(found) in SCALARS and found == wanted:
            return ""  # The common case, at a tenth of the price.
        return "" if same(found, wanted) else f"expected {show(wanted)}, got {show(found)}"

    return test


def _not_equals(given: Any) -> Test:
    return lambda found, _: f"it should not be {show(given)}" if same(found, given) else ""


def _one_of(choices: tuple[Any, ...]) -> Test:
    def test(found: Any, evidence: Evidence) -> str:
        if any(same(found, choice) for choice in choices):
            return ""
        return f"expected one of {', '.join(show(choice) for choice in choices)}, got {show(found)}"

    return test


def _matches(source: str) -> Test:
    try:
        pattern = compile_pattern(source)
    except PatternError as error:
        raise SuiteError(f"field: {error.message}", kind=error.kind) from error

    def test(found: Any, evidence: Evidence) -> str:
        try:
            return "" if pattern.search(as_text(found)) else f"{show(found)} does not match {source!r}"
        except PatternError as error:
            raise ScorerError(error.message, kind=error.kind) from error

    return test


def _between(low: float | None, high: float | None) -> Test:
    def test(found: Any, evidence: Evidence) -> str:
        number = as_number(found)
        if number is None:
            return f"expected a number, got {show(found)}"
        if low is not None and number < low:
            return f"expected at least {low:g}, got {show(found)}"
        return f"expected at most {high:g}, got {show(found)}" if high is not None and number > high else ""

    return test


def _near(given: Any, tolerance: float, relative: float) -> Test:
    def test(found: Any, evidence: Evidence) -> str:
        wanted = as_number(reference(evidence, given))
        if wanted is None:
            raise ScorerError("a tolerance needs a number to compare with", kind="no_expected")
        number = as_number(found)
        room = max(tolerance, relative * abs(wanted))
        # A little slack for the last binary digit: 12.1 is within 0.1 of 12.
        if number is not None and abs(number - wanted) <= room + 1e-9 * max(1.0, abs(wanted)):
            return ""
        return f"expected {wanted:g} ± {room:g}, got {show(found)}"

    return test


def _similar(given: Any, least: float) -> Test:
    def test(found: Any, evidence: Evidence) -> str:
        from rapidfuzz.fuzz import ratio

        wanted, text = as_text(reference(evidence, given)), as_text(found)
        comparable(wanted, text)
        similarity = ratio(text, wanted)
        return "" if similarity >= least else f"{similarity:.1f} % like {show(wanted)}, not {least:g} %: {show(text)}"

    return test


def as_number(value: Any) -> float | None:
    """A number, also out of a text; None for anything else, infinities included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < float("inf") else None
