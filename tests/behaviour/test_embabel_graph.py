"""Embabel jobs and the graph: setups, assertions, undo between conditions; against a real Bolt server."""

from __future__ import annotations

import json
import threading

import neo4j
import pytest
from exam_rig import JOB, examine, scripted, viva_command
from stub_agent import StubAgent

ONE = JOB + "conditions: [supplied]\n"


@pytest.fixture
def graph(bolt, monkeypatch):
    """The driver an agent would use; the graph is empty at first."""
    for name, value in {
        "NEO_URI": bolt.uri,
        "NEO_USERNAME": bolt.username,
        "NEO_PASSWORD": bolt.password,
        "NEO_DATABASE": "neo4j",
    }.items():
        monkeypatch.setenv(name, value)
    with neo4j.GraphDatabase.driver(bolt.uri, auth=(bolt.username, bolt.password)) as driver:
        run(driver, "MATCH (n) DETACH DELETE n")
        yield driver
        run(driver, "MATCH (n) DETACH DELETE n")


def run(driver, cypher, **parameters):
    with driver.session(database="neo4j") as session:
        return [record.data() for record in session.run(cypher, parameters)]


@pytest.fixture
def agent(graph, monkeypatch):
    """An agent that keeps every reminder in the graph, for all sessions of a user."""

    def answer(chat, text):
        if "reminder" in text:
            run(
                graph,
                "MERGE (u:User {id: $user}) CREATE (u)-[:HAS]->(:Reminder {at: '9am', n: 1})",
                user=chat.user,
            )
        known = run(graph, "MATCH (r:Reminder) RETURN count(r) AS n")[0]["n"]
        return f"You have {known} reminders."

    with StubAgent(answer) as stub:
        monkeypatch.setenv("VIVA_AGENT_URL", stub.url)
        yield stub


def assertion(query, expected):
    return f"  - {{cypher: {json.dumps(query)}, expected: {json.dumps(expected)}}}\n"


async def test_the_second_condition_starts_from_the_staged_state_not_from_what_the_first_left(agent, graph, tmp_path):
    run(graph, "CREATE (:User {id: 'test-user'})-[:HAS]->(:Note {text: 'mine'})")
    job = (
        JOB
        + "setups: [{cypher: 'CREATE (:Calendar)'}]\nassertions:\n"
        + assertion("MATCH (r:Reminder) RETURN count(r) AS count", 1)
    )
    exam = await examine(tmp_path, job)
    assert [exam[name].outcome for name in ("withheld", "supplied")] == ["pass", "pass"]
    replies = [(await exam.evidence(name)).transcript.replies[1].text for name in ("withheld", "supplied")]
    assert replies == ["You have 1 reminders."] * 2
    left = run(
        graph, "MATCH (n) OPTIONAL MATCH (n)-[r]->(m) RETURN labels(n)[0] AS label, type(r) AS link ORDER BY label"
    )
    assert left == [{"label": "Note", "link": None}, {"label": "User", "link": "HAS"}]


async def test_without_undo_the_conditions_share_what_they_did(agent, graph, tmp_path):
    suite = """\
suite: shared
subject: {embabel: {user: test-user, chatbot: c}}
driver: direct
concurrency: 1
stage: {graph: neo4j, undo: false}
variants: [{name: first}, {name: second}]
cases:
  - id: twice
    tasks: [Please create a reminder]
    checks: [{cypher: {query: "MATCH (r:Reminder) RETURN count(r) AS n", expected: 1}}]
"""
    exam = await examine(tmp_path, suite)
    assert [exam[name].outcome for name in ("first", "second")] == ["pass", "fail"]


async def test_setups_run_in_order_before_every_condition(agent, graph, tmp_path):
    setups = (
        "setups:\n  - cypher: 'CREATE (:Step {n: 1}); CREATE (:Step {n: 2})'\n"
        "  - cypher: 'MATCH (s:Step) WITH max(s.n) AS last CREATE (:Step {n: last + 1})'\n"
    )
    job = JOB + setups + "assertions:\n" + assertion("MATCH (s:Step) RETURN sum(s.n) AS total", 6)
    exam = await examine(tmp_path, job)
    assert [exam[name].outcome for name in ("withheld", "supplied")] == ["pass", "pass"]


async def test_a_setup_that_fails_is_an_error_and_no_conversation_begins(agent, graph, tmp_path):
    exam = await examine(tmp_path, JOB + "setups: [{cypher: 'CREATE (:Step)'}, {cypher: 'CREATE (:Broken'}]\n")
    for name in ("withheld", "supplied"):
        assert (exam[name].outcome, exam[name].result.error) == ("error", "cypher_syntax")
        assert "setup 2" in exam[name].result.reason
    assert agent.calls == []
    assert exam.asked == []
    assert run(graph, "MATCH (s:Step) RETURN count(s) AS n") == [{"n": 0}]


@pytest.mark.parametrize(
    ("query", "expected", "outcome"),
    [
        ("MATCH (r:Reminder) RETURN count(r) AS count", 1, "pass"),
        ("MATCH (r:Reminder) RETURN count(r) AS count", "1", "pass"),
        ("MATCH (r:Reminder) RETURN count(r) AS count", 1.0, "pass"),
        ("MATCH (r:Reminder) RETURN count(r) AS count", 2, "fail"),
        ("MATCH (r:Reminder) RETURN count(r) > 0 AS there", True, "pass"),
        ("MATCH (r:Reminder) RETURN r.at AS at", "9am", "pass"),
        ("MATCH (r:Nothing) RETURN r.at AS at", "9am", "fail"),
        ("MATCH (r:Reminder) RETURN r.at AS at, r.n AS n", "9am", "fail"),
        ("UNWIND [1, 2] AS n RETURN n", 1, "fail"),
        ("MATCH (r:Reminder) RETURN r.missing AS missing", "x", "fail"),
        ("MATCH (r:Reminder) RETURN count(r AS", 1, "error"),
    ],
)
async def test_a_cypher_assertion_compares_as_a_person_means_it(agent, tmp_path, query, expected, outcome):
    exam = await examine(tmp_path, ONE + "assertions:\n" + assertion(query, expected))
    (claim,) = [score for score in exam["supplied"].scores if score.section == "assertions"]
    assert claim.outcome == outcome
    if outcome == "fail":
        assert "expected" in claim.reason
    if outcome == "error":
        assert claim.kind == "cypher_syntax"
        assert exam["supplied"].score is None


async def test_the_readme_example_passes_as_it_stands(agent, tmp_path):
    agent.resources = [{"id": "1", "name": "dentist", "labels": ["Reminder"]}]
    job = (
        ONE
        + """\
assertions:
  - expression: "objectContext.resources.size == 1"
    weight: 2
  - cypher: "MATCH (r:Reminder) RETURN count(r) AS count"
    expected: 1
    weight: 3
"""
    )
    exam = await examine(tmp_path, job)
    assert exam["supplied"].score == 1.0


async def test_rows_tables_polling_and_nothing_else_changed_are_claims_too(agent, graph, tmp_path):
    run(graph, "CREATE (:User {id: 'test-user'}), (:Account {owner: 'test-user', balance: 10})")
    job = (
        ONE
        + """\
graph: neo4j
checks:
  - cypher: {query: "MATCH (r:Reminder) RETURN r.at AS at, r.n AS n", row: {at: 9am, n: 1}}
  - cypher: {query: "UNWIND [1, 2] AS n RETURN n", table: [{n: 2}, {n: 1}]}
  - cypher: {query: "MATCH (r:Reminder {at: $at}) RETURN count(r) AS n", parameters: {at: 9am}, at_least: 1, poll_s: 5}
  - unchanged: {labels: [Reminder], relationships: [HAS]}
"""
    )
    exam = await examine(tmp_path, job)
    assert {score.name: score.outcome for score in exam["supplied"].scores if score.outcome != "pass"} == {}

    agent_answer = agent.answer

    def meddling(chat, text):
        run(graph, "MATCH (a:Account) SET a.balance = a.balance - 1")
        return agent_answer(chat, text)

    agent.answer = meddling
    exam = await examine(tmp_path, job)
    claim = exam.score("supplied", "nothing else changed in the graph")
    assert claim.outcome == "fail", claim
    assert "balance: 10" in claim.reason
    assert "balance: 7" in claim.reason
    assert run(graph, "MATCH (a:Account) RETURN a.balance AS b") == [{"b": 10}]


async def test_an_agent_that_acts_a_little_later_is_waited_for(agent, graph, tmp_path):
    def later(chat, text):
        if "reminder" in text:
            threading.Timer(0.4, run, (graph, "CREATE (:Reminder)")).start()
        return "I will."

    agent.answer = later
    query = 'query: "MATCH (r:Reminder) RETURN count(r) AS n"'
    check = f"checks: [{{cypher: {{{query}, expected: 1, poll_s: 10, every_s: 0.1}}}}]\n"
    exam = await examine(tmp_path, ONE + "graph: neo4j\n" + check)
    assert exam["supplied"].outcome == "pass"
    (seen,) = (await exam.evidence("supplied")).state.values()
    assert seen.looks > 1


async def test_values_of_a_case_reach_the_graph_as_parameters_only(agent, graph, tmp_path):
    nasty = "x' DETACH DELETE n //"
    check = {
        "cypher": {
            "query": "MATCH (r:Reminder {at: $at}) RETURN count(r) AS n",
            "parameters": {"at": nasty},
            "expected": 0,
        }
    }
    exam = await examine(tmp_path, ONE + f"graph: neo4j\nchecks: [{json.dumps(check)}]\n")
    assert exam["supplied"].outcome == "pass"


async def test_a_job_runs_on_the_embedded_graph_with_no_server_at_all(tmp_path, monkeypatch):
    pytest.importorskip("arcadedb_embedded")
    for name in ("NEO_URI", "NEO_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    job = (
        ONE
        + "graph: embedded\nsetups: [{cypher: 'CREATE (:Reminder)'}]\nassertions:\n"
        + assertion("MATCH (r:Reminder) RETURN count(r) AS count", 1)
    )
    exam = await examine(tmp_path, job, subject=lambda text: "Paris")
    assert exam["supplied"].outcome == "pass"


LOST = {"NEO_URI": "bolt://127.0.0.1:9", "NEO_PASSWORD": "whatever-it-is"}


@pytest.mark.parametrize(
    ("env", "said"),
    [
        ({"NEO_PASSWORD": "not-the-password"}, ("refused user 'root'", "NEO_PASSWORD")),
        (LOST, ("no graph answers at bolt://127.0.0.1:9", "NEO_URI")),
    ],
    ids=["wrong password", "nobody there"],
)
def test_a_graph_that_cannot_be_used_is_one_line_before_anything_is_said(agent, bolt, tmp_path, env, said):
    (tmp_path / "job.yml").write_text(JOB + "setups: [{cypher: 'CREATE (:Step)'}]\n")
    settings = {
        "NEO_URI": bolt.uri,
        "NEO_USERNAME": bolt.username,
        "NEO_DATABASE": "neo4j",
        "VIVA_AGENT_URL": agent.url,
    }
    ran = viva_command(tmp_path, "run", "job.yml", *scripted(tmp_path), env={**settings, **env})
    assert ran.returncode in (2, 3)
    assert agent.calls == []
    told = next(line for line in (ran.stderr + ran.stdout).splitlines() if said[0] in " ".join(line.split()))
    assert said[1] in told
    assert "not-the-password" not in ran.stdout + ran.stderr
    assert "Traceback" not in ran.stderr


async def test_what_a_trial_did_is_put_back_when_it_ran_out_of_time(agent, graph, tmp_path):
    writing = agent.answer

    def then_silent(chat, text):
        said = writing(chat, text)
        if "capital" in text:
            agent.let_go.wait(30)
        return said

    agent.answer = then_silent
    job = ONE + "setups: [{cypher: 'CREATE (:Calendar)'}]\nlimits: {seconds: 2}\n"
    exam = await examine(tmp_path, job)
    assert (exam["supplied"].outcome, exam["supplied"].result.error) == ("error", "timed_out")
    assert len(agent.said()) == 3
    assert run(graph, "MATCH (n) RETURN count(n) AS n") == [{"n": 0}]


@pytest.mark.parametrize(("stage", "together"), [("", True), ("setups: [{cypher: 'CREATE (:Calendar)'}]\n", False)])
async def test_conditions_run_side_by_side_unless_they_share_a_stage(agent, tmp_path, stage, together):
    open_now: set[str] = set()
    most = 0
    first_answers = threading.Barrier(2)

    def answer(chat, text):
        nonlocal most
        open_now.add(chat.id)
        most = max(most, len(open_now))
        if together and text == "Hello":
            first_answers.wait(20)  # Neither greeting is answered before both have been said.
        if "capital" in text:
            open_now.discard(chat.id)
        return "Well."

    agent.answer = answer
    exam = await examine(tmp_path, JOB + stage)
    assert {trial.outcome for trial in exam.trials.values()} == {"pass"}
    assert most == (2 if together else 1)


def test_claims_about_the_graph_are_scored_again_without_graph_and_agent(agent, bolt, tmp_path):
    (tmp_path / "job.yml").write_text(ONE + "assertions:\n" + assertion("MATCH (r:Reminder) RETURN count(r) AS n", 1))
    there = {"NEO_URI": bolt.uri, "NEO_USERNAME": bolt.username, "NEO_PASSWORD": bolt.password, "NEO_DATABASE": "neo4j"}
    words = scripted(tmp_path)
    ran = viva_command(tmp_path, "run", "job.yml", "--json", *words, env={**there, "VIVA_AGENT_URL": agent.url})
    assert ran.returncode == 0, ran.stderr
    nowhere = {"NEO_URI": "bolt://127.0.0.1:9", "VIVA_AGENT_URL": "http://127.0.0.1:9"}
    again = viva_command(tmp_path, "score", "latest", "--json", *words[2:], env=nowhere)
    assert again.returncode == 0, again.stderr
    first, second = json.loads(ran.stdout), json.loads(again.stdout)
    assert first["score"]["mean"] == second["score"]["mean"] == 1.0
