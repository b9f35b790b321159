"""Null answers show how easily a judge is fooled; the labelled set shows how far it can be believed."""

from __future__ import annotations

import json
from collections import Counter

from judge_room import Says, always, criterion, judge_of, verdict
from viva.core.case import Case
from viva.core.errors import ModelError
from viva.judging.controls import NULL_ANSWERS, false_positive_rate
from viva.judging.examination import examine_judge
from viva.judging.fence import unfence
from viva.judging.labelled.load import items, measured, spread
from viva.ports.model import ModelRequest


def case(name: str = "c", **more: object) -> Case:
    return Case(id=name, input="What is the capital of France?", criteria=(criterion(**more),))


async def test_a_judge_that_says_yes_to_nothing_has_a_rate_of_one() -> None:
    found = await false_positive_rate(judge_of(always("met")), [case()], 8)
    assert (found.rate, found.asked, found.errors) == (1.0, 8, 0)
    assert "100.0% false positives on null answers (8 of 8)" in str(found)
    assert found.examples


async def test_a_judge_that_reads_has_a_rate_of_zero() -> None:
    found = await false_positive_rate(judge_of(always("not_met")), [case("a"), case("b")], 6)
    assert (found.rate, found.asked) == (0.0, 6)


async def test_errors_are_counted_beside_the_rate_and_never_in_it() -> None:
    found = await false_positive_rate(judge_of(Says(lambda r: ModelError("down"))), [case()], 3)
    assert (found.rate, found.asked, found.errors) == (None, 0, 3)


async def test_pitfalls_are_no_controls() -> None:
    model = always("met")
    found = await false_positive_rate(judge_of(model), [case(pitfall=True)], 5)
    assert found.asked == 0
    assert model.requests == []


async def test_all_null_answers_are_used() -> None:
    model = always("not_met")
    await false_positive_rate(judge_of(model), [case()], len(NULL_ANSWERS))
    shown = [
        dict(unfence(request.messages[-1].text, request.nonce))["transcript"][-1]["text"] for request in model.requests
    ]
    assert sorted(shown) == sorted(NULL_ANSWERS)


class TestTheLabelledSet:
    def test_it_is_large_and_balanced(self) -> None:
        every = items()
        assert len(every) >= 60
        answers = Counter(item.answer for item in every)
        assert abs(answers["met"] - answers["not_met"]) <= len(every) * 0.1
        kinds = Counter(item.kind for item in every)
        assert kinds["pitfall"] >= 8
        assert kinds["injection"] >= 10
        assert len({item.domain for item in every}) >= 10
        assert len({item.id for item in every}) == len(every)

    def test_every_answer_is_on_its_menu(self) -> None:
        for item in items():
            assert item.answer in (item.levels or ("met", "not_met"))

    def test_a_limit_takes_items_from_all_over_it(self) -> None:
        some = spread(20)
        assert len(some) == 20
        assert len({item.kind for item in some}) >= 3

    def test_the_bundled_model_was_measured(self) -> None:
        found = measured("local/smollm2")
        assert found is not None
        assert 0.0 < found.accuracy < 0.8
        assert "labelled items" in str(found)
        assert measured("openai/none") is None


def knows(request: ModelRequest) -> dict[str, object]:
    """A judge that knows every answer of the labelled set, and that nothing is nothing."""
    text = request.messages[-1].text
    asked = json.loads(text.split("Criterion: ", 1)[1].split("\n", 1)[0])
    said = dict(unfence(text, request.nonce))["transcript"][-1]
    for item in items():
        tools = [call.name for call in item.tool_calls]
        if (item.criterion, item.reply) == (asked, said["text"]) and tools == [
            c["name"] for c in said.get("tool_calls", [])
        ]:
            results = [call.result for call in item.tool_calls]
            if results == [c.get("result") for c in said.get("tool_calls", [])]:
                return verdict(request, item.answer)
    return verdict(request, "not_met")


async def test_a_perfect_judge_is_found_perfect() -> None:
    report = await examine_judge(judge_of(Says(knows)), items())
    assert report.accuracy == 1.0
    assert report.mistakes == ()
    assert report.controls.rate == 0.0
    assert report.not_judged == 0
    assert report.usage.calls == len(items()) + len(NULL_ANSWERS)


async def test_a_judge_that_always_says_yes_is_found_out() -> None:
    report = await examine_judge(judge_of(always("met")), items())
    assert report.accuracy is not None
    assert 0.35 < report.accuracy < 0.55
    assert report.controls.rate == 1.0
    assert report.yes_rate is not None
    assert report.yes_rate > 0.9
    assert report.not_judged == 4  # The graded items have no such level.
    assert report.errors == {"judge_off_menu": 4}


async def test_a_judge_that_gave_no_verdict_has_no_accuracy_rather_than_none_right() -> None:
    report = await examine_judge(judge_of(Says(lambda r: "met")), spread(10))
    assert (report.right, report.judged, report.not_judged) == (0, 0, 10)
    assert (report.accuracy, report.yes_rate, report.controls.rate) == (None, None, None)
    assert all(judged == 0 for _, judged in report.by_kind.values())


async def test_items_it_did_not_judge_count_neither_for_nor_against_it() -> None:
    unlucky = items()[0].reply

    def mostly(request: ModelRequest) -> dict[str, object]:
        if json.dumps(unlucky) in request.messages[-1].text:
            raise ModelError("no connection", kind="connection")
        return knows(request)

    report = await examine_judge(judge_of(Says(mostly)), items()[:9])
    assert (report.items, report.judged, report.right, report.accuracy) == (9, 8, 8, 1.0)
    assert report.errors == {"connection": 1}
    assert sum(judged for _, judged in report.by_kind.values()) == 8
