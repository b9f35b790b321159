"""Several criteria in one call, split again on failure; the canary voids a call that was talked over."""

from __future__ import annotations

import pytest

from judge_room import Says, batch_verdicts, criteria, evidence, judge_of, verdict
from viva.core.errors import ModelError
from viva.ports.judge import Verdict, VerdictError
from viva.ports.model import ModelRequest


def is_batch(request: ModelRequest) -> bool:
    return request.schema is not None and "verdicts" in request.schema["properties"]


def honest(number: str, text: str) -> str:
    return "not_met" if "canary-" in text or "number 2" in text else "met"


async def test_ten_criteria_take_three_calls_of_four() -> None:
    model = Says(lambda request: batch_verdicts(request, honest))
    found = await judge_of(model, batch=4).judge(evidence(), criteria(10))
    assert len(model.requests) == 3
    assert [one.criterion for one in found] == [f"c{i}" for i in range(1, 11)]
    assert [one.answer for one in found if isinstance(one, Verdict)] == ["met", "not_met"] + ["met"] * 8
    assert sum(one.usage.calls for one in found) == 3


@pytest.mark.parametrize("lost", ["missing", "off_menu", "repeated"])
async def test_what_is_wrong_with_one_is_asked_again_for_that_one_alone(lost: str) -> None:
    def answer(request: ModelRequest) -> object:
        if not is_batch(request):
            return verdict(request, "not_met")
        said = batch_verdicts(request, honest)
        if lost == "missing":
            said["verdicts"].pop(1)
        elif lost == "repeated":
            said["verdicts"].append(said["verdicts"][1])
        else:
            said["verdicts"][1]["answer"] = "MOSTLY"
        return said

    model = Says(answer)
    found = await judge_of(model, batch=4).judge(evidence(), criteria(4))
    assert [one.answer for one in found if isinstance(one, Verdict)] == ["met", "not_met", "met", "met"]
    assert [is_batch(request) for request in model.requests] == [True, False]
    assert "Criterion number 2" in model.requests[1].messages[-1].text


async def test_an_unreadable_batch_is_split() -> None:
    model = Says(lambda request: "no idea" if is_batch(request) else verdict(request))
    found = await judge_of(model, batch=4).judge(evidence(), criteria(4))
    assert all(isinstance(one, Verdict) for one in found)
    assert [is_batch(request) for request in model.requests] == [True, True] + [False] * 4
    assert sum(one.usage.calls for one in found) == 6


async def test_a_verdict_on_what_was_not_asked_splits_the_batch() -> None:
    def answer(request: ModelRequest) -> object:
        if not is_batch(request):
            return verdict(request)
        said = batch_verdicts(request, honest)
        said["verdicts"][0]["criterion"] = "9"
        return said

    found = await judge_of(Says(answer), batch=2).judge(evidence(), criteria(2))
    assert [one.answer for one in found if isinstance(one, Verdict)] == ["met", "met"]


async def test_a_criterion_that_stays_wrong_is_an_error_for_that_criterion_only() -> None:
    def answer(request: ModelRequest) -> object:
        if is_batch(request):
            return batch_verdicts(request, lambda n, text: None if "number 3" in text else "met")
        return verdict(request, "MOSTLY")

    found = await judge_of(Says(answer), batch=3).judge(evidence(), criteria(3))
    assert [type(one) for one in found] == [Verdict, Verdict, VerdictError]


async def test_a_provider_that_is_down_is_not_asked_again_for_each() -> None:
    model = Says(lambda request: ModelError("down", kind="server_error"))
    found = await judge_of(model, batch=4).judge(evidence(), criteria(4))
    assert len(model.requests) == 1
    assert {one.kind for one in found if isinstance(one, VerdictError)} == {"judge_unavailable"}


async def test_a_wrong_canary_voids_the_whole_call() -> None:
    model = Says(lambda request: batch_verdicts(request, lambda n, text: "met"))
    found = await judge_of(model, batch=4, canary=True).judge(evidence(), criteria(4))
    assert {one.kind for one in found if isinstance(one, VerdictError)} == {"judge_compromised"}
    assert len([one for one in found if isinstance(one, VerdictError)]) == 4
    assert len(model.requests) == 1


async def test_a_missing_canary_voids_the_whole_call() -> None:
    model = Says(lambda request: batch_verdicts(request, lambda n, text: None if "canary-" in text else "met"))
    found = await judge_of(model, canary=True).judge(evidence(), criteria(2))
    assert {one.kind for one in found if isinstance(one, VerdictError)} == {"judge_compromised"}


async def test_a_living_canary_changes_nothing() -> None:
    model = Says(lambda request: batch_verdicts(request, honest))
    found = await judge_of(model, batch=4, canary=True).judge(evidence(), criteria(4))
    assert [one.answer for one in found if isinstance(one, Verdict)] == ["met", "not_met", "met", "met"]
    assert f"canary-{model.requests[0].nonce}" in model.requests[0].messages[-1].text


async def test_a_batch_may_be_repeated() -> None:
    model = Says(lambda request: batch_verdicts(request, honest))
    found = await judge_of(model, batch=2, repeats=3).judge(evidence(), criteria(2))
    assert [one.agreement for one in found if isinstance(one, Verdict)] == [1.0, 1.0]
    assert len(model.requests) == 3
