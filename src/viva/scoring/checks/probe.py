"""A claim about something else that can be asked over HTTP: a calendar, a mailbox, another service."""

from __future__ import annotations

from typing import Any

from viva.core.data import Data, content_hash
from viva.core.errors import ScorerError
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.score import Score
from viva.expressions.cel import Program, compile_expression
from viva.expressions.errors import ExpressionError
from viva.ports.kit import Kit
from viva.scoring.checks.seen import seen_in
from viva.scoring.scorer import PlainScorer


class ProbeSettings(Data, frozen=True):
    """One call, and an expression over its JSON (`value`) that must be true."""

    url: str
    expression: str
    method: str = "GET"
    headers: dict[str, str] = {}
    body: Any = None
    timeout_s: float = 10.0
    poll_s: float = 0.0
    every_s: float = 0.5


class Probe(PlainScorer):
    """Calls before the world is put away, and evaluates afterwards."""

    Settings = ProbeSettings
    name = "probe"
    version = "1"

    def __init__(self, settings: ProbeSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self.describe(f"{settings.url} {settings.expression}")
        self._settings = settings
        self._program: Program = compile_expression(settings.expression, ("value",))
        request: dict[str, Any] = {"url": settings.url, "method": settings.method, "timeout_s": settings.timeout_s}
        if settings.headers:
            request["headers"] = settings.headers
        if settings.body is not None:
            request["body"] = settings.body
        self._observation = Observation(
            key=f"http:{content_hash(request)}", source="http", request=request, poll_s=settings.poll_s,
            every_s=settings.every_s,
        )  # fmt: skip

    def observations(self) -> tuple[Observation, ...]:
        """The call."""
        return (self._observation,)

    def settled(self, observation: Observation, seen: Observed) -> bool:
        """Whether the claim holds already."""
        try:
            return not seen.error and self._program.evaluate({"value": seen.value}) is True
        except ExpressionError:
            return False

    def look(self, evidence: Evidence) -> Score:
        """Pass or fail by the expression; an error where the call or the expression failed."""
        value = seen_in(evidence.state, self._observation.key)
        try:
            holds = self._program.holds({"value": value})
        except ExpressionError as error:
            raise ScorerError(str(error), kind="expression_error") from error
        return self.claim(holds, f"{self._settings.expression} is {str(holds).lower()}", {"value": value})
