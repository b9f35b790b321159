"""Bolt (ArcadeDB): the official driver against a real server."""

import pytest

from viva.core.errors import StageError, SuiteError
from viva.stage import snapshot
from viva.stage.embedded import EmbeddedGraph, EmbeddedSettings
from viva.stage.neo4j import GraphSettings, Neo4jGraph


@pytest.fixture
async def graph(bolt, small_kit):
    found = Neo4jGraph(
        GraphSettings(username=bolt.username, database="neo4j"),
        small_kit({"NEO_URI": bolt.uri, "NEO_PASSWORD": bolt.password}),
    )
    await found.write("MATCH (n) DETACH DELETE n")
    yield found
    await found.close()


async def test_a_script_of_statements_is_written_in_one_transaction(graph):
    await graph.write("CREATE (:Reminder {title: 'a; b'});\n// note;\nCREATE (:Reminder {title: 'c'});")
    assert await graph.read("MATCH (r:Reminder) RETURN count(r) AS n") == [{"n": 2}]


async def test_a_script_that_fails_half_way_leaves_nothing(graph):
    with pytest.raises(StageError) as failed:
        await graph.write("CREATE (:Reminder); CREATE (:Broken;")
    assert failed.value.kind == "cypher_syntax"
    assert await graph.read("MATCH (r) RETURN count(r) AS n") == [{"n": 0}]


async def test_nodes_relationships_and_paths_come_back_as_plain_data(graph):
    await graph.write("CREATE (:A {x: 1})-[:KNOWS {since: 2020}]->(:B {tags: ['p', 'q']})")
    rows = await graph.read("MATCH p = (a:A)-[r]->(b) RETURN a, r, b, p")
    assert rows[0]["a"] == {"labels": ["A"], "properties": {"x": 1}}
    assert rows[0]["r"] == {"type": "KNOWS", "properties": {"since": 2020}}
    assert rows[0]["b"]["properties"] == {"tags": ["p", "q"]}
    assert [node["labels"] for node in rows[0]["p"]["nodes"]] == [["A"], ["B"]]


async def test_values_only_travel_as_parameters(graph):
    hostile = "x'}) DETACH DELETE n //"
    await graph.write("CREATE (:Note {text: $text})", {"text": hostile})
    assert await graph.read("MATCH (n:Note {text: $text}) RETURN n.text AS text", {"text": hostile}) == [
        {"text": hostile}
    ]


async def test_a_writing_query_is_refused_before_it_is_sent(graph):
    with pytest.raises(SuiteError, match="not read-only"):
        await graph.read("MATCH (n) DETACH DELETE n")


async def test_a_read_session_alone_does_not_keep_a_server_from_writing(graph):
    # Why the filter is there: the driver's access mode routes, it does not protect.
    await graph.fetch("CREATE (:Written)")
    assert await graph.read("MATCH (w:Written) RETURN count(w) AS n") == [{"n": 1}]


async def test_one_value_too_large_to_keep_is_refused(graph):
    with pytest.raises(StageError) as refused:
        await graph.read("RETURN $big AS big", {"big": "x" * 10_000_001})
    assert refused.value.kind == "too_large"


async def test_the_users_own_password_never_goes_where_a_suite_points(bolt, small_kit):
    own = small_kit({"NEO_URI": "bolt://localhost:7687", "NEO_PASSWORD": bolt.password})
    graph = Neo4jGraph(GraphSettings(uri=bolt.uri, username="root"), own)
    with pytest.raises(StageError) as refused:
        await graph.read("RETURN 1 AS one")
    await graph.close()
    assert refused.value.kind == "graph_auth"
    assert "env:NAME" in str(refused.value)


async def test_a_syntax_error_is_one_line_with_the_query(graph):
    with pytest.raises(StageError) as failed:
        await graph.read("MATCH (n) RETRUN n")
    assert failed.value.kind == "cypher_syntax"
    assert "\n" not in str(failed.value)
    assert "RETRUN" in str(failed.value)


async def test_too_many_rows_are_refused_not_truncated(graph):
    with pytest.raises(StageError) as failed:
        await graph.read("UNWIND range(1, 100) AS x RETURN x", rows=10)
    assert failed.value.kind == "too_many_rows"


async def test_a_query_without_end_is_stopped(graph):
    await graph.write("UNWIND range(1, 300) AS x CREATE (:P {x: x})")
    with pytest.raises(StageError) as failed:
        await graph.read("MATCH (a:P), (b:P), (c:P) WHERE a.x + b.x + c.x < 0 RETURN count(a) AS n", timeout_s=0.5)
    assert failed.value.kind == "graph_timeout"


async def test_a_wrong_password_says_what_to_set(bolt, small_kit):
    graph = Neo4jGraph(
        GraphSettings(username="root"), small_kit({"NEO_URI": bolt.uri, "NEO_PASSWORD": "wrong-password"})
    )
    with pytest.raises(StageError) as failed:
        await graph.read("RETURN 1 AS one")
    await graph.close()
    assert failed.value.kind == "graph_auth"
    assert "NEO_PASSWORD" in str(failed.value)
    assert "wrong-password" not in str(failed.value)


async def test_nobody_at_the_address_says_where(small_kit):
    graph = Neo4jGraph(GraphSettings(uri="bolt://127.0.0.1:9"), small_kit({"NEO_PASSWORD": "x"}))
    with pytest.raises(StageError) as failed:
        await graph.read("RETURN 1 AS one")
    await graph.close()
    assert failed.value.kind == "graph_unreachable"
    assert "bolt://127.0.0.1:9" in str(failed.value)


def test_the_user_may_stand_in_the_address(small_kit):
    graph = Neo4jGraph(GraphSettings(uri="bolt://alice@localhost:7687"), small_kit())
    assert (graph.uri, graph.username) == ("bolt://localhost:7687", "alice")


def test_a_remote_graph_is_never_put_back_unless_asked_to(small_kit):
    def graph(uri: str, policy: str = "auto") -> bool:
        return Neo4jGraph(GraphSettings(uri=uri, restore=policy), small_kit()).restores

    assert graph("bolt://localhost:7687")
    assert not graph("bolt://db.example.com:7687")
    assert graph("bolt://db.example.com:7687", "always")
    assert not graph("bolt://localhost:7687", "never")


async def test_what_a_trial_changed_is_put_back(graph):
    await graph.write("CREATE (:User {name: 'Ann'})-[:OWNS {n: 1}]->(:Thing {x: 1}), (:Gone {y: 2})-[:OF]->(:Kept)")
    before = await snapshot.take(graph)
    await graph.write(
        "CREATE (:New)-[:TO]->(:New2); MATCH (t:Thing) SET t.x = 99; MATCH (g:Gone) DETACH DELETE g;"
        "MATCH (:User)-[r:OWNS]->() SET r.n = 5; MATCH (u:User), (k:Kept) CREATE (u)-[:EXTRA]->(k)"
    )
    assert snapshot.way_back(before, await snapshot.take(graph))
    await snapshot.restore(graph, before)
    nodes = await graph.read("MATCH (n) RETURN labels(n) AS l, properties(n) AS p ORDER BY l[0]")
    assert nodes == [
        {"l": ["Gone"], "p": {"y": 2}},
        {"l": ["Kept"], "p": {}},
        {"l": ["Thing"], "p": {"x": 1}},
        {"l": ["User"], "p": {"name": "Ann"}},
    ]
    links = await graph.read("MATCH ()-[r]->() RETURN type(r) AS t, properties(r) AS p ORDER BY t")
    assert links == [{"t": "OF", "p": {}}, {"t": "OWNS", "p": {"n": 1}}]


def kinds_of(picture):
    return {
        node["labels"][0]: {key: type(value) for key, value in node["properties"].items()}
        for node in picture.nodes.values()
    }


async def test_dates_are_put_back_as_dates(graph):
    await graph.write("CREATE (:Event {at: datetime('2026-03-01T09:00:00Z'), n: 1}), (:Gone {on: date('2026-03-02')})")
    before = await snapshot.take(graph)
    await graph.write("MATCH (e:Event) SET e.n = 2; MATCH (g:Gone) DELETE g")
    await snapshot.restore(graph, before)
    kinds, were = kinds_of(await snapshot.take(graph)), kinds_of(before)
    assert were["Event"]["at"] is not str
    assert kinds == were
    assert [row["n"] for row in await graph.read("MATCH (e:Event) RETURN e.n AS n")] == [1]


def test_an_id_given_to_another_relationship_is_not_taken_for_the_old_one():
    def graph_of(kind, start, end):
        nodes = {name: {"id": name, "labels": [], "properties": {}} for name in "abc"}
        link = {"id": "7", "type": kind, "start": start, "end": end, "properties": {}}
        return snapshot.Snapshot(nodes=nodes, links={"7": link})

    before = graph_of("OWNS", "a", "b")
    assert snapshot.way_back(before, before) == []
    for after in (graph_of("LIKES", "a", "b"), graph_of("OWNS", "a", "c"), graph_of("OWNS", "b", "a")):
        first, second = snapshot.way_back(before, after)
        assert "DELETE r" in first[0]
        assert "CREATE (a)-[r:`OWNS`]->(b)" in second[0]


async def test_the_embedded_graph_needs_no_server(small_kit, tmp_path):
    graph = EmbeddedGraph(EmbeddedSettings(), small_kit(folder=tmp_path))
    try:
        await graph.write("CREATE (:Reminder {title: 'x'})")
        assert await graph.read("MATCH (r:Reminder) RETURN count(r) AS n") == [{"n": 1}]
    finally:
        await graph.close()
