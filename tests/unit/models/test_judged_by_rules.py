"""A judge whose model is scripted, replayed from the cache, or served over HTTP: the same verdicts each time."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.core.case import Case
from viva.core.criterion import Criterion
from viva.core.evidence import Evidence
from viva.core.transcript import Transcript, Turn
from viva.core.variant import DEFAULT_VARIANT
from viva.judging.judge import JudgeSettings, ModelJudge
from viva.models.catalogue import build_model
from viva.models.rules import read_rules
from viva.ports.judge import Verdict
from viva.testing.clock import FakeClock
from viva.testing.kit import FakeKit
from viva.testing.model_server import ModelServer

SCRIPTED = """
- when: {contains: '"verdicts"'}
  capture: '"id": "(\\w+)"'
  for_each: {find: '(?m)^(\\d+)\\. ', item: {criterion: $1, reason: It does., answer: met}}
  reply: {id: $1, verdicts: $items}
- when: {contains: '"Names Paris"', regex: '"role":"assistant".*Paris'}
  capture: '"id": "(\\w+)"'
  reply: {id: $1, reason: The reply names Paris., answer: met}
- when: {contains: 'Criterion:'}
  capture: '"id": "(\\w+)"'
  reply: {id: $1, reason: Nothing in the reply says so., answer: not_met}
"""
CRITERIA = (Criterion(id="paris", text="Names Paris"), Criterion(id="rude", text="Is rude", pitfall=True))


def evidence() -> Evidence:
    turns = (Turn(role="user", text="The capital of France?"), Turn(role="assistant", text="It is Paris."))
    return Evidence(
        trial="t", case=Case(id="t", criteria=CRITERIA), variant=DEFAULT_VARIANT, transcript=Transcript(turns=turns)
    )


def answers(verdicts: list) -> list[str]:
    assert all(isinstance(verdict, Verdict) for verdict in verdicts), verdicts
    return [verdict.answer for verdict in verdicts]


class MemoryCache:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def get(self, key: str) -> bytes | None:
        return self.kept.get(key)

    async def put(self, key: str, reply: bytes, model: str) -> None:
        self.kept[key] = reply

    async def close(self) -> None: ...


async def test_rules_can_judge(tmp_path: Path) -> None:
    (tmp_path / "judge.yml").write_text(SCRIPTED)
    model = build_model("scripted:judge.yml", FakeKit(folder=tmp_path, clock=FakeClock()))
    assert answers(await ModelJudge(model).judge(evidence(), CRITERIA)) == ["met", "not_met"]


async def test_rules_can_judge_several_criteria_in_one_call(tmp_path: Path) -> None:
    (tmp_path / "judge.yml").write_text(SCRIPTED)
    model = build_model("scripted:judge.yml", FakeKit(folder=tmp_path, clock=FakeClock()))
    judge = ModelJudge(model, settings=JudgeSettings(batch=2))
    assert answers(await judge.judge(evidence(), CRITERIA)) == ["met", "met"]


async def test_a_cached_verdict_answers_the_new_call_and_sends_nothing() -> None:
    cache = MemoryCache()
    async with ModelServer(read_rules(SCRIPTED.encode(), "judge.yml")) as server:
        said = []
        for _ in range(2):
            model = build_model(f"openai/m@{server.url}", FakeKit(clock=FakeClock()), cache=cache)
            said.append(await ModelJudge(model).judge(evidence(), CRITERIA))
            await model.close()
    assert answers(said[0]) == answers(said[1]) == ["met", "not_met"]
    assert server.calls == 2
    assert all("cached" in verdict.flags for verdict in said[1])
    assert sum(verdict.usage.cache_hits for verdict in said[1]) == 2


@pytest.mark.parametrize("salted", [True, False])
async def test_deliberate_repeats_are_asked_each_time(salted: bool) -> None:
    async with ModelServer(read_rules(SCRIPTED.encode(), "judge.yml")) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=FakeClock()), cache=MemoryCache())
        judge = ModelJudge(model, settings=JudgeSettings(repeats=3 if salted else 1))
        await judge.judge(evidence(), CRITERIA[:1])
        await model.close()
    assert server.calls == (3 if salted else 1)
