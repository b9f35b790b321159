"""Waiting until an agent has digested what it was told."""

from __future__ import annotations

from typing import Any

from viva.core.errors import StageError, SuiteError
from viva.core.evidence import Observation
from viva.core.ref import Ref
from viva.core.stage import Settle
from viva.expressions.cel import Program, compile_expression
from viva.expressions.errors import ExpressionError
from viva.ports.kit import Kit
from viva.stage.ground import Ground
from viva.stage.look import look

SOURCES = {"cypher": "graph", "sql": "sql", "http": "http"}
QUERY = {"cypher": {"query": "cypher"}, "sql": {"query": "sql", "values": "parameters"}}
"""Settings that have another name where the query is asked."""


class Probe:
    """What is looked at, and when it is satisfied: `until` over the `value` seen, or a value that counts as true."""

    def __init__(self, ref: Ref) -> None:
        if ref.name not in SOURCES:
            raise SuiteError(f"no probe called {ref.name!r}", hint=f"known: {', '.join(SOURCES)}", where=ref.where)
        renamed = QUERY.get(ref.name, {})
        settings = {renamed.get(key, key): value for key, value in ref.settings.items() if key != "until"}
        self._observation = Observation(key="settle", source=SOURCES[ref.name], request=settings)
        self._until = _compiled(ref)

    async def look(self, ground: Ground, kit: Kit) -> Any:
        """Look once."""
        return _single(await look(ground, kit, self._observation))

    def is_satisfied(self, value: Any) -> bool:
        """Whether the agent has settled; what has no value yet (a field still missing) has not."""
        if self._until is None:
            return bool(value)
        try:
            return self._until.evaluate({"value": value}) is True
        except ExpressionError:
            return False


async def until_settled(settle: Settle, ground: Ground, kit: Kit, when: str) -> None:
    """Wait a fixed time, then poll the probe until it is satisfied; giving up is an error."""
    clock = kit.clock
    probe = Probe(settle.probe) if settle.probe is not None else None
    if settle.wait_s:
        await clock.sleep(settle.wait_s)
    if probe is None:
        return
    deadline = clock.monotonic() + settle.timeout_s
    seen = await probe.look(ground, kit)
    while not probe.is_satisfied(seen):
        if clock.monotonic() + settle.every_s > deadline:
            raise StageError(
                f"the agent had not settled {when} within {settle.timeout_s:g} s; the probe last saw {seen!r}",
                kind="not_settled",
                hint="raise `settle.timeout_s`, or check that the agent remembers anything at all",
            )
        await clock.sleep(settle.every_s)
        seen = await probe.look(ground, kit)


def _compiled(ref: Ref) -> Program | None:
    until = ref.settings.get("until")
    if until is None:
        return None
    try:
        return compile_expression(str(until), ("value",))
    except ExpressionError as error:
        text = f"settle: {error.display()}"
        raise SuiteError(text, kind="settle_expression", where=ref.where) from error


def _single(seen: Any) -> Any:
    """One row of one column is its value; anything else is itself."""
    if isinstance(seen, list) and len(seen) == 1 and isinstance(seen[0], dict) and len(seen[0]) == 1:
        return next(iter(seen[0].values()))
    return seen
