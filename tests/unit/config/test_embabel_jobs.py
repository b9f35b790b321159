"""Job files of Embabel Agent Eval load unchanged."""

import textwrap

import pytest

from viva.config.formats import embabel
from viva.config.load import FORMATS, load_text
from viva.core.errors import SuiteError

JOB = """
evaluator:
  name: Socrates
  voice: "You speak like a friendly, relaxed human"
  signoff: "So Long, and Thanks for All the Fish"
  temperature: 0.5

target:
  user: test-user
  chatbot: my-agent

aspirationalAverage: 3000  # milliseconds

greetings:
  - Hello
  - Hi
  - Hey

tasks:
  - type: task
    task: "Ask the assistant to create a reminder for tomorrow at 9am"
    acceptanceCriteria: "A reminder entity is created with the correct date and time"
  - type: question
    task: "Ask what the capital of France is"
    acceptanceCriteria: "The assistant correctly answers Paris"

facts:
  - "The user's timezone is Australia/Sydney"
  - "The user prefers formal language"

assertions:
  - expression: "objectContext.resources.size == 1"
    weight: 2
  - cypher: "MATCH (r:Reminder) RETURN count(r) AS count"
    expected: 1
    weight: 3
"""

SMALL = """
evaluator: {}
target: {user: u, chatbot: c}
aspirationalAverage: 3000
tasks: [{task: Say hello, acceptanceCriteria: It says hello}]
facts: []
"""

REDUCED = """
seeds:
  - conversation:
      - content: My name is Alice
      - {role: assistant, content: Hello Alice}
tasks:
  - task: What is my name?
    acceptanceCriteria: It says Alice
facts: [The user's name is Alice]
"""


def load(text):
    return load_text(textwrap.dedent(text), "agent.yml")


def test_the_format_is_known():
    assert embabel in FORMATS


def test_a_job_becomes_one_case_with_two_conditions():
    suite = load(JOB)
    (case,) = suite.cases
    assert suite.format == "embabel"
    assert case.id == "agent"
    assert [(variant.name, variant.facts) for variant in case.variants] == [
        ("withheld", "withheld"),
        ("supplied", "supplied"),
    ]
    assert [task.kind for task in case.tasks] == ["task", "question"]
    assert case.formula.name == "embabel@1"
    assert suite.subject.name == "embabel"
    assert suite.subject.settings == {"user": "test-user", "chatbot": "my-agent"}


def test_tasks_become_graded_criteria_and_assertions_weighted_checks():
    (case,) = load(JOB).cases
    assert [(c.id, c.section) for c in case.criteria] == [("task-1", "tasks"), ("task-2", "tasks"), ("tone", "tone")]
    assert all(c.levels for c in case.criteria)
    checks = [check for check in case.checks if check.section == "assertions"]
    assert [(check.scorer, check.weight) for check in checks] == [("expression", 2), ("cypher", 3)]
    assert checks[0].settings == {"source": "objectContext.resources.size == 1", "language": "kotlin"}
    assert case.stage.graph.name == "neo4j"


def test_omitted_keys_get_the_documented_defaults():
    suite = load(SMALL)
    (case,) = suite.cases
    assert case.driver.settings == {
        "name": "Socrates",
        "voice": "You speak like a friendly, relaxed human",
        "temperature": 0.5,
        "signoff": "So Long, and Thanks for All the Fish",
        "greetings": ["Hello", "Hi", "Greetings", "Yo", "Hey"],
    }
    assert case.limits.turns == 10
    assert (case.retry.attempts, case.retry.backoff_s, case.retry.factor) == (4, 0.1, 1.0)
    assert case.tasks[0].kind == "task"
    assert case.measures[0].settings == {"target_ms": 3000.0}


@pytest.mark.parametrize("key", ["evaluator", "aspirationalAverage", "target", "tasks", "facts"])
def test_each_required_key_is_named_with_file_and_line_when_missing(key):
    lines = [line for line in SMALL.strip().splitlines() if not line.startswith(key)]
    with pytest.raises(SuiteError) as refused:
        load("\n".join(lines))
    assert key in str(refused.value)
    assert "agent.yml:1" in str(refused.value)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("assertions: [{cypher: 'RETURN 1', expected: 1, expression: x}]", "expression, weight"),
        ("assertions: [{cypherr: 'RETURN 1', expected: 1}]", "did you mean 'cypher'"),
        ("assertions: [{weight: 1}]", "cypher, expected, weight"),
        ("setups: [{sql: x}]", "{cypher}"),
        ("seeds: [{txt: hi}]", "did you mean 'text'"),
        ("seeds: [{text: hi, conversation: []}]", "conversation"),
        ("seeds: [{conversation: [{role: bot, content: hi}]}]", "'bot' is not one of its values"),
        ("assertions: [{cypher: 'RETURN 1', expected: 1, weight: -1}]", "at least 0"),
        ("assertions: [{cypher: 'MATCH (n) DELETE n', expected: 1}]", "not read-only"),
        ("assertions: [{expression: 'objectContext.resources.size ==', weight: 1}]", "agent.yml"),
        ("maxTurns: 2", "more than 2"),
        ("maxTrns: 9", "did you mean 'maxTurns'"),
        ("tasks: []", "twice"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(extra, said):
    with pytest.raises(SuiteError) as refused:
        load(SMALL + extra)
    assert said in str(refused.value)
    assert "agent.yml:" in str(refused.value)


@pytest.mark.parametrize("value", [0, -5])
def test_an_aspiration_of_nothing_is_refused(value):
    with pytest.raises(SuiteError, match="more than 0"):
        load(SMALL.replace("3000", str(value)))


def test_a_lenient_reader_only_mentions_unknown_keys():
    said = []
    suite = load_text(SMALL + "colour: red", "agent.yml", lenient=True, warn=said.append)
    assert suite.cases
    assert "colour" in said[0]


def test_odd_message_limits_overshoot_by_one_as_they_always_did():
    (case,) = load(SMALL + "maxTurns: 7").cases
    assert case.limits.turns == 4


def test_two_assertions_with_the_same_text_are_two_checks():
    twice = "assertions: [{cypher: 'RETURN 1 AS x', expected: 1}, {cypher: 'RETURN 1 AS x', expected: 1}]"
    (case,) = load(SMALL + twice).cases
    labels = [check.label for check in case.checks if check.section == "assertions"]
    assert len(set(labels)) == 2


def test_setups_and_seeds_are_set_on_the_stage():
    more = """
setups: [{cypher: 'CREATE (:A); CREATE (:B)'}]
seeds:
  - text: Alice lives in Sydney
  - conversation: [{content: My name is Alice}, {role: assistant, content: Hi}]
"""
    (case,) = load(SMALL + more).cases
    assert [setup.name for setup in case.stage.setups] == ["cypher"]
    assert [seed.name for seed in case.stage.seeds] == ["text", "conversation"]
    assert case.stage.seeds[1].settings["lines"][0] == {"content": "My name is Alice", "role": "user"}
    assert case.stage.graph.name == "neo4j"


def test_a_job_without_cypher_needs_no_graph():
    (case,) = load(SMALL).cases
    assert case.stage.graph is None


def test_the_reduced_form_puts_its_tasks_directly_and_has_thresholds():
    suite = load(REDUCED)
    (case,) = suite.cases
    assert case.driver.name == "direct"
    assert [str(threshold) for threshold in case.thresholds] == ["task-1 >= 0.5", "tasks >= 0.6"]


def test_the_reduced_form_takes_its_own_thresholds_and_refuses_empty_lists():
    (case,) = load(REDUCED + "minTaskScore: 0.0\nminAverageScore: 0.2\n").cases
    assert [threshold.value for threshold in case.thresholds] == [0.0, 0.2]
    with pytest.raises(SuiteError, match="must not be empty"):
        load(REDUCED.replace("[The user's name is Alice]", "[]"))


def test_where_the_agent_lives_may_stand_in_the_job():
    text = SMALL + "subject: {url: 'http://127.0.0.1:9000', api_key: 'env:AGENT_KEY'}"
    suite = load_text(text, "agent.yml", allow_env=("AGENT_KEY",))
    assert suite.subject.settings["url"] == "http://127.0.0.1:9000"
    assert suite.subject.settings["user"] == "u"
