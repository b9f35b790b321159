"""A claim about something else that can be asked over HTTP: a calendar, a mailbox, another service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.core.data import Data, content_hash
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.score import AnyScore, Score, ScoreError
from viva.expressions.cel import Program, compile_expression
from viva.expressions.errors import ExpressionError
from viva.ports.kit import Kit


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


class Probe:
    """Calls before the world is put away, and evaluates afterwards."""

    Settings = ProbeSettings
    name = "probe"
    version = "1"

    def __init__(self, settings: ProbeSettings, kit: Kit) -> None:
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

    @property
    def label(self) -> str:
        """The call and the claim."""
        return f"probe: {self._settings.url} {self._settings.expression}"

    @property
    def hash(self) -> str:
        """Of the call and the claim."""
        return content_hash(self._settings)

    def observations(self) -> tuple[Observation, ...]:
        """The call."""
        return (self._observation,)

    def settled(self, observation: Observation, seen: Observed) -> bool:
        """Whether the claim holds already."""
        try:
            return not seen.error and self._program.evaluate({"value": seen.value}) is True
        except ExpressionError:
            return False

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Pass or fail by the expression; an error where the call or the expression failed."""
        seen = evidence.state.get(self._observation.key)
        if seen is None:
            return [ScoreError(name=self.label, kind="not_observed", detail="the call was not made in this run")]
        if seen.error:
            return [ScoreError(name=self.label, kind=seen.error, detail=seen.detail)]
        try:
            holds = self._program.evaluate({"value": seen.value})
        except ExpressionError as error:
            return [ScoreError(name=self.label, kind="expression_error", detail=str(error))]
        if not isinstance(holds, bool):
            return [ScoreError(name=self.label, kind="expression_error", detail=f"it is {holds!r}, not true or false")]
        reason = f"{self._settings.expression} is {str(holds).lower()}"
        return [Score(name=self.label, value=float(holds), passed=holds, reason=reason, detail={"value": seen.value})]
