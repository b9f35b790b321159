"""Behavioural examinations in viva's own form: tasks, facts, stage and claims about the world, mixed with the rest."""

from __future__ import annotations

import sqlite3

import pytest
from exam_rig import BYE, examine, judge_who, says
from stub_agent import StubAgent

from viva.config.load import load_text


@pytest.fixture
def agent(monkeypatch):
    with StubAgent() as stub:
        monkeypatch.setenv("VIVA_AGENT_URL", stub.url)
        yield stub


def test_tasks_with_an_acceptance_become_criteria_and_whoever_plays_the_user_is_examined():
    suite = load_text(
        """\
suite: s
driver: persona
cases:
  - id: a
    tasks: [{text: Book a table, acceptance: A table is booked}, Say hello]
    criteria: [{text: It is polite, id: polite}]
""",
        "suite.yml",
    )
    (case,) = suite.cases
    assert [(criterion.id, criterion.section) for criterion in case.criteria] == [
        ("polite", "criteria"),
        ("task-1", "tasks"),
    ]
    assert "A table is booked" in case.criteria[1].text
    assert [check.scorer for check in case.checks] == ["user"]


WORLD = """\
suite: world
subject: {embabel: {user: ann, chatbot: c}}
driver: direct
stage:
  database: {sqlite: {file: shop.db}}
  setups:
    - sql: "INSERT INTO orders (id, state) VALUES (1, 'open')"
cases:
  - id: cancel
    tasks: [{text: Cancel order 1, acceptance: The order is cancelled}]
    checks:
      - sql: {query: "SELECT state FROM orders WHERE id = ?", values: [1], expected: cancelled, poll_s: 3}
        label: cancelled
      - sql: {query: "SELECT count(*) AS n FROM orders", at_most: 1}
      - sql: {query: "SELECT id FROM orders WHERE state = 'lost'", empty: true}
      - probe: {url: "AGENT/api/v1/chat/objectContexts/x", expression: "size(value.resources) == 0"}
        label: no objects
      - unchanged: {source: state, paths: [context]}
      - {contains: "Cancelled"}
"""


def shop(folder):
    link = sqlite3.connect(folder / "shop.db")
    link.execute("CREATE TABLE orders (id INTEGER, state TEXT)")
    link.commit()
    link.close()


def cancel(folder, order=1):
    link = sqlite3.connect(folder / "shop.db")
    link.execute("UPDATE orders SET state = 'cancelled' WHERE id = ?", (order,))
    link.commit()
    link.close()


async def test_sql_probes_snapshots_and_text_are_claims_about_one_trial(agent, tmp_path):
    shop(tmp_path)

    def answer(chat, text):
        cancel(tmp_path)
        return "Cancelled."

    agent.answer = answer
    exam = await examine(tmp_path, WORLD.replace("AGENT", agent.url))
    assert {score.name: score.outcome for score in exam["default"].scores if score.outcome != "pass"} == {}
    assert exam["default"].outcome == "pass"
    link = sqlite3.connect(tmp_path / "shop.db")
    assert link.execute("SELECT * FROM orders").fetchall() == []
    link.close()


async def test_a_claim_that_fails_says_what_was_there_and_one_that_cannot_be_asked_is_an_error(agent, tmp_path):
    shop(tmp_path)
    broken = WORLD.replace("AGENT", "http://127.0.0.1:9").replace("poll_s: 3", "poll_s: 0")
    exam = await examine(tmp_path, broken)
    assert exam.score("default", "cancelled").passed is False
    assert "expected 'cancelled', got 'open'" in exam.score("default", "cancelled").reason
    lost = exam.score("default", "no objects")
    assert (lost.outcome, lost.kind) == ("error", "http_connection")
    assert exam["default"].outcome == "error"


async def test_an_error_of_a_check_is_never_a_pass_whatever_the_formula_counts(agent, tmp_path):
    suite = """\
suite: s
subject: {embabel: {user: ann, chatbot: c}}
driver: direct
formula: {weighted@1: {weights: {tasks: 1}}}
cases:
  - id: a
    tasks: [{text: Say hello, acceptance: It says hello}]
    checks: [{probe: {url: "http://127.0.0.1:9/", expression: "true"}}]
"""
    exam = await examine(tmp_path, suite)
    assert exam["default"].outcome == "error"


async def test_a_persona_in_a_suite_is_examined_like_one_in_a_job(agent, tmp_path):
    suite = """\
suite: s
subject: {embabel: {user: ann, chatbot: c}}
driver: {persona: {greetings: [], signoff: Bye now, temperature: 0.1}}
variants: [{name: withheld, facts: withheld}, {name: supplied}]
limits: {turns: 4}
cases:
  - id: table
    tasks: [{text: Book a table for two, acceptance: A table is booked}]
    facts: [The user is called Ada Lovelace]
    checks: [{expression: "size(transcript) > 0"}]
"""
    talk = (says("I am Ada Lovelace. Book a table for two"), says("bye NOW", task=0))

    def user(prompt):
        return talk[min(prompt.text.count('{"you":'), 1)]

    exam = await examine(tmp_path, suite, user=user, judge=judge_who("0.75"))
    assert agent.said() == ["I am Ada Lovelace. Book a table for two"] * 2
    assert exam.score("supplied", "task-1").value == 0.75
    assert "user:volunteered_fact" in exam["supplied"].result.flags
    assert all(
        "Ada" not in prompt
        for prompt in exam.prompts("user")
        if "You know nothing" in prompt and '{"you"' not in prompt
    )
    assert {body["temperature"] for body in exam.bodies("user")} == {0.1}


async def test_scripted_users_and_seeds_work_in_a_suite(agent, tmp_path):
    suite = """\
suite: s
subject: {embabel: {user: ann, chatbot: c}}
stage:
  seeds:
    - conversation: [{content: My name is Ada}]
cases:
  - id: name
    turns: [{say: "What is my name?", expect: "What is my name?"}, Thanks]
    checks: [expectations]
"""
    exam = await examine(tmp_path, suite)
    assert exam["default"].outcome == "pass"
    assert [chat.messages for chat in agent.chats.values()] == [["My name is Ada"], ["What is my name?", "Thanks"]]


async def test_the_models_words_never_end_in_a_crash(agent, tmp_path):
    """What a model may answer instead of a decision is one reminder, then the driver's error."""
    suite = """\
suite: s
subject: {embabel: {user: ann, chatbot: c}}
driver: persona
cases: [{id: a, tasks: [{text: Say hello, acceptance: It says hello}]}]
"""
    for words in ('{"message": 7}', '{"message": "x", "stop": "maybe"}', "[1]", '{"message":'):
        exam = await examine(tmp_path, suite, user=lambda prompt, said=words: said)
        assert (exam["default"].outcome, exam["default"].result.error) == ("error", "user_unreadable")
    exam = await examine(tmp_path, suite, user=(says("Just plain hello"), BYE))
    assert exam["default"].outcome == "pass"
