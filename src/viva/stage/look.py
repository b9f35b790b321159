"""Taking observations of the world around the agent."""

from __future__ import annotations

from typing import Any

from viva.core.errors import StageError
from viva.core.evidence import Observation
from viva.ports.kit import Kit
from viva.registry import read_settings
from viva.stage import probe, snapshot
from viva.stage.ground import Ground
from viva.stage.values import plain


async def look(ground: Ground, kit: Kit, observation: Observation) -> Any:
    """Take one observation from the world around the agent."""
    request = dict(observation.request)
    match observation.source:
        case "graph":
            return await ground.graph.read(**request)
        case "graph_snapshot":
            seen = await snapshot.take(ground.graph)  # type: ignore[arg-type]
            return {"nodes": plain(seen.nodes), "links": plain(seen.links)}
        case "sql":
            return await ground.database.read(**request)
        case "http":
            wanted = read_settings(probe.HttpCall, request, "probe")
            assert isinstance(wanted, probe.HttpCall)
            return await probe.call(ground.wire, wanted, kit)
        case other:
            raise StageError(f"nothing called {other!r} can be observed", kind="unknown_source")
