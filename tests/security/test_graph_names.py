"""Names that an agent gave to labels and relationships are names when its graph is put back, and never Cypher."""

from __future__ import annotations

import pytest

from viva.stage.snapshot import Snapshot, Statement, way_back

NAMES = ["A`) DETACH DELETE n //", "two words", "`", "``", "\\`", "Ünïcode 🙂", "a}) SET n.owned = true //", "x\n}"]


def statements(name: str) -> list[Statement]:
    """The way back after a node with this label went, another lost it, one got it, and a relationship went."""
    gone = {"id": "1", "labels": [name], "properties": {"x": name}}
    lost = {"id": "2", "labels": [name], "properties": {}}
    plain = {"id": "2", "labels": [], "properties": {}}
    got = {"id": "3", "labels": [name], "properties": {}}
    link = {"id": "9", "type": name, "start": "1", "end": "2", "properties": {"y": name}}
    before = Snapshot(nodes={"1": gone, "2": lost, "3": {**plain, "id": "3"}}, links={"9": link})
    return way_back(before, Snapshot(nodes={"2": plain, "3": got}))


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_name_stands_quoted_in_the_query_and_its_values_travel_as_parameters(name: str) -> None:
    quoted = "`" + name.replace("`", "``") + "`"
    found = statements(name)
    assert sum(quoted in query for query, _ in found) == 4
    assert [query.replace(quoted, "`Plain`") for query, _ in found] == [query for query, _ in statements("Plain")]
