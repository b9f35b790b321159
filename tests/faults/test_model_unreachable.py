"""Addresses at which no model is: found out in seconds and said in one line; a model that was there is waited for."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import viva
from viva.core.errors import ModelError
from viva.models.call import CalledModel
from viva.models.catalogue import build_embedder, build_model
from viva.models.rules import Answer
from viva.ports.model import ChatMessage, ModelReply, ModelRequest
from viva.testing.clock import FakeClock
from viva.testing.kit import FakeKit
from viva.testing.model_server import ModelServer

ASK = ModelRequest(messages=(ChatMessage(role="user", text="hello"),))
FINE = b'{"choices": [{"message": {"content": "fine"}, "finish_reason": "stop"}]}'


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


class Talker:
    """A loopback server that sends prepared bytes to whoever connects, and counts."""

    def __init__(self, say: Callable[[int], bytes]) -> None:
        self.say = say
        self.calls = 0
        self.port = 0

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.calls += 1
        await reader.read(65536)
        writer.write(self.say(self.calls))
        await writer.drain()
        writer.close()

    @asynccontextmanager
    async def serve(self, port: int = 0) -> AsyncIterator[str]:
        server = await asyncio.start_server(self._answer, "127.0.0.1", port)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{self.port}/v1"
        finally:
            server.close()
            await server.wait_closed()


def http(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n"
    return f"{head}connection: close\r\n\r\n".encode() + body


async def refusal(model: CalledModel) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await model.complete(ASK)
    return caught.value


async def test_where_nobody_ever_answered_two_attempts_are_enough_and_the_error_stops_the_run() -> None:
    clock = FakeClock()
    url = f"http://127.0.0.1:{closed_port()}/v1"
    model = build_model(f"openai/x@{url}", FakeKit(clock=clock))
    error = await refusal(model)
    assert (error.kind, error.fatal, error.retryable) == ("connection", True, False)
    assert f"no model answers at {url}/chat/completions: cannot connect: " in str(error)
    assert "(gave up after 2 attempts)" in str(error)
    assert "start it, or mend the address" in str(error)
    assert len(clock.slept) == 1
    assert sum(clock.slept) <= 1
    again = await refusal(model)
    assert again.fatal
    assert len(clock.slept) == 1, "what is known is not tried again"
    await model.close()


async def test_many_calls_at_once_find_it_out_together() -> None:
    clock = FakeClock()
    model = build_model(f"openai/x@http://127.0.0.1:{closed_port()}/v1", FakeKit(clock=clock))
    results = await asyncio.gather(*(model.complete(ASK) for _ in range(50)), return_exceptions=True)
    await model.close()
    assert all(isinstance(result, ModelError) and result.fatal for result in results)
    assert len(clock.slept) < 50, "calls that had not begun when it was known did not wait"


async def test_a_host_without_an_address_is_named_so() -> None:
    model = build_model("openai/x@http://no-such-host.invalid/v1", FakeKit(clock=FakeClock()))
    error = await refusal(model)
    await model.close()
    assert (error.kind, error.fatal) == ("dns", True)
    assert "its host has no address" in str(error)


async def test_a_server_that_speaks_no_tls_is_named_so() -> None:
    async with Talker(lambda _: b"hello\r\n").serve() as url:
        model = build_model(f"openai/x@{url.replace('http:', 'https:')}", FakeKit(clock=FakeClock()))
        error = await refusal(model)
        await model.close()
    assert (error.kind, error.fatal) == ("tls", True)
    assert "no secure connection" in str(error)


@pytest.mark.parametrize(
    ("said", "kind", "calls"),
    [
        (http(b'{"status": "up"}'), "unreadable", 2),
        (http(b"<html>Welcome</html>"), "unreadable", 2),
        (b"SSH-2.0-OpenSSH_9.7\r\n", "malformed", 1),
        (b"", "reset", 3),
    ],
)
async def test_what_was_never_a_model_is_not_asked_for_long(said: bytes, kind: str, calls: int) -> None:
    clock, talker = FakeClock(), Talker(lambda _: said)
    async with talker.serve() as url:
        model = build_model(f"openai/x@{url}", FakeKit(clock=clock))
        error = await refusal(model)
        await model.close()
    assert (error.kind, error.fatal) == (kind, True)
    assert f"no model answers at {url}/chat/completions" in str(error)
    assert talker.calls == calls
    assert sum(clock.slept) <= 2


async def test_a_model_that_answered_before_and_then_says_what_is_no_completion_stops_nothing() -> None:
    talker = Talker(lambda call: http(FINE if call in (1, 4) else b"{}"))
    async with talker.serve() as url:
        model = build_model(f"openai/x@{url}", FakeKit(clock=FakeClock()))
        assert (await model.complete(ASK)).text == "fine"
        error = await refusal(model)
        assert (error.kind, error.fatal, talker.calls) == ("unreadable", False, 3)
        assert (await model.complete(ASK)).text == "fine"
        await model.close()


async def test_a_model_that_answered_before_is_waited_for_as_long_as_patience_lasts() -> None:
    clock, talker = FakeClock(), Talker(lambda _: http(FINE))
    async with talker.serve() as url:
        model = build_model(f"openai/x@{url}", FakeKit(clock=clock), patience_s=20)
        await model.complete(ASK)
    error = await refusal(model)
    assert (error.kind, error.fatal) == ("connection", False)
    assert 15 < sum(clock.slept) <= 20.001
    async with talker.serve(talker.port):
        assert (await model.complete(ASK)).text == "fine", "nothing was given up for good"
    await model.close()


async def test_patience_is_a_minute_unless_the_user_says_otherwise() -> None:
    for env, longest_s in (({}, 60.0), ({"VIVA_PATIENCE_S": "3"}, 3.0)):
        clock, talker = FakeClock(), Talker(lambda _: http(FINE))
        async with talker.serve() as url:
            model = build_model(f"openai/x@{url}", FakeKit(clock=clock, env=env))
            await model.complete(ASK)
        await refusal(model)
        await model.close()
        assert longest_s * 0.7 < sum(clock.slept) <= longest_s + 0.001


class Restarted(FakeClock):
    """A clock during whose third wait a server comes back."""

    def __init__(self) -> None:
        super().__init__()
        self.back = asyncio.Event()
        self.up = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        if len(self.slept) == 3:
            self.back.set()
            await self.up.wait()


async def test_a_model_that_restarts_costs_a_wait_and_no_error() -> None:
    clock, talker = Restarted(), Talker(lambda _: http(FINE))
    async with talker.serve() as url:
        model = build_model(f"openai/x@{url}", FakeKit(clock=clock))
        await model.complete(ASK)
    waiting: asyncio.Task[ModelReply] = asyncio.create_task(model.complete(ASK))
    await asyncio.wait_for(clock.back.wait(), 30)
    async with talker.serve(talker.port):
        clock.up.set()
        reply = await waiting
    await model.close()
    assert (reply.text, reply.attempts) == ("fine", 4)


async def test_an_error_of_the_provider_keeps_its_ten_attempts() -> None:
    async with ModelServer(lambda _: Answer(status=500, body=b"oops")) as server:
        model = build_model(f"openai/x@{server.url}", FakeKit(clock=FakeClock()))
        error = await refusal(model)
        await model.close()
    assert (error.kind, error.fatal, server.calls) == ("provider_error", False, 10)


async def test_what_takes_long_because_it_is_tried_again_is_told_once_for_each_endpoint() -> None:
    notices: list[str] = []
    kit = FakeKit(clock=FakeClock())
    async with Talker(lambda _: http(FINE)).serve() as url:
        model = build_model(f"openai/x@{url}", kit, notice=notices.append)
        other = build_model(f"openai/y@{url}", kit, notice=notices.append)
        await model.complete(ASK)
        assert notices == []
    for asked in (model, other, model):
        await refusal(asked)
    await asyncio.gather(model.close(), other.close())
    assert notices == [f"openai/x@{url}: cannot connect, trying again…"]


async def test_what_is_tried_again_at_once_is_not_worth_a_word() -> None:
    notices: list[str] = []
    answers = [Answer(status=500, body=b"oops"), Answer(text="fine")]
    async with ModelServer(lambda _: answers.pop(0)) as server:
        model = build_model(f"openai/x@{server.url}", FakeKit(clock=FakeClock()), notice=notices.append)
        assert (await model.complete(ASK)).attempts == 2
        await model.close()
    assert notices == []


async def test_an_embedder_that_is_not_there_is_found_out_as_soon() -> None:
    clock = FakeClock()
    embedder = build_embedder(f"openai/e@http://127.0.0.1:{closed_port()}/v1", FakeKit(clock=clock))
    with pytest.raises(ModelError, match="no model answers at") as caught:
        await embedder.embed(("text",))
    await embedder.close()  # type: ignore[attr-defined]
    assert caught.value.fatal
    assert len(clock.slept) == 1


async def test_a_run_whose_judge_is_not_there_stops_with_one_reason(tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{closed_port()}/v1"
    suite = viva.suite(
        "nobody",
        [{"id": name, "input": "hello"} for name in ("a", "b", "c", "d")],
        criteria=["Is kind", "Is short"],
        roles={"judge": f"openai/x@{url}"},
    )
    run = await viva.arun(suite, subject=lambda message: "hi", store=tmp_path / "viva.db")
    assert run.status == "aborted"
    assert f"no model answers at {url}/chat/completions: cannot connect" in run.reason
    assert [trial async for trial in run.walk()] == [], "no trial has scores for a reason that is not its own"
