"""Waiting until an agent has digested what it was told."""

from __future__ import annotations

from typing import Any

from viva.core.errors import StageError
from viva.core.evidence import Observation
from viva.core.stage import Settle
from viva.expressions.cel import compile_expression
from viva.ports.kit import Kit
from viva.stage.ground import Ground
from viva.stage.look import look

SOURCES = {"cypher": "graph", "sql": "sql", "http": "http"}


async def until_settled(settle: Settle, ground: Ground, kit: Kit, when: str) -> None:
    """Wait a fixed time, then poll the probe until it is satisfied; giving up is an error."""
    clock = kit.clock
    if settle.wait_s:
        await clock.sleep(settle.wait_s)
    if settle.probe is None:
        return
    deadline = clock.monotonic() + settle.timeout_s
    seen = await _look(settle, ground, kit)
    while not _satisfied(settle, seen):
        if clock.monotonic() + settle.every_s > deadline:
            raise StageError(
                f"the agent had not settled {when} within {settle.timeout_s:g} s; the probe last saw {seen!r}",
                kind="not_settled",
                hint="raise `settle.timeout_s`, or check that the agent remembers anything at all",
            )
        await clock.sleep(settle.every_s)
        seen = await _look(settle, ground, kit)


async def _look(settle: Settle, ground: Ground, kit: Kit) -> Any:
    assert settle.probe is not None
    name = settle.probe.name
    if name not in SOURCES:
        raise StageError(f"no probe called {name!r}", kind="unknown_source", hint=f"known: {', '.join(SOURCES)}")
    request = {key: value for key, value in settle.probe.settings.items() if key != "until"}
    if name == "cypher":
        request = {"cypher": request.get("query", ""), "parameters": request.get("parameters", {})}
    return await look(ground, kit, Observation(key="settle", source=SOURCES[name], request=request))


def _satisfied(settle: Settle, seen: Any) -> bool:
    assert settle.probe is not None
    value = _single(seen)
    until = settle.probe.settings.get("until")
    if until is None:
        return bool(value)
    return compile_expression(str(until), ("value",)).evaluate({"value": value}) is True


def _single(seen: Any) -> Any:
    """One row of one column is its value; anything else is itself."""
    if isinstance(seen, list) and len(seen) == 1 and isinstance(seen[0], dict) and len(seen[0]) == 1:
        return next(iter(seen[0].values()))
    return seen
