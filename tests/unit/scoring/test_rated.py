"""Ratings from 1 to 5 by the judge."""

from __future__ import annotations

from typing import Any

import pytest

from judge_room import FakeKit, Says, always, evidence, verdict
from viva.core.case import Case
from viva.core.score import Score, ScoreError
from viva.judging.fence import unfence
from viva.registry import Registry

FULL = Case(id="c", input="What is the capital of France?", expected="Paris", context=["Paris is the capital."])
RATED = ("coherence", "fluency", "relevance", "groundedness", "similarity", "retrieval", "tone")


def build(name: str, model: Any, **settings: Any) -> Any:
    return Registry().build("scorers", name, settings, FakeKit(model))


@pytest.mark.parametrize("name", RATED)
@pytest.mark.parametrize(("answer", "value"), [("1", 0.0), ("3", 0.5), (4, 0.75), ("5", 1.0)])
async def test_a_rating_is_raw_and_normalised(name: str, answer: Any, value: float) -> None:
    [score] = await build(name, always(answer)).score(evidence(case=FULL))
    assert isinstance(score, Score)
    assert (score.name, score.raw, score.value, score.unit) == (name, float(answer), value, "1–5")
    assert score.hash
    assert score.usage is not None


@pytest.mark.parametrize("answer", [0, 6, "0", "6", 4.5, "4.5", -1, True, "high", "4/5", None, "NaN"])
async def test_a_rating_out_of_range_is_an_error(answer: Any) -> None:
    [score] = await build("relevance", always(answer)).score(evidence(case=FULL))
    assert isinstance(score, ScoreError)
    assert score.kind == "judge_off_menu"


@pytest.mark.parametrize(
    ("name", "lacking", "need"),
    [
        ("groundedness", "context", "`context`"),
        ("similarity", "expected", "`expected`"),
        ("retrieval", "context", "`context`"),
        ("relevance", "input", "`query`"),
        ("coherence", "input", "`query`"),
    ],
)
async def test_a_missing_input_is_an_error_that_names_it(name: str, lacking: str, need: str) -> None:
    given = {"input": "q", "expected": "e", "context": "c", lacking: None}
    model = always("5")
    [score] = await build(name, model).score(evidence(case=Case(id="c", **given)))
    assert isinstance(score, ScoreError)
    assert score.kind == "missing_input"
    assert need in score.detail
    assert model.requests == []


async def test_an_agent_that_never_answered_is_not_rated() -> None:
    [score] = await build("fluency", always("5")).score(evidence(None, case=FULL))
    assert isinstance(score, ScoreError)
    assert score.kind == "missing_input"


@pytest.mark.parametrize("name", RATED)
async def test_everything_a_rating_is_shown_is_behind_the_fence(name: str) -> None:
    model = always("3")
    await build(name, model).score(evidence("The reply of the agent.", case=FULL))
    request = model.requests[0]
    labels = [label for label, _ in unfence(request.messages[1].text, request.nonce)]
    assert labels
    assert "The reply of the agent." not in request.messages[0].text
    assert request.schema is not None
    assert request.schema["properties"]["answer"]["enum"] == ["1", "2", "3", "4", "5"]


async def test_a_rating_may_have_a_pass_mark() -> None:
    for answer, passed in (("3", False), ("4", True)):
        [score] = await build("fluency", always(answer), at_least=4).score(evidence(case=FULL))
        assert isinstance(score, Score)
        assert score.passed is passed


async def test_tone_is_told_what_tone_is_wanted() -> None:
    model = always("5")
    await build("tone", model, wanted="Like an old sailor.").score(evidence(case=FULL))
    assert "Like an old sailor." in model.requests[0].messages[1].text


async def test_the_qa_composite_has_all_six_keys() -> None:
    scores = await build("qa", always("4")).score(evidence("Paris", case=FULL))
    assert [score.name for score in scores] == [
        "qa.f1", "qa.groundedness", "qa.relevance", "qa.coherence", "qa.fluency", "qa.similarity",
    ]  # fmt: skip
    assert all(isinstance(score, Score) for score in scores)
    assert scores[0].value == 1.0


async def test_the_qa_composite_keeps_five_when_one_input_is_missing() -> None:
    scores = await build("qa", always("4")).score(evidence("Paris", case=Case(id="c", input="q", expected="Paris")))
    assert [score.name for score in scores if isinstance(score, ScoreError)] == ["qa.groundedness"]
    assert len(scores) == 6


async def test_completion_tells_completed_from_verified() -> None:
    model = Says(lambda r: verdict(r, "not_met" if "checked the result" in r.messages[1].text else "met"))
    scores = await build("completion", model).score(evidence(case=FULL))
    assert {score.name: score.value for score in scores if isinstance(score, Score)} == {
        "completion.completed": 1.0,
        "completion.verified": 0.0,
    }


def test_a_replaced_template_changes_the_hash_of_its_rating_alone() -> None:
    own = FakeKit(always("3"), templates={"fluency": "{{ response }}"})
    kits = (FakeKit(always("3")), own)
    fluency, tone = ([Registry().build("scorers", name, {}, kit).hash for kit in kits] for name in ("fluency", "tone"))
    assert fluency[0] != fluency[1]
    assert tone[0] == tone[1]
