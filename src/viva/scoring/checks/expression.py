"""A claim in CEL (or Kotlin, translated) about the evidence."""

from __future__ import annotations

from typing import Literal

from viva.core.data import Data
from viva.core.errors import ScorerError, SuiteError
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.score import Score
from viva.expressions.cel import Program, compile_expression
from viva.expressions.errors import ExpressionError
from viva.expressions.kotlin import kotlin_to_cel
from viva.ports.kit import Kit
from viva.scoring.bindings import BINDINGS, OBSERVED, bind, bind_observed
from viva.scoring.scorer import PlainScorer


class ExpressionSettings(Data, frozen=True):
    """A claim that is true or false."""

    source: str = ""
    language: Literal["cel", "kotlin"] = "cel"
    poll_s: float = 0.0
    """Look at the state again until the claim holds, at most so long: for agents that act a little later."""
    every_s: float = 0.5


class Expression(PlainScorer):
    """Compiled when the suite is loaded; an expression that has no value is an error, never false."""

    Settings = ExpressionSettings
    name = "expression"
    shorthand = "source"

    def __init__(self, settings: ExpressionSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self._settings = settings
        self._program = _compile(settings)
        self.describe(settings.source)

    def observations(self) -> tuple[Observation, ...]:
        """The agent's state, where the expression mentions it."""
        poll_s, every_s = self._settings.poll_s, self._settings.every_s
        return tuple(
            Observation(key=key, poll_s=poll_s, every_s=every_s) for key in OBSERVED if key in self._program.names
        )

    def settled(self, observation: Observation, seen: Observed) -> bool:
        """Whether the claim holds already; only a claim about the state alone can be polled for."""
        if seen.error or self._program.names != {observation.key}:
            return True
        try:
            return self._program.holds({observation.key: bind_observed(observation.key, seen.value)})
        except ExpressionError:
            return False

    def look(self, evidence: Evidence) -> Score:
        """Evaluate; a false claim says which part of it is false."""
        bindings = bind(evidence, self._program.names)
        try:
            holds = self._program.holds(bindings)
            return self.claim(holds, "" if holds else self._program.explain(bindings))
        except ExpressionError as error:
            raise ScorerError(error.display(), kind="expression_error") from error


def _compile(settings: ExpressionSettings) -> Program:
    if not settings.source.strip():
        raise SuiteError("expression: an expression is needed")
    try:
        cel = kotlin_to_cel(settings.source) if settings.language == "kotlin" else settings.source
        return compile_expression(cel, BINDINGS)
    except ExpressionError as error:
        raise SuiteError(f"expression: {error.display()}", kind=error.kind) from error
