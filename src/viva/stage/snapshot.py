"""A picture of a small graph before a trial, and the way back to it."""

from __future__ import annotations

from typing import Any, Protocol

from viva.core.data import Data
from viva.core.errors import StageError

LARGEST = 20_000

_NODES = "MATCH (n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS properties"
_LINKS = (
    "MATCH (a)-[r]->(b) RETURN elementId(r) AS id, type(r) AS type, elementId(a) AS start, elementId(b) AS end, "
    "properties(r) AS properties"
)

_MARK = "__viva_id"

Statement = tuple[str, dict[str, Any]]


class Restorable(Protocol):
    """A graph that can be pictured and put back."""

    async def fetch(
        self,
        cypher: str,
        parameters: dict[str, Any] | None = None,
        *,
        timeout_s: float = 10.0,
        rows: int = 1000,
        raw: bool = False,
    ) -> list[dict[str, Any]]: ...

    async def write_all(self, statements: list[Statement], timeout_s: float = 60.0) -> None: ...


class Snapshot(Data, frozen=True):
    """Nodes and relationships by their element ids; dates and points as the driver gives them, to be put back so."""

    nodes: dict[str, dict[str, Any]] = {}
    links: dict[str, dict[str, Any]] = {}


async def take(graph: Restorable) -> Snapshot:
    """Picture the whole graph; too large a graph is refused, not half pictured."""
    try:
        nodes = await graph.fetch(_NODES, timeout_s=30, rows=LARGEST, raw=True)
        links = await graph.fetch(_LINKS, timeout_s=30, rows=LARGEST, raw=True)
    except StageError as error:
        if error.kind != "too_many_rows":
            raise
        raise StageError(
            f"the graph is too large to put back after a trial (more than {LARGEST} nodes or relationships)",
            kind="graph_too_large",
            hint="use a graph of its own for tests, or set `restore: never` and give each setup an `undo`",
        ) from error
    return Snapshot(nodes={node["id"]: node for node in nodes}, links={link["id"]: link for link in links})


async def restore(graph: Restorable, before: Snapshot) -> None:
    """Remove what appeared, bring back what went, reset what changed; in one transaction."""
    statements = way_back(before, await take(graph))
    await graph.write_all(statements)


def way_back(before: Snapshot, after: Snapshot) -> list[Statement]:
    """The statements that turn `after` into `before`."""
    statements: list[Statement] = []
    for id_, link in after.links.items():
        if not _is_same_link(before.links.get(id_), link):
            statements.append(("MATCH ()-[r]->() WHERE elementId(r) = $id DELETE r", {"id": id_}))
    for id_ in after.nodes.keys() - before.nodes.keys():
        statements.append(("MATCH (n) WHERE elementId(n) = $id DETACH DELETE n", {"id": id_}))
    for id_, node in before.nodes.items():
        statements += _node_back(id_, node, after.nodes.get(id_))
    for id_, link in before.links.items():
        now = after.links.get(id_)
        statements += _link_back(id_, link, now if _is_same_link(now, link) else None)
    if before.nodes.keys() - after.nodes.keys():
        statements.append((f"MATCH (n) WHERE n.{_MARK} IS NOT NULL REMOVE n.{_MARK}", {}))
    return statements


def _node_back(id_: str, node: dict[str, Any], now: dict[str, Any] | None) -> list[Statement]:
    if now is None:
        labels = "".join(f":{_name(label)}" for label in node["labels"])
        # A deleted node comes back with a new element id; the property below lets its relationships find it.
        return [(f"CREATE (n{labels}) SET n = $properties, n.{_MARK} = $id", {**node, "id": id_})]
    changes = ["n = $properties"] if now["properties"] != node["properties"] else []
    changes += [f"n:{_name(label)}" for label in node["labels"] if label not in now["labels"]]
    gone = [f"n:{_name(label)}" for label in now["labels"] if label not in node["labels"]]
    clauses = (f" SET {', '.join(changes)}" if changes else "") + (f" REMOVE {', '.join(gone)}" if gone else "")
    if not clauses:
        return []
    return [(f"MATCH (n) WHERE elementId(n) = $id{clauses}", {"id": id_, "properties": node["properties"]})]


def _link_back(id_: str, link: dict[str, Any], now: dict[str, Any] | None) -> list[Statement]:
    if now is None:
        find = f"elementId({{0}}) = ${{1}} OR {{0}}.{_MARK} = ${{1}}"
        return [
            (
                f"MATCH (a), (b) WHERE ({find.format('a', 'start')}) AND ({find.format('b', 'end')}) "
                f"CREATE (a)-[r:{_name(link['type'])}]->(b) SET r = $properties",
                {"start": link["start"], "end": link["end"], "properties": link["properties"]},
            )
        ]
    if now["properties"] == link["properties"]:
        return []
    return [
        ("MATCH ()-[r]->() WHERE elementId(r) = $id SET r = $properties", {"id": id_, "properties": link["properties"]})
    ]


def _is_same_link(one: dict[str, Any] | None, other: dict[str, Any]) -> bool:
    """Servers give the id of a deleted relationship to a new one; its type and ends tell them apart."""
    return one is not None and all(one[key] == other[key] for key in ("type", "start", "end"))


def _name(identifier: str) -> str:
    return "`" + identifier.replace("`", "``") + "`"
