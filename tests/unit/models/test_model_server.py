"""The public loopback server, from Python and from a shell."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from viva.core import faultpoint
from viva.core.errors import ModelError
from viva.models.call import gate_for
from viva.models.catalogue import build_model
from viva.ports.model import ChatMessage, ModelRequest
from viva.testing.clock import FakeClock
from viva.testing.kit import FakeKit
from viva.testing.model_server import ModelServer, ServerLimit

ASK = ModelRequest(messages=(ChatMessage(role="user", text="hello"),))


async def test_it_runs_from_a_shell_with_rules(tmp_path: Path) -> None:
    (tmp_path / "rules.yml").write_text("- when: {contains: hello}\n  reply: Good day.\n")
    command = [sys.executable, "-m", "viva.testing.model_server", "--rules", str(tmp_path / "rules.yml")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        model = build_model(f"openai/m@{process.stdout.readline().strip()}", FakeKit())
        assert (await model.complete(ASK)).text == "Good day."
        await model.close()
        process.terminate()


async def test_above_its_limit_it_answers_429_and_counts() -> None:
    limit = ServerLimit(concurrent=2, retry_after_s=5)
    async with ModelServer("ok", latency_s=0.05, limit=limit) as server:
        clock = FakeClock()
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=clock), attempts=1)
        results = await asyncio.gather(*(model.complete(ASK) for _ in range(5)), return_exceptions=True)
        await model.close()
    refused = [result for result in results if isinstance(result, ModelError)]
    assert len(refused) == server.throttled == 3
    assert all(error.wait_s == 5 for error in refused)
    assert server.counts == {"calls": 5, "throttled": 3, "errors": 0, "most_at_once": 2}


async def test_an_unknown_path_and_a_prompt_without_a_rule_are_told_apart() -> None:
    async with ModelServer("ok") as server:
        lost = build_model(f"openai/m@{server.url}/elsewhere?x=", FakeKit(clock=FakeClock()))
        assert (await lost.complete(ASK)).text == "ok", "any path that ends like a model's works"
        await lost.close()
    async with ModelServer(lambda _: None) as server:  # type: ignore[arg-type, return-value]
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=FakeClock()))
        with pytest.raises(ModelError, match="no rule applies to 'hello'"):
            await model.complete(ASK)
        await model.close()


class StrangeError(BaseException):
    pass


async def test_whatever_happens_inside_a_call_its_place_at_the_gate_is_free_again() -> None:
    clock = FakeClock()

    def strike(point: str) -> None:
        if point == "models.send":
            raise StrangeError

    async with ModelServer("ok") as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=clock))
        gate = gate_for(model._model.account, clock)  # type: ignore[attr-defined]
        faultpoint.install(strike)
        try:
            with pytest.raises(StrangeError):
                await model.complete(ASK)
            with pytest.raises(StrangeError):
                [piece async for piece in model.stream(ASK)]
        finally:
            faultpoint.install(None)
        assert gate.in_flight == 0
        reading = model.stream(ASK)
        assert await anext(reading) == "ok"
        await reading.aclose()  # type: ignore[attr-defined]
        assert gate.in_flight == 0
        waiting = asyncio.create_task(model.complete(ASK))
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        assert gate.in_flight == 0
        assert (await model.complete(ASK)).text == "ok"
        await model.close()
