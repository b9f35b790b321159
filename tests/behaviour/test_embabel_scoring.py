"""Embabel jobs and their scores: the judge's word, assertions about what the agent did, and one number of it all."""

from __future__ import annotations

import json

import pytest
from exam_rig import JOB, examine, judge_who
from stub_agent import EVENTS, StubAgent

from viva.models.rules import Answer, Prompt

ONE = JOB + "conditions: [supplied]\n"


@pytest.fixture
def agent(monkeypatch):
    with StubAgent() as stub:
        stub.resources = [
            {"id": "1", "name": "dentist", "labels": ["Reminder", "DomainNode"], "properties": {"at": "9am"}},
            {"id": "2", "name": "note"},
        ]
        stub.events = EVENTS
        monkeypatch.setenv("VIVA_AGENT_URL", stub.url)
        yield stub


def wrapped(form: str):
    """A judge that says the right thing in a form of its own."""
    plain = judge_who("0.75")

    def judge(prompt: Prompt) -> str:
        return form.replace("VERDICT", json.dumps(plain(prompt)))

    return judge


@pytest.mark.parametrize(
    "form", ["VERDICT", "```json\nVERDICT\n```", "Let me think about it.\n\nVERDICT\n\nThat is my verdict."]
)
async def test_a_verdict_is_read_bare_fenced_and_within_prose(agent, tmp_path, form):
    exam = await examine(tmp_path, ONE, judge=wrapped(form))
    assert exam["supplied"].result.parts["tasks"] == 0.75
    assert exam.score("supplied", "tone").value == 0.75


async def test_an_unreadable_judge_is_asked_again(agent, tmp_path):
    tries: dict[str, int] = {}

    def judge(prompt: Prompt):
        criterion = prompt.text.partition("Criterion: ")[2][:60]
        tries[criterion] = tries.get(criterion, 0) + 1
        return "hm" if tries[criterion] == 1 else judge_who("1")(prompt)

    exam = await examine(tmp_path, ONE, judge=judge)
    assert exam["supplied"].score == 1.0
    assert set(tries.values()) == {2}


@pytest.mark.parametrize(
    "answer",
    [
        "I would say it went rather well.",
        {"id": "wrong", "reason": "r", "answer": "1"},
        "",
    ],
)
async def test_a_judge_who_stays_unreadable_is_an_error_never_a_number(agent, tmp_path, answer):
    exam = await examine(tmp_path, ONE, judge=judge_who({"": "1", "capital": answer}) if answer != "" else lambda p: "")
    trial = exam["supplied"]
    assert (trial.outcome, trial.score) == ("error", None)
    failed = exam.score("supplied", "task-2")
    assert failed.outcome == "error"


@pytest.mark.parametrize("answer", ["1.5", "-1", "great", "0.6"])
async def test_a_grade_off_the_scale_is_an_error(agent, tmp_path, answer):
    exam = await examine(tmp_path, ONE, judge=judge_who({"": "1", "capital": answer}))
    assert exam["supplied"].outcome == "error"
    assert exam.score("supplied", "task-1").value == 1.0
    assert exam.score("supplied", "task-2").outcome == "error"


async def test_each_task_is_judged_in_a_call_of_its_own_so_none_can_be_left_out(agent, tmp_path):
    exam = await examine(tmp_path, ONE)
    asked = [prompt.partition("Criterion: ")[2][:80] for prompt in exam.prompts("judge")]
    assert len(asked) == 3
    assert sum("reminder" in criterion for criterion in asked) == 1
    assert sum("capital" in criterion for criterion in asked) == 1
    assert sum("tone" in criterion for criterion in asked) == 1


@pytest.mark.parametrize(("grade", "passed"), [("0.5", False), ("0.75", True)])
async def test_a_task_passes_above_six_tenths(agent, tmp_path, grade, passed):
    exam = await examine(tmp_path, ONE, judge=judge_who(grade))
    assert exam.score("supplied", "task-1").passed is passed


async def test_a_refusing_judge_is_an_error(agent, tmp_path):
    exam = await examine(tmp_path, ONE, judge=lambda prompt: Answer(text="no", refused=True, finish="refusal"))
    assert exam["supplied"].outcome == "error"


BINDINGS = [
    "objectContext.resources.size == 2",
    "objectContext.entities.size == 1",
    'objectContext.resources.any { it.name == "dentist" }',
    'objectContext.entities.any { it.labels.contains("Reminder") }',
    'objectContext != null && objectContext.resources.first().properties["at"] == "9am"',
    "evaluation.events.size == 15",
    'evaluation.functionCalls.any { it.function == "create_reminder" }',
    'evaluation.functionCalls.all { it.args["title"] == "dentist" }',
    "evaluation.transcript.size == 7",
    'evaluation.transcript[0].content == "Hello"',
    "evaluation.failureCount == 0",
    "evaluation.done",
    'evaluation.sessionId != ""',
    'evaluation.model == "agent-model"',
    "evaluation.job.tasks.size == 2",
    'evaluation.job.facts.any { it.contains("Sydney") }',
]


async def test_every_binding_of_assertions_has_its_value(agent, tmp_path):
    job = ONE + "assertions:\n" + "".join(f"  - expression: {json.dumps(source)}\n" for source in BINDINGS)
    exam = await examine(tmp_path, job)
    found = {score.name: (score.outcome, getattr(score, "detail", "")) for score in exam["supplied"].scores}
    assert {name: seen for name, seen in found.items() if seen[0] != "pass"} == {}
    assert sum(name.startswith("expression: ") for name in found) == len(BINDINGS)


async def test_a_field_that_does_not_exist_is_an_error_that_names_those_that_do(agent, tmp_path):
    job = ONE + """assertions: [{expression: 'objectContext.entities.any { it.type == "Reminder" }'}]\n"""
    exam = await examine(tmp_path, job)
    (claim,) = [score for score in exam["supplied"].scores if score.section == "assertions"]
    assert (claim.outcome, claim.kind) == ("error", "expression_error")
    assert "type" in claim.detail
    assert "labels" in claim.detail
    assert exam["supplied"].score is None


async def test_a_false_assertion_fails_and_says_what_it_saw(agent, tmp_path):
    exam = await examine(tmp_path, ONE + "assertions: [{expression: objectContext.resources.size == 1}]\n")
    (claim,) = [score for score in exam["supplied"].scores if score.section == "assertions"]
    assert claim.passed is False
    assert "2" in claim.reason
    assert exam["supplied"].result.parts["assertions"] == 0.0


async def test_the_composite_is_timing_tasks_and_assertions_as_one_to_two_to_four(agent, tmp_path):
    job = ONE + (
        "assertions:\n"
        "  - {expression: objectContext.resources.size == 2, weight: 2}\n"
        "  - {expression: objectContext.resources.size == 9, weight: 3}\n"
    )
    agent.failures = [500]
    exam = await examine(tmp_path, job, judge=judge_who({"reminder": "1", "capital": "0.5", "": "0"}))
    result = exam["supplied"].result
    assert result.parts == {
        "timing": 1.0,
        "tasks": 0.75,
        "assertions": pytest.approx(0.4),
        "penalty": 0.3,
        "rounded": pytest.approx(0.29),
    }
    assert result.score == pytest.approx((1 + 2 * 0.75 + 4 * 0.4) / 7 - 0.3)


async def test_a_job_without_assertions_is_scored_by_the_rest_and_says_so(agent, tmp_path):
    exam = await examine(tmp_path, ONE, judge=judge_who("0.5"))
    assert exam["supplied"].result.missing == ("assertions",)
    assert exam["supplied"].score == pytest.approx((1 + 2 * 0.5) / 3)


async def test_equal_assertions_and_weightless_ones_are_no_crash(agent, tmp_path):
    twice = "  - {expression: objectContext.resources.size == 2, weight: 0}\n" * 2
    exam = await examine(tmp_path, ONE + "assertions:\n" + twice)
    assert exam["supplied"].score == 1.0
    assert "assertions" in exam["supplied"].result.missing


async def test_weights_penalty_and_tone_may_be_set_in_the_job(agent, tmp_path):
    agent.failures = [500]
    formula = "formula: {embabel@1: {weights: {tasks: 1, tone: 1}, failure_penalty: 0.1}}\n"
    exam = await examine(tmp_path, ONE + formula, judge=judge_who({"tone": "0.5", "": "1"}))
    assert exam["supplied"].score == pytest.approx(0.75 - 0.1)


async def test_other_scorers_and_thresholds_mix_with_a_job(agent, tmp_path):
    more = """\
checks:
  - {contains: "You said", label: echoes}
  - {tools: {called: [create_reminder]}}
measures: [turns]
criteria: [{text: The assistant is polite, id: polite}]
thresholds: ["score >= 0.9", "echoes >= 1"]
"""
    exam = await examine(tmp_path, ONE + more, judge=judge_who({"polite": "met", "": "1"}))
    assert exam["supplied"].outcome == "pass"
    names = {score.name for score in exam["supplied"].scores}
    assert {"echoes", "polite", "turns", "task-1", "timing"} <= names
