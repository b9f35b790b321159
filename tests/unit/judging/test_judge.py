"""One criterion and the evidence in, one verdict out."""

from __future__ import annotations

import asyncio

import pytest

from judge_room import Says, always, criteria, criterion, evidence, in_turn, judge_of, used_tool, verdict
from viva.core.criterion import Level
from viva.core.data import replace
from viva.core.errors import LimitError, ModelError
from viva.core.evidence import Ending, Observed
from viva.core.transcript import Transcript, Turn
from viva.judging.fence import unfence
from viva.judging.panel import Panel
from viva.ports.judge import Verdict, VerdictError
from viva.ports.model import ModelReply, ModelRequest


def prompt(request: ModelRequest) -> str:
    return request.messages[-1].text


async def test_a_verdict_names_its_criterion_judge_template_and_usage() -> None:
    judge = judge_of(always("met"))
    [found] = await judge.judge(evidence(), [criterion()])
    assert isinstance(found, Verdict)
    assert (found.criterion, found.answer, found.model, found.usage.calls) == ("c1", "met", "fake", 1)
    assert len(found.template) == 16


async def test_each_criterion_has_its_own_call_and_the_order_is_kept() -> None:
    model = Says(lambda request: verdict(request, "met" if "number 2" in prompt(request) else "not_met"))
    found = await judge_of(model).judge(evidence(), criteria(4))
    assert [one.answer for one in found if isinstance(one, Verdict)] == ["not_met", "met", "not_met", "not_met"]
    assert len(model.requests) == 4
    assert len({request.nonce for request in model.requests}) == 4


async def test_criteria_are_judged_at_once() -> None:
    together = asyncio.Barrier(5)

    class Meeting:
        name = "meeting"

        async def complete(self, request: ModelRequest) -> ModelReply:
            await together.wait()
            return ModelReply(text=str(verdict(request)).replace("'", '"'))

    async with asyncio.timeout(10):
        found = await judge_of(Meeting()).judge(evidence(), criteria(5))
    assert all(isinstance(one, Verdict) for one in found)


async def test_the_prompt_begins_the_same_for_every_trial_and_ends_with_the_conversation() -> None:
    model = always("met")
    judge = judge_of(model)
    for reply in ("Paris.", "London."):
        await judge.judge(evidence(reply), [criterion()])
    first, second = (prompt(request) for request in model.requests)
    start = first.index("<<<")
    assert first[:start] == second[:start]
    assert "Names Paris." in first[:start]
    assert model.requests[0].messages[0] == model.requests[1].messages[0]
    assert [label for label, _ in unfence(first, model.requests[0].nonce)][-1] == "transcript"


async def test_a_pitfall_is_put_in_words() -> None:
    model = always("met")
    await judge_of(model).judge(evidence(), [criterion("Insults the user.", pitfall=True)])
    assert "met means that the problem IS present" in prompt(model.requests[0])
    await judge_of(model).judge(evidence(), [criterion("Is polite.")])
    assert "problem" not in prompt(model.requests[1]).split("<<<")[0]


async def test_weights_titles_and_thresholds_never_reach_the_judge() -> None:
    model = always("met")
    await judge_of(model).judge(evidence(), [criterion(weight=77.5, title="A secret title", category="Essential")])
    told = model.requests[0].messages[0].text + prompt(model.requests[0])
    assert "77.5" not in told
    assert "secret title" not in told


async def test_a_graded_criterion_is_answered_with_a_level() -> None:
    levels = tuple(Level(name=name, value=float(name)) for name in ("0", "0.25", "0.5", "0.75", "1"))
    model = always("0.75")
    [found] = await judge_of(model).judge(evidence(), [criterion(levels=levels)])
    assert isinstance(found, Verdict)
    assert found.answer == "0.75"
    assert model.requests[0].schema is not None
    menu = model.requests[0].schema["properties"]["answer"]["enum"]
    assert menu == ["0", "0.25", "0.5", "0.75", "1", "cannot_tell"]
    assert "- 0.75: mostly" in prompt(model.requests[0])
    [off] = await judge_of(always("0.8")).judge(evidence(), [criterion(levels=levels)])
    assert isinstance(off, VerdictError)
    assert off.kind == "judge_off_menu"


async def test_the_schema_holds_only_what_the_judge_decides() -> None:
    model = always("met")
    await judge_of(model).judge(evidence(), [criterion()])
    schema = model.requests[0].schema
    assert schema is not None
    assert set(schema["properties"]) == {"id", "reason", "answer"}
    assert schema["additionalProperties"] is False


async def test_the_judge_sees_tools_data_state_facts_reference_and_failures() -> None:
    model = always("met")
    trial = evidence(expected="Paris", facts=("France is in Europe",), context=["a document"])
    turn = Turn(role="assistant", text="Done.", data={"n": 1}, tool_calls=(used_tool(arguments={"q": 1}, result="ok"),))
    trial = replace(
        trial,
        transcript=Transcript(turns=(*trial.transcript.turns, turn)),
        state={"rows": Observed(value=[{"n": 1}]), "gone": Observed(error="timed_out", detail="3 s")},
        ending=Ending(kind="turn_limit", by="limit", because="40 turns"),
    )
    await judge_of(model).judge(trial, [criterion()])
    shown = dict(unfence(prompt(model.requests[0]), model.requests[0].nonce))
    assert shown["facts"] == ["France is in Europe"]
    assert shown["reference"] == "Paris"
    assert shown["context"] == ["a document"]
    assert shown["state"] == {"rows": [{"n": 1}], "gone": {"could_not_look": "timed_out", "detail": "3 s"}}
    assert shown["ending"]["kind"] == "turn_limit"
    assert shown["transcript"][-1]["tool_calls"] == [{"name": "search", "arguments": {"q": 1}, "result": "ok"}]
    assert shown["transcript"][-1]["data"] == {"n": 1}
    assert "question" not in shown


async def test_an_unreadable_reply_is_repaired_once() -> None:
    model = in_turn("met, I think", verdict)
    [found] = await judge_of(model).judge(evidence(), [criterion()])
    assert isinstance(found, Verdict)
    assert "repaired" in found.flags
    assert found.usage.calls == 2
    second = model.requests[1]
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[2].text == "met, I think"
    assert second.nonce == model.requests[0].nonce


async def test_a_reply_that_stays_unreadable_is_an_error_after_exactly_one_repair() -> None:
    model = always("MOSTLY")
    [found] = await judge_of(model).judge(evidence(), [criterion()])
    assert isinstance(found, VerdictError)
    assert (found.kind, len(model.requests), found.usage.calls) == ("judge_off_menu", 2, 2)


async def test_a_refusal_is_asked_once_more_but_not_from_the_cache() -> None:
    model = in_turn("I can't help with that.", verdict)
    [found] = await judge_of(model).judge(evidence(), [criterion()])
    assert isinstance(found, Verdict)
    assert model.requests[1].cache is False
    assert model.requests[1].messages == model.requests[0].messages


async def test_an_odd_reason_is_flagged_and_changes_nothing() -> None:
    [found] = await judge_of(always("met", reason="")).judge(evidence(), [criterion()])
    assert isinstance(found, Verdict)
    assert (found.answer, found.flags) == ("met", ("reason_empty",))


async def test_a_failing_provider_is_an_error_of_that_criterion_alone() -> None:
    down = ModelError("no answer", kind="timed_out", retryable=True)
    model = Says(lambda request: down if "number 2" in prompt(request) else verdict(request))
    found = await judge_of(model).judge(evidence(), criteria(3))
    assert [type(one) for one in found] == [Verdict, VerdictError, Verdict]
    assert isinstance(found[1], VerdictError)
    assert found[1].kind == "judge_unavailable"
    assert "timed_out" in found[1].detail


@pytest.mark.parametrize(
    "error", [ModelError("bad key", kind="unauthorised", fatal=True), LimitError("spent", kind="budget")]
)
async def test_what_concerns_the_whole_run_is_passed_on(error: Exception) -> None:
    with pytest.raises(type(error)):
        await judge_of(Says(lambda request: error)).judge(evidence(), criteria(3))


async def test_evidence_that_was_cut_is_flagged() -> None:
    [found] = await judge_of(always("met")).judge(evidence("x" * 100_000), [criterion()])
    assert "evidence_truncated" in found.flags


class TestRepeats:
    async def test_the_majority_decides_and_the_agreement_is_told(self) -> None:
        model = in_turn(verdict, lambda r: verdict(r, "not_met"), verdict)
        [found] = await judge_of(model, repeats=3).judge(evidence(), [criterion()])
        assert isinstance(found, Verdict)
        assert (found.answer, found.votes, found.usage.calls) == ("met", {"met": 2, "not_met": 1}, 3)
        assert found.agreement == pytest.approx(2 / 3)
        assert "unstable" in found.flags
        assert len({request.salt for request in model.requests}) == 3

    async def test_agreement_is_not_unstable(self) -> None:
        [found] = await judge_of(always("met"), repeats=3).judge(evidence(), [criterion()])
        assert isinstance(found, Verdict)
        assert (found.agreement, found.flags) == (1.0, ())

    async def test_no_majority_is_an_error(self) -> None:
        model = in_turn(verdict, lambda r: verdict(r, "not_met"))
        [found] = await judge_of(model, repeats=2).judge(evidence(), [criterion()])
        assert isinstance(found, VerdictError)
        assert found.kind == "judge_undecided"

    async def test_errors_are_not_votes(self) -> None:
        model = in_turn(verdict, ModelError("down"), ModelError("down"))
        [found] = await judge_of(model, repeats=3).judge(evidence(), [criterion()])
        assert isinstance(found, VerdictError)
        assert found.kind == "judge_unavailable"

    async def test_a_judge_that_flips_is_seen_to_flip(self) -> None:
        flips = iter([i % 10 < 3 for i in range(300)])
        model = Says(lambda request: verdict(request, "not_met" if next(flips) else "met"))
        found = await judge_of(model, repeats=3).judge(evidence(), criteria(100))
        unstable = [one for one in found if "unstable" in one.flags]
        assert len(found) == 100
        assert 40 <= len(unstable) <= 80
        assert all(isinstance(one, Verdict) and one.agreement for one in found)


class TestPanel:
    async def test_disagreement_is_reported_with_every_opinion(self) -> None:
        models = [
            Says(lambda r, a=answer: verdict(r, a), name)
            for name, answer in (("a", "met"), ("b", "met"), ("c", "not_met"))
        ]
        panel = Panel([judge_of(model) for model in models])
        [found] = await panel.judge(evidence(), [criterion()])
        assert isinstance(found, Verdict)
        assert (found.answer, found.model, found.votes) == ("met", "a + b + c", {"met": 2, "not_met": 1})
        assert "panel_disagrees" in found.flags
        assert "c: not_met" in found.reason
        assert found.usage.calls == 3

    async def test_a_split_panel_gives_no_score(self) -> None:
        panel = Panel([judge_of(always("met")), judge_of(always("not_met"))])
        [found] = await panel.judge(evidence(), [criterion()])
        assert isinstance(found, VerdictError)
        assert found.kind == "panel_split"

    async def test_a_panel_that_agrees_is_not_flagged(self) -> None:
        panel = Panel([judge_of(always("4")), judge_of(always("4"))])
        found = await panel.rate(evidence(), "fluency", {"response": "x"}, ("1", "2", "3", "4", "5"))
        assert isinstance(found, Verdict)
        assert (found.answer, found.flags) == ("4", ())

    def test_the_hash_changes_with_the_members(self) -> None:
        a, b = judge_of(always("met")), judge_of(Says(verdict, "other"))
        assert Panel([a, b]).hash != Panel([a, a]).hash


def test_the_hash_changes_with_settings() -> None:
    assert judge_of(always("met")).hash != judge_of(always("met"), temperature=1.0).hash
