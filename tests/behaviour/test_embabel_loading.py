"""Embabel job files load unchanged: every field, every default, every variant; and the two forms in full size."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from viva.config.load import load_suite, load_text
from viva.core.errors import SuiteError

EVERY_FIELD = """\
evaluator:
  name: Diotima
  voice: You speak in riddles
  temperature: 0.7
  signoff: Farewell
aspirationalAverage: 1200
target:
  user: ann
  chatbot: oracle
scorer:
  temperature: 0.1
maxTurns: 12
greetings: [Ahoy]
seeds:
  - text: Ann lives in Athens
  - conversation:
      - content: My name is Ann
      - role: assistant
        content: Hello Ann
setups:
  - cypher: "CREATE (:Calendar)"
tasks:
  - type: question
    task: Ask where I live
    acceptanceCriteria: It says Athens
facts:
  - Ann lives in Athens
assertions:
  - expression: objectContext.resources.size == 1
    weight: 2
  - cypher: "MATCH (r:Reminder) RETURN count(r) AS count"
    expected: 1
    weight: 3
"""


def test_every_field_of_a_job_arrives_where_it_belongs():
    suite = load_text(EVERY_FIELD, "agent.yml")
    (case,) = suite.cases
    assert case.driver.settings == {
        "name": "Diotima",
        "voice": "You speak in riddles",
        "temperature": 0.7,
        "signoff": "Farewell",
        "greetings": ["Ahoy"],
    }
    assert case.judging.settings == {"temperature": 0.1}
    assert case.measures[0].settings == {"target_ms": 1200.0}
    assert suite.subject.settings == {"user": "ann", "chatbot": "oracle"}
    assert case.limits.turns == 6
    assert [(seed.name, seed.where) for seed in case.stage.seeds] == [
        ("text", "agent.yml:15"),
        ("conversation", "agent.yml:16"),
    ]
    assert [setup.settings for setup in case.stage.setups] == [{"script": "CREATE (:Calendar)"}]
    assert [(task.kind, task.text, task.acceptance) for task in case.tasks] == [
        ("question", "Ask where I live", "It says Athens")
    ]
    assert case.facts == ("Ann lives in Athens",)
    assert [(check.scorer, check.weight) for check in case.checks if check.section == "assertions"] == [
        ("expression", 2),
        ("cypher", 3),
    ]


def test_a_job_is_loaded_from_an_absolute_and_from_a_relative_path(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "eval"
    folder.mkdir(parents=True)
    (folder / "agent.yml").write_text(EVERY_FIELD)
    monkeypatch.chdir(tmp_path)
    relative, absolute = load_suite(Path("data/eval/agent.yml")), load_suite(folder / "agent.yml")
    assert [task.text for task in relative.cases[0].tasks] == [task.text for task in absolute.cases[0].tasks]
    assert relative.name == absolute.name == "agent"


def reduced(seeds: int, messages: int, tasks: int, facts: int, **marks: float) -> str:
    """A reduced job of a given size, written as people write it: no roles, no marks unless asked for."""
    lines = [{"content": f"message {number}"} for number in range(messages)]
    share = messages // seeds
    parts = [lines[n * share : (n + 1) * share if n < seeds - 1 else messages] for n in range(seeds)]
    job = {
        "seeds": [{"conversation": part} for part in parts],
        "tasks": [{"task": f"Ask about {n}", "acceptanceCriteria": f"It knows {n}"} for n in range(tasks)],
        "facts": [f"Fact {n}" for n in range(facts)],
        **marks,
    }
    return yaml.safe_dump(job, sort_keys=False)


@pytest.mark.parametrize(
    ("size", "marks", "wanted"),
    [
        ((1, 4, 3, 5), {}, (0.5, 0.6)),
        ((10, 61, 14, 50), {"minTaskScore": 0.0, "minAverageScore": 0.2}, (0.0, 0.2)),
    ],
    ids=["short", "long"],
)
def test_both_sizes_of_the_reduced_form_load_with_their_marks(size, marks, wanted):
    suite = load_text(reduced(*size, **marks), "memory.yml")
    (case,) = suite.cases
    seeds, messages, tasks, facts = size
    lines = [line for seed in case.stage.seeds for line in seed.settings["lines"]]
    assert (len(case.stage.seeds), len(lines), len(case.tasks), len(case.facts)) == (seeds, messages, tasks, facts)
    assert {line["role"] for line in lines} == {"user"}
    of_tasks = [t.value for t in case.thresholds if t.metric.startswith("task-")]
    assert of_tasks == [wanted[0]] * tasks
    assert [t.value for t in case.thresholds if t.metric == "tasks"] == [wanted[1]]
    assert [str(t) for t in suite.thresholds] == ["pass_rate >= 1"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"seeds": [{"conversation": [{"role": "bot", "content": "x"}]}]}, "'bot' is not one of its values"),
        ({"facts": []}, "facts"),
        ({"tasks": []}, "tasks"),
        ({"minTaskScore": 1.5}, "minTaskScore"),
        ({"minTskScore": 0.5}, "did you mean 'minTaskScore'"),
    ],
)
def test_what_a_reduced_job_cannot_mean_is_refused_with_its_line(change, said):
    job = {**yaml.safe_load(reduced(1, 4, 3, 5)), **change}
    with pytest.raises(SuiteError) as refused:
        load_text(yaml.safe_dump(job, sort_keys=False), "memory.yml")
    assert said in str(refused.value)
    assert "memory.yml:" in str(refused.value)


def test_keys_of_vivas_own_may_stand_in_a_job():
    more = """\
subject: {url: "http://127.0.0.1:9000", path: v2/chat, api_key: "env:AGENT_KEY", timeout_s: 20}
graph: {embedded: {port: 7999}}
settle: {probe: {cypher: {query: "MATCH (m:Memory) RETURN count(m) AS n", until: value >= 2}}, every_s: 1}
conditions: [supplied]
repeats: 5
limits: {turn_seconds: 9, cost_usd: 0.5}
retry: {attempts: 2}
measures: [turns]
formula: {embabel@1: {weights: {tasks: 1}}}
thresholds: ["score >= 0.7", "pass_rate >= 0.9"]
"""
    suite = load_text(EVERY_FIELD + more, "agent.yml", allow_env=("AGENT_KEY",))
    (case,) = suite.cases
    assert [variant.name for variant in case.variants] == ["supplied"]
    assert (case.repeats, case.limits.turn_seconds, case.limits.turns, case.retry.attempts) == (5, 9, 6, 2)
    assert case.stage.graph.settings == {"port": 7999}
    assert case.stage.settle.probe.name == "cypher"
    assert case.formula.settings == {"weights": {"tasks": 1}}
    assert [str(threshold) for threshold in case.thresholds] == ["score >= 0.7"]
    assert [str(threshold) for threshold in suite.thresholds] == ["pass_rate >= 0.9"]


@pytest.mark.parametrize("key", ["evaluator", "aspirationalAverage", "target", "tasks", "facts"])
def test_each_required_key_is_missed_by_name_file_and_line(key):
    job = {name: value for name, value in yaml.safe_load(EVERY_FIELD).items() if name != key}
    with pytest.raises(SuiteError) as refused:
        load_text(json.dumps(job), "agent.yml")
    assert f"'{key}'" in str(refused.value)
    assert "agent.yml:1" in str(refused.value)
