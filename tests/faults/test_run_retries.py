"""Retries do not multiply: of one message or one question, a provider sees what was configured, whoever asks."""

from __future__ import annotations

from pathlib import Path

import pytest

import viva
from viva.core.data import replace
from viva.models import retry
from viva.models.rules import Answer, Prompt
from viva.testing.model_server import ModelServer

BUSY = Answer(status=503, body=b'{"error": {"message": "busy"}}')


@pytest.mark.parametrize("attempts", [1, 3])
async def test_an_agent_behind_a_model_endpoint_is_asked_as_often_as_the_suite_says(
    tmp_path: Path, attempts: int
) -> None:
    async with ModelServer(lambda _: BUSY) as server:
        suite = viva.suite(
            "retries",
            [{"id": "one", "input": "hello"}],
            subject={"openai": {"base_url": server.url, "model": "m"}},
            retry={"attempts": attempts, "backoff_s": 0.01},
            checks=[{"contains": "x"}],
        )
        run = await viva.arun(suite, store=tmp_path / "viva.db")
        (trial,) = [trial async for trial in run.walk()]
    assert (trial.outcome, trial.result.error) == ("error", "server_error")
    assert server.calls == attempts


async def test_a_judge_is_asked_as_often_as_its_one_policy_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = replace(retry.MODEL_RETRY, attempts=4, backoff_s=0.01, factor=1.0)
    monkeypatch.setattr(retry, "MODEL_RETRY", few)
    asked: list[str] = []

    def judge(prompt: Prompt) -> Answer:
        asked.append(prompt.model)
        return BUSY

    async with ModelServer(judge) as server:
        suite = viva.suite(
            "retries",
            [{"id": "one", "input": "hello"}],
            retry={"attempts": 3, "backoff_s": 0.01},
            criteria=["Is kind"],
            judging={"each": {"repeats": 1}},
            roles={"judge": f"openai/judge@{server.url}"},
        )
        run = await viva.arun(suite, subject=lambda message: "hi", store=tmp_path / "viva.db")
        (trial,) = [trial async for trial in run.walk()]
    assert trial.outcome == "error"
    assert len(asked) == 4, "the judge's own attempts and the suite's were multiplied"
