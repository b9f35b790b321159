"""Which tools the agent called: these, not those, in this order, with these arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.core.data import Data
from viva.core.errors import SuiteError
from viva.core.evidence import Evidence
from viva.core.score import Score
from viva.core.transcript import ToolCall
from viva.ports.kit import Kit
from viva.scoring.checks.rows import same
from viva.scoring.reading import show
from viva.scoring.scorer import PlainScorer


class ToolSpec(Data, frozen=True):
    """A call to look for."""

    name: str
    arguments: dict[str, Any] | None = None
    """These arguments and any others; with `exact`, these alone."""
    exact: bool = False
    count: int | None = None
    at_least: int | None = None
    at_most: int | None = None


Named = str | ToolSpec


class ToolsSettings(Data, frozen=True):
    """What is claimed about the agent's tool calls; everything given must hold."""

    called: Named | tuple[Named, ...] = ()
    """Each of these was called."""
    not_called: Named | tuple[Named, ...] = ()
    """None of these was called."""
    order: tuple[Named, ...] = ()
    """Called in this order; other calls may come between."""
    only: tuple[str, ...] | None = None
    """No tool but these was called; an empty list means none at all."""


class Tools(PlainScorer):
    """Compares the tool calls in the transcript with what is claimed."""

    Settings = ToolsSettings
    name = "tools"
    shorthand = "called"

    def __init__(self, settings: ToolsSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self._called = _specs(settings.called)
        self._not_called = _specs(settings.not_called)
        self._order = _specs(settings.order)
        self._only = settings.only
        if not self._called and not self._not_called and not self._order and self._only is None:
            raise SuiteError("tools: say something about tool calls", hint="called, not_called, order or only")
        refused = [f"not {spec.name}" for spec in self._not_called]
        self.describe(", ".join([spec.name for spec in (*self._called, *self._order)] + refused))

    def look(self, evidence: Evidence) -> Score:
        """Go through the calls of the whole conversation."""
        calls = evidence.transcript.tool_calls
        wrong = [said for spec in self._called if (said := _count_wrong(spec, calls))]
        wrong += [f"{_written(spec)} was called" for spec in self._not_called if any(fits(spec, c) for c in calls)]
        wrong += self._out_of_order(calls)
        if self._only is not None:
            others = dict.fromkeys(call.name for call in calls if call.name not in self._only)
            wrong += [f"{show(name)} was called too" for name in others]
        made = ", ".join(show(call.name) for call in calls[:20]) or "none"
        return self.claim(not wrong, f"{'; '.join(wrong)}; calls made: {made}" if wrong else "")

    def _out_of_order(self, calls: Sequence[ToolCall]) -> list[str]:
        rest = iter(calls)
        for spec in self._order:
            if not any(fits(spec, call) for call in rest):
                return [f"{_written(spec)} was not called in its place"]
        return []


def fits(spec: ToolSpec, call: ToolCall) -> bool:
    """Whether a call is the one that is looked for."""
    if call.name != spec.name:
        return False
    if spec.arguments is None:
        return True
    return same(call.arguments, spec.arguments) if spec.exact else includes(call.arguments, spec.arguments)


def includes(found: Any, wanted: Any) -> bool:
    """Whether data has at least what is wanted: maps may have more keys, everything else is equal."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return all(key in found and includes(found[key], item) for key, item in wanted.items())
    return same(found, wanted)


def _specs(given: Named | tuple[Named, ...]) -> tuple[ToolSpec, ...]:
    many = given if isinstance(given, tuple) else (given,)
    return tuple(ToolSpec(name=item) if isinstance(item, str) else item for item in many)


def _count_wrong(spec: ToolSpec, calls: Sequence[ToolCall]) -> str:
    times = sum(fits(spec, call) for call in calls)
    if spec.count is not None:
        wrong = times != spec.count
    else:
        least = 1 if spec.at_least is None and spec.at_most is None else (spec.at_least or 0)
        wrong = times < least or (spec.at_most is not None and times > spec.at_most)
    return f"{_written(spec)} was called {times} times" if wrong else ""


def _written(spec: ToolSpec) -> str:
    return spec.name if spec.arguments is None else f"{spec.name}({show(spec.arguments)})"
