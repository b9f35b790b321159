"""A fixed list of user turns, with waits and expectations."""

from __future__ import annotations

from typing import Any

from viva.core.data import Data
from viva.core.errors import DriverError, SuiteError
from viva.core.text import shorten, visible
from viva.core.transcript import Turn
from viva.drivers.once import message
from viva.expressions.cel import compile_expression
from viva.expressions.errors import ExpressionError
from viva.expressions.pattern import compile_pattern
from viva.expressions.pattern_syntax import PatternError
from viva.ports.driver import Conversation, Stop
from viva.ports.kit import Kit


class Expect(Data, frozen=True):
    """What the reply to a turn should be; everything given must hold."""

    contains: str = ""
    regex: str = ""
    expression: str = ""
    """In CEL, over `text`, `output` and `turn`."""
    ignore_case: bool = False


class Line(Data, frozen=True):
    """One turn of the user."""

    say: str = ""
    data: Any = None
    wait_s: float = 0.0
    """Before it is said."""
    expect: str | Expect | None = None
    """A text means: the reply contains it."""
    stop_on_miss: bool = False
    """End the conversation where the expectation is not met."""


class ScriptSettings(Data, frozen=True):
    """What is said; without turns, the case's `input` is the list of them."""

    turns: tuple[str | Line, ...] = ()
    stop_on_miss: bool = False


class Expectation:
    """A compiled expectation."""

    def __init__(self, expect: str | Expect) -> None:
        self.expect = Expect(contains=expect) if isinstance(expect, str) else expect
        if self.expect == Expect(ignore_case=self.expect.ignore_case):
            raise SuiteError("script: an expectation expects something", hint="contains, regex or expression")
        try:
            self._pattern = compile_pattern(self.expect.regex, self.expect.ignore_case) if self.expect.regex else None
            source = self.expect.expression
            self._program = compile_expression(source, ("text", "output", "turn")) if source else None
        except PatternError as error:
            raise SuiteError(f"script: {error.message}", kind=error.kind) from error
        except ExpressionError as error:
            raise SuiteError(f"script: {error.display()}", kind=error.kind) from error

    def __str__(self) -> str:
        given = {"contains": self.expect.contains, "regex": self.expect.regex, "expression": self.expect.expression}
        return ", ".join(f"{name} {value!r}" for name, value in given.items() if value)

    def note(self, number: int, reply: Turn) -> dict[str, Any]:
        """What to remember about a reply; `met` is None where it cannot be told."""
        noted: dict[str, Any] = {"turn": number, "expected": str(self)}
        try:
            missed = self._missed(number, reply)
        except (PatternError, ExpressionError) as error:
            return {**noted, "met": None, "error": error.kind, "reason": str(error)}
        got = visible(shorten(reply.text, 120))
        return {**noted, "met": not missed, "reason": f"{missed}: {got!r}" if missed else ""}

    def _missed(self, number: int, reply: Turn) -> str:
        text, part = reply.text, self.expect.contains
        if self.expect.ignore_case:
            text, part = text.casefold(), part.casefold()
        if part and part not in text:
            return f"the reply lacks {self.expect.contains!r}"
        if self._pattern is not None and not self._pattern.search(reply.text):
            return f"the reply does not match {self.expect.regex!r}"
        if self._program is not None:
            bindings = {"text": reply.text, "output": reply.data, "turn": number}
            if not self._program.holds(bindings):
                return self._program.explain(bindings)
        return ""


class Script:
    """Says its lines in order, and notes whether each was answered as expected."""

    Settings = ScriptSettings
    name = "script"
    version = "1"
    shorthand = "turns"

    def __init__(self, settings: ScriptSettings, kit: Kit) -> None:
        self._settings = settings
        self._lines = _compiled(settings.turns)

    async def drive(self, conversation: Conversation) -> Stop:
        """Say every line, or stop at the first miss where the script says so."""
        lines = self._lines or _compiled(_from_input(conversation.case.input, conversation.case.id))
        notes: list[dict[str, Any]] = []
        for number, (line, expectation) in enumerate(lines, start=1):
            if line.wait_s > 0:
                await conversation.wait(line.wait_s)
            text, data = (line.say, line.data) if line.say or line.data is None else message(line.data)
            reply = await conversation.say(text, data)
            if expectation is None:
                continue
            notes.append(expectation.note(number, reply))
            if notes[-1]["met"] is False and (line.stop_on_miss or self._settings.stop_on_miss):
                return Stop(because=f"turn {number} was not answered as expected", notes=_noted(notes))
        return Stop(because="the script is at its end", notes=_noted(notes))


def _noted(notes: list[dict[str, Any]]) -> dict[str, Any]:
    return {"expectations": notes} if notes else {}


def _compiled(turns: tuple[str | Line, ...]) -> list[tuple[Line, Expectation | None]]:
    lines = [Line(say=turn) if isinstance(turn, str) else turn for turn in turns]
    for number, line in enumerate(lines, start=1):
        if not line.say and line.data is None:
            raise SuiteError(f"script: turn {number} says nothing", hint="give it `say` or `data`")
        if line.wait_s < 0:
            raise SuiteError(f"script: turn {number} cannot wait {line.wait_s} s")
    return [(line, Expectation(line.expect) if line.expect is not None else None) for line in lines]


def _from_input(given: Any, case: str) -> tuple[str | Line, ...]:
    if isinstance(given, str):
        return (given,)
    if isinstance(given, list | tuple) and given and all(isinstance(turn, str) for turn in given):
        return tuple(given)
    raise DriverError(
        f"the case {case!r} has no turns to say",
        kind="no_input",
        hint="give the script `turns`, or the case an `input` that is a list of texts",
    )
