"""Nothing else changed: the world before and after a conversation, apart from what was meant to change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from viva.core.data import Data
from viva.core.errors import SuiteError
from viva.core.evidence import Evidence, Observation
from viva.core.score import Score
from viva.core.text import shorten
from viva.ports.kit import Kit
from viva.scoring.checks.seen import seen_in
from viva.scoring.scorer import PlainScorer

SHOWN = 10
"""Changes listed in a reason."""


class UnchangedSettings(Data, frozen=True):
    """What must stay as it was, and what may change."""

    source: Literal["graph", "state"] = "graph"
    """The stage's graph, or the agent's own state."""
    labels: tuple[str, ...] = ()
    """Nodes with one of these labels may come, go and change."""
    relationships: tuple[str, ...] = ()
    """Relationships of these types may come and go."""
    paths: tuple[str, ...] = ()
    """Dotted paths of the state that may change, with everything below them."""


class Unchanged(PlainScorer):
    """Pictures before and after, and a readable difference."""

    Settings = UnchangedSettings
    name = "unchanged"
    version = "1"
    shorthand = "labels"

    def __init__(self, settings: UnchangedSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self.label = f"nothing else changed in the {settings.source}"
        if settings.source == "state" and (settings.labels or settings.relationships):
            raise SuiteError("unchanged: labels and relationships are of a graph; use paths for the state")
        self._settings = settings
        graph = settings.source == "graph"
        self._observation = Observation(
            key="graph_snapshot" if graph else "state", source="graph_snapshot" if graph else "subject", when="both"
        )

    def observations(self) -> tuple[Observation, ...]:
        """A picture before and one after."""
        return (self._observation,)

    def look(self, evidence: Evidence) -> Score:
        """Pass when every change was meant."""
        key = self._observation.key
        before, after = seen_in(evidence.before, key), seen_in(evidence.state, key)
        if self._settings.source == "graph":
            return self._verdict(list(_graph_changes(before, after, self._settings)))
        return self._verdict(list(_state_changes(before, after, "", self._settings.paths)))

    def _verdict(self, changes: list[str]) -> Score:
        if not changes:
            return self.claim(True, "nothing else changed")
        more = f"\n… and {len(changes) - SHOWN} more" if len(changes) > SHOWN else ""
        reason = "changed:\n" + "\n".join(changes[:SHOWN]) + more
        return self.claim(False, reason, {"changes": len(changes)})


def _graph_changes(before: Any, after: Any, meant: UnchangedSettings) -> Iterator[str]:
    old, new = before["nodes"], after["nodes"]
    for id_ in {**old, **new}:
        was, now = old.get(id_), new.get(id_)
        if was == now or any(label in meant.labels for label in (now or was)["labels"]):
            continue
        if was is None:
            yield f"+ {_node(now)}"
        elif now is None:
            yield f"- {_node(was)}"
        else:
            yield f"~ {_node(was)} became {_node(now)}"
    old, new = before["links"], after["links"]
    for id_ in {**old, **new}:
        was, now = old.get(id_), new.get(id_)
        if was != now and (now or was)["type"] not in meant.relationships:
            sign = "+" if was is None else "-" if now is None else "~"
            yield f"{sign} -[:{(now or was)['type']}]->"


def _state_changes(before: Any, after: Any, path: str, meant: Sequence[str]) -> Iterator[str]:
    if before == after or any(path == allowed or path.startswith(f"{allowed}.") for allowed in meant):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in {**before, **after}:
            inner = f"{path}.{key}" if path else str(key)
            yield from _state_changes(before.get(key), after.get(key), inner, meant)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from _state_changes(old, new, f"{path}.{index}" if path else str(index), meant)
    else:
        yield f"~ {path or 'the state'}: {shorten(repr(before), 80)} became {shorten(repr(after), 80)}"


def _node(node: Any) -> str:
    properties = ", ".join(f"{key}: {value!r}" for key, value in sorted(node["properties"].items()))
    return f"(:{':'.join(node['labels'])} {{{shorten(properties, 120)}}})"
