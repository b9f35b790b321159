"""The judge over a real wire: what a provider may answer never becomes a number that nobody gave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import web

from judge_room import FakeKit, criterion, evidence, judge_of
from viva.core.case import Case
from viva.core.faultpoint import install
from viva.core.score import Score, ScoreError
from viva.models.catalogue import build_model
from viva.ports.judge import Verdict
from viva.ports.model import Model
from viva.scoring.criteria import Each, EachSettings

Answer = Callable[[dict[str, Any], str], tuple[int, Any]]


def reply(text: str | None, finish: str = "stop", **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": text, **message}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {
        "id": "x",
        "model": "m",
        "choices": [{"index": 0, "message": said, "finish_reason": finish}],
        "usage": usage,
    }


def verdict_in(prompt: str, answer: str = "met") -> str:
    call = prompt.rsplit('{"id": "', 1)[1][:32]
    return json.dumps({"id": call, "reason": "so", "answer": answer})


class Provider:
    """A chat completions endpoint whose answers a test decides."""

    def __init__(self) -> None:
        self.answer: Answer = lambda body, prompt: (200, reply(verdict_in(prompt)))
        self.bodies: list[dict[str, Any]] = []

    async def handle(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.bodies.append(body)
        status, said = self.answer(body, body["messages"][-1]["content"])
        return web.json_response(said, status=status)


@pytest.fixture
async def provider() -> AsyncIterator[Provider]:
    made = Provider()
    app = web.Application()
    app.router.add_post("/v1/chat/completions", made.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    made.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"  # type: ignore[attr-defined]
    yield made
    await runner.cleanup()


@pytest.fixture
async def model(provider: Provider) -> AsyncIterator[Model]:
    made = build_model(f"openai/m@{provider.url}", FakeKit(), attempts=1)  # type: ignore[attr-defined,arg-type]
    yield made
    await made.close()


async def test_a_verdict_comes_over_the_wire_with_its_usage(provider: Provider, model: Model) -> None:
    [found] = await judge_of(model).judge(evidence(), [criterion()])
    assert isinstance(found, Verdict)
    assert (found.answer, found.usage.calls, found.usage.tokens) == ("met", 1, 15)
    assert "response_format" in provider.bodies[0]


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        (reply(""), "judge_refused"),
        (reply(None), "judge_refused"),
        (reply("I can't help with that."), "judge_refused"),
        (reply(None, refusal="I will not judge this."), "judge_refused"),
        (reply("partial", finish="content_filter"), "judge_refused"),
        (reply('{"id": "', finish="length"), "judge_unreadable"),
        (reply("GRADE: C"), "judge_unreadable"),
        (reply('{"met": "yes"}'), "judge_wrong_call"),
    ],
)
async def test_what_is_no_verdict_is_an_error_after_one_repair(
    provider: Provider, model: Model, said: dict[str, Any], kind: str
) -> None:
    provider.answer = lambda body, prompt: (200, said)
    case = Case(id="c", input="q", criteria=(criterion(),))
    [score] = await Each(EachSettings(), FakeKit(model)).score(evidence(case=case))
    assert isinstance(score, ScoreError)
    assert score.kind == kind
    assert len(provider.bodies) == 2


async def test_a_provider_down_for_some_criteria_leaves_the_others_judged(provider: Provider, model: Model) -> None:
    def answer(body: dict[str, Any], prompt: str) -> tuple[int, Any]:
        if "number 2" in prompt:
            return 500, {"error": {"message": "down"}}
        return 200, reply(verdict_in(prompt))

    provider.answer = answer
    found = tuple(criterion(f"Criterion number {i} holds.", id=f"c{i}") for i in (1, 2, 3))
    scores = await Each(EachSettings(), FakeKit(model)).score(evidence(case=Case(id="c", input="q", criteria=found)))
    assert [type(score) for score in scores] == [Score, ScoreError, Score]
    assert isinstance(scores[1], ScoreError)
    assert scores[1].kind == "judge_unavailable"


async def test_a_repaired_reply_over_the_wire_is_flagged(provider: Provider, model: Model) -> None:
    def answer(body: dict[str, Any], prompt: str) -> tuple[int, Any]:
        return 200, reply("met!" if len(provider.bodies) == 1 else verdict_in(prompt, "not_met"))

    provider.answer = answer
    [found] = await judge_of(model).judge(evidence(), [criterion()])
    assert isinstance(found, Verdict)
    assert found.answer == "not_met"
    assert "repaired" in found.flags
    assert found.usage.calls == 2


async def test_a_fault_inside_the_judge_is_no_verdict(model: Model) -> None:
    def hook(point: str) -> None:
        if point == "judging.call":
            raise RuntimeError("injected")

    install(hook)
    try:
        with pytest.raises(RuntimeError, match="injected"):
            await judge_of(model).judge(evidence(), [criterion()])
    finally:
        install(None)


async def test_verdicts_in_flight_are_cancelled_with_their_trial(model: Model) -> None:
    await judge_of(model).judge(evidence(), [criterion()])
    before = asyncio.all_tasks()
    judging = asyncio.ensure_future(judge_of(model).judge(evidence(), [criterion(id=f"c{i}") for i in range(5)]))
    await asyncio.sleep(0)
    judging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await judging
    assert asyncio.all_tasks() - before == set()
