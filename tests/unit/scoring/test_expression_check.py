"""expression: claims about the evidence, Embabel's bindings, and errors that are no scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from viva.core.case import Case, Task
from viva.core.evidence import Ending, Evidence, Observation, Observed
from viva.core.score import Score, ScoreError
from viva.core.transcript import Event, Fault, ToolCall, Turn

Build = Callable[..., Any]
Answered = Callable[..., Evidence]

CONTEXT = {
    "context": "c-1",
    "resources": [
        {"id": "1", "name": "Milk", "labels": ["Reminder", "DomainNode"]},
        {"id": "2", "name": "Note", "labels": ["Text"]},
        {"id": "3", "name": "Bare"},
    ],
    "functions": [{"name": "add"}],
}
TURNS = (
    Turn(role="user", text="Remind me of milk"),
    Turn(
        role="assistant",
        text="Done",
        data={"total": 12},
        latency_ms=100.0,
        tool_calls=(ToolCall(name="add_reminder", arguments={"what": "milk"}),),
        events=(Event(kind="function_call", data={"request": {"function": {"name": "add_reminder"}}}),),
        faults=(Fault(kind="http_503"),),
    ),
)


async def only(scorer: Any, evidence: Evidence) -> Score | ScoreError:
    (score,) = await scorer.score(evidence)
    return score


@pytest.fixture
def evidence(answered: Answered) -> Evidence:
    case = Case(id="c", input="?", expected="Done", tasks=(Task(text="Remind me"),), facts=("a fact",))
    return answered(
        turns=TURNS,
        case=case,
        data={"total": 12},
        session="s-1",
        model="m-1",
        ending=Ending(),
        state={"state": Observed(value={"resources": [1]}), "objectContext": Observed(value=CONTEXT)},
    )


@pytest.mark.parametrize(
    "source",
    [
        "size(state.resources) == 1",
        "output.total == 12",
        'text == "Done" && text == case.expected',
        'transcript[0].role == "user" && transcript[0].tool_calls == []',
        'transcript.exists(t, t.tool_calls.exists(c, c.name == "add_reminder"))',
        'tools[0].arguments.what == "milk"',
        "timing.mean_ms <= 100 && timing.responses == 1 && timing.first_token_ms == null",
        "failures == 1",
        'case.id == "c" && case.facts == ["a fact"]',
        "size(objectContext.resources) == 3",
        "size(objectContext.entities) == 1",
        "objectContext.entities[0].name == 'Milk'",
        "objectContext.resources[2].labels == [] && objectContext.resources[2].description == 'Bare'",
    ],
)
async def test_each_binding_shows_the_evidence(build_scorer: Build, evidence: Evidence, source: str) -> None:
    score = await only(build_scorer("expression", source=source), evidence)
    assert isinstance(score, Score) and score.passed is True, score


@pytest.mark.parametrize(
    "source",
    [
        "objectContext.resources.size == 3",
        'objectContext.resources.any { it.name == "Milk" }',
        "objectContext != null && objectContext.entities.size == 1",
        'objectContext.entities.any { it.labels.contains("Reminder") }',
        'evaluation.sessionId == "s-1"',
        'evaluation.model == "m-1"',
        'evaluation.job.tasks.first().task == "Remind me"',
        "evaluation.transcript.size == 2",
        'evaluation.transcript.last().content == "Done"',
        "evaluation.done",
        "evaluation.failureCount == 1",
        "evaluation.events.size == 1",
        'evaluation.functionCalls.any { it.function == "add_reminder" && it.args["what"] == "milk" }',
    ],
)
async def test_embabels_bindings_work_in_kotlin(build_scorer: Build, evidence: Evidence, source: str) -> None:
    score = await only(build_scorer("expression", source=source, language="kotlin"), evidence)
    assert isinstance(score, Score) and score.passed is True, score


async def test_a_field_embabel_never_had_is_an_error_that_names_labels(build_scorer: Build, evidence: Evidence) -> None:
    scorer = build_scorer(
        "expression", source='objectContext.entities.any { it.type == "Reminder" }', language="kotlin"
    )
    score = await only(scorer, evidence)
    assert isinstance(score, ScoreError) and score.kind == "expression_error"
    assert "no field 'type'" in score.detail and "did you mean 'labels'?" in score.detail and "^" in score.detail


@pytest.mark.parametrize(
    "source", ["state.nope == 1", "1 / 0 == 1", "text + 1 == ''", "text", "size(state.resources)", "output.total.x"]
)
async def test_an_expression_without_a_value_is_an_error_and_never_false(
    build_scorer: Build, evidence: Evidence, source: str
) -> None:
    score = await only(build_scorer("expression", source=source), evidence)
    assert isinstance(score, ScoreError) and score.kind == "expression_error" and "1:" in score.detail


async def test_a_false_claim_fails_with_the_values_that_made_it_false(build_scorer: Build, evidence: Evidence) -> None:
    score = await only(build_scorer("expression", source="size(state.resources) == 2"), evidence)
    assert score.passed is False and "size(state.resources) is 1" in score.reason


def test_only_what_is_mentioned_is_observed(build_scorer: Build) -> None:
    assert build_scorer("expression", source="text == 'state'").observations() == ()
    assert [one.key for one in build_scorer("expression", source="state.x == 1").observations()] == ["state"]
    kotlin = build_scorer("expression", source="objectContext.resources.isEmpty()", language="kotlin")
    assert kotlin.observations() == (Observation(key="objectContext"),)


async def test_a_state_that_could_not_be_observed_is_an_error(build_scorer: Build, answered: Answered) -> None:
    scorer = build_scorer("expression", source="state.x == 1")
    failed = await only(scorer, answered("x", state={"state": Observed(error="http_500", detail="boom")}))
    assert isinstance(failed, ScoreError) and failed.kind == "observation_failed"
    assert (await only(scorer, answered("x"))).kind == "not_observed"


def test_polling_stops_when_the_claim_holds(build_scorer: Build) -> None:
    scorer = build_scorer("expression", source="size(state.items) == 2", poll_s=5.0)
    (look,) = scorer.observations()
    assert look.poll_s == 5.0
    assert scorer.settled(look, Observed(value={"items": [1, 2]})) is True
    assert scorer.settled(look, Observed(value={"items": [1]})) is False
    assert scorer.settled(look, Observed(value={})) is False
