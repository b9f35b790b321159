"""Claims are counted by us; the judge only takes apart and checks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from judge_room import FakeKit, Says, evidence
from viva.core.case import Case
from viva.core.score import Score, ScoreError
from viva.judging.fence import unfence
from viva.ports.model import ModelRequest
from viva.registry import Registry
from viva.scoring.measures.claims import ratios
from viva.scoring.measures.semantic import cosine

CASE = Case(id="c", input="Tell me about Einstein.", expected="the expected answer")


def knows(said: list[str], wanted: list[str], true: set[str]) -> Says:
    """A judge that takes the reply apart into `said`, the expected answer into `wanted`, and supports `true`."""

    def answer(request: ModelRequest) -> dict[str, Any]:
        shown = dict(unfence(request.messages[1].text, request.nonce))
        if "claims" not in shown:
            return {"id": request.nonce, "claims": wanted if shown["text"] == "the expected answer" else said}
        checked = [
            {"criterion": n, "reason": "", "answer": "supported" if claim in true else "not_supported"}
            for n, claim in shown["claims"].items()
        ]
        return {"id": request.nonce, "verdicts": checked}

    return Says(answer)


def build(name: str, model: Any, **settings: Any) -> Any:
    return Registry().build("scorers", name, settings, FakeKit(model))


@pytest.mark.parametrize(("mode", "value"), [("f1", 2 / 3), ("precision", 2 / 3), ("recall", 2 / 3)])
async def test_two_true_one_false_one_missed_is_two_thirds(mode: str, value: float) -> None:
    model = knows(["a", "b", "x"], ["a", "b", "c"], {"a", "b"})
    [score] = await build("factual_correctness", model, mode=mode).score(evidence("a b x", case=CASE))
    assert isinstance(score, Score)
    assert score.value == pytest.approx(value)
    assert (score.detail["supported"], score.detail["unsupported"], score.detail["missing"]) == (
        ["a", "b"],
        ["x"],
        ["c"],
    )
    assert len(model.requests) == 4
    assert score.usage is not None
    assert score.usage.calls == 4


async def test_precision_and_recall_differ() -> None:
    model = knows(["a"], ["a", "b", "c", "d"], {"a"})
    for mode, value in (("precision", 1.0), ("recall", 0.25), ("f1", 0.4)):
        [score] = await build("factual_correctness", model, mode=mode).score(evidence("a", case=CASE))
        assert isinstance(score, Score)
        assert score.value == pytest.approx(value)


async def test_no_claims_on_either_side_is_an_error_not_a_number() -> None:
    [score] = await build("factual_correctness", knows([], [], set())).score(evidence("Hello!", case=CASE))
    assert isinstance(score, ScoreError)
    assert score.kind == "no_claims"


async def test_a_reply_without_claims_misses_everything() -> None:
    [score] = await build("factual_correctness", knows([], ["a"], set())).score(evidence("Hello!", case=CASE))
    assert isinstance(score, Score)
    assert score.value == 0.0


async def test_an_unreadable_list_of_claims_is_an_error() -> None:
    [score] = await build("factual_correctness", Says(lambda r: "1. a\n2. b")).score(evidence("a", case=CASE))
    assert isinstance(score, ScoreError)
    assert score.kind == "judge_unreadable"


async def test_a_claim_without_an_answer_is_an_error() -> None:
    whole = knows(["a", "b"], ["a"], {"a"})

    def answer(request: ModelRequest) -> Any:
        said = whole._answer(request)
        if "verdicts" in said:
            said["verdicts"] = said["verdicts"][:-1]
        return json.dumps(said)

    [score] = await build("factual_correctness", Says(answer)).score(evidence("a b", case=CASE))
    assert isinstance(score, ScoreError)


async def test_a_missing_expected_answer_is_named() -> None:
    [score] = await build("factual_correctness", Says(lambda r: "")).score(evidence("a", case=Case(id="c", input="q")))
    assert isinstance(score, ScoreError)
    assert "`expected`" in score.detail


def test_ratios_of_nothing_are_none() -> None:
    assert ratios(0, 0, 0) == {"precision": None, "recall": None, "f1": None}


@pytest.mark.parametrize(("answer", "value"), [("yes", 1.0), ("no", 0.0)])
async def test_equivalence_is_yes_or_no_with_confidence_beside_it(answer: str, value: float) -> None:
    model = Says(lambda r: {"id": r.nonce, "reason": "same", "answer": answer, "confidence": 85})
    [score] = await build("answer_equivalence", model).score(evidence("Paris", case=CASE))
    assert isinstance(score, Score)
    assert (score.value, score.passed, score.detail["confidence"]) == (value, value == 1.0, 85)


@pytest.mark.parametrize("confidence", [101, -5, 0.9, "high", None, True])
async def test_a_confidence_out_of_range_gives_no_score(confidence: Any) -> None:
    model = Says(lambda r: {"id": r.nonce, "reason": "same", "answer": "yes", "confidence": confidence})
    [score] = await build("answer_equivalence", model).score(evidence("Paris", case=CASE))
    assert isinstance(score, ScoreError)
    assert score.kind == "judge_off_menu"


class Vectors:
    name = "vectors"

    def __init__(self, *vectors: list[float]) -> None:
        self._vectors = list(vectors)

    async def embed(self, texts: tuple[str, ...]) -> list[list[float]]:
        return self._vectors[: len(texts)]


async def test_semantic_similarity_is_the_cosine() -> None:
    kit = FakeKit(embedder=Vectors([1.0, 1.0], [1.0, 0.0]))
    [score] = (
        await Registry().build("scorers", "semantic_similarity", {"at_least": 0.7}, kit).score(evidence(case=CASE))
    )
    assert isinstance(score, Score)
    assert score.value == pytest.approx(0.70710678)
    assert score.passed


async def test_what_points_away_scores_zero_and_keeps_its_raw_cosine() -> None:
    kit = FakeKit(embedder=Vectors([1.0, 0.0], [-1.0, 0.0]))
    [score] = await Registry().build("scorers", "semantic_similarity", {}, kit).score(evidence(case=CASE))
    assert isinstance(score, Score)
    assert (score.value, score.raw) == (0.0, -1.0)


@pytest.mark.parametrize("left", [[0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0], [1.0]])
async def test_a_vector_without_direction_is_an_error(left: list[float]) -> None:
    kit = FakeKit(embedder=Vectors(left, [1.0, 0.0]))
    [score] = await Registry().build("scorers", "semantic_similarity", {}, kit).score(evidence(case=CASE))
    assert isinstance(score, ScoreError)
    assert cosine(left, [1.0, 0.0]) is None
