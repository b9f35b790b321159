"""Both wire formats against a real server on this machine."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from viva.core.errors import ModelError, SetupError
from viva.models.catalogue import build_model
from viva.models.rules import Answer, Prompt
from viva.ports.model import ChatMessage, ModelRequest
from viva.testing.clock import FakeClock
from viva.testing.kit import FakeKit
from viva.testing.model_server import ModelServer

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"answer": {"enum": ["met", "not_met"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
ASK = ModelRequest(messages=(ChatMessage(role="system", text="Be brief."), ChatMessage(role="user", text="Hello")))
JUDGE = msgspec.structs.replace(ASK, schema=SCHEMA, schema_name="verdict")
FORMATS = ["openai", "anthropic"]


def model_at(server: ModelServer, form: str, clock: FakeClock | None = None, **options: Any):
    base = server.url.removesuffix("/v1")
    env = {
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_API_KEY": "sk-ant-key",
        "OPENAI_BASE_URL": server.url,
        "OPENAI_API_KEY": "sk-key",
    }
    name = "openai/m-1" if form == "openai" else "anthropic/m-1"
    return build_model(name, FakeKit(env=env, clock=clock or FakeClock()), **options)


def sent(server: ModelServer) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(server.seen[-1].body)
    return found


@pytest.mark.parametrize("form", FORMATS)
async def test_a_plain_call_is_answered_with_usage(form: str) -> None:
    async with ModelServer("Paris is nice") as server:
        model = model_at(server, form)
        reply = await model.complete(ASK)
        await model.close()
    assert (reply.text, reply.finish, reply.refused, reply.model) == ("Paris is nice", "stop", False, "m-1")
    assert reply.usage.calls == 1
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 3)
    assert reply.latency_ms > 0


async def test_the_system_message_goes_where_each_format_has_it() -> None:
    async with ModelServer("ok") as server:
        for form in FORMATS:
            model = model_at(server, form)
            await model.complete(ASK)
            await model.close()
            body = sent(server)
            if form == "anthropic":
                assert (body["system"], body["messages"]) == ("Be brief.", [{"role": "user", "content": "Hello"}])
                assert server.seen[-1].headers["x-api-key"] == "sk-ant-key"
                assert "anthropic-version" in server.seen[-1].headers
            else:
                assert [message["role"] for message in body["messages"]] == ["system", "user"]
                assert server.seen[-1].headers["authorization"] == "Bearer sk-key"


@pytest.mark.parametrize("form", FORMATS)
async def test_a_schema_is_forced_by_the_endpoint(form: str) -> None:
    async with ModelServer(lambda _: {"answer": "met"}) as server:
        model = model_at(server, form)
        reply = await model.complete(JUDGE)
        await model.close()
        body = sent(server)
    assert msgspec.json.decode(reply.text) == {"answer": "met"}
    assert reply.finish == "stop"
    if form == "openai":
        assert body["response_format"]["json_schema"] == {"name": "verdict", "schema": SCHEMA, "strict": True}
    else:
        assert body["tools"] == [{"name": "verdict", "input_schema": SCHEMA}]
        assert body["tool_choice"] == {"type": "tool", "name": "verdict"}


@pytest.mark.parametrize(
    ("form", "complaint"),
    [
        ("openai", "'response_format' of type 'json_schema' is not supported with this model"),
        ("anthropic", "tool_choice forces tool use and is not compatible with this model"),
    ],
)
async def test_a_schema_the_endpoint_cannot_force_is_asked_for_in_words(form: str, complaint: str) -> None:
    async with ModelServer("x") as server:

        def answer(_: Prompt) -> Answer:
            body = sent(server)
            if "response_format" in body or "tools" in body:
                return Answer(status=400, body=msgspec.json.encode({"error": {"message": complaint}}))
            return Answer(text='{"answer": "met"}')

        server._answers = answer
        model = model_at(server, form)
        results = await asyncio.gather(*(model.complete(JUDGE) for _ in range(6)))
        calls = server.calls
        await model.complete(JUDGE)
        await model.close()
    assert all(result.text == '{"answer": "met"}' for result in results)
    assert '"enum":["met","not_met"]' in sent(server)["messages"][-1]["content"]
    assert server.calls == calls + 1, "what a model refuses is remembered"


@pytest.mark.parametrize("form", FORMATS)
async def test_a_parameter_the_model_refuses_is_left_out_and_not_sent_again(form: str) -> None:
    async with ModelServer("x") as server:

        def answer(_: Prompt) -> Answer:
            if "temperature" in sent(server):
                said = {
                    "error": {"message": "Unsupported value: 'temperature' does not support 0", "param": "temperature"}
                }
                return Answer(status=400, body=msgspec.json.encode(said))
            return Answer(text="fine")

        server._answers = answer
        clock = FakeClock()
        model = model_at(server, form, clock)
        request = msgspec.structs.replace(ASK, temperature=0.0, max_tokens=50)
        assert (await model.complete(request)).attempts == 2
        assert (await model.complete(request)).attempts == 1
        await model.close()
        assert sent(server)["max_tokens"] == 50
    assert clock.slept in ([], [0.0])


async def test_the_other_name_of_max_tokens_is_learned() -> None:
    async with ModelServer("x") as server:

        def answer(_: Prompt) -> Answer:
            if "max_tokens" in sent(server):
                said = "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."
                return Answer(status=400, body=msgspec.json.encode({"error": {"message": said, "param": "max_tokens"}}))
            return Answer(text="fine")

        server._answers = answer
        model = model_at(server, "openai")
        assert (await model.complete(msgspec.structs.replace(ASK, max_tokens=7))).text == "fine"
        await model.close()
        assert sent(server)["max_completion_tokens"] == 7


async def test_another_bad_request_is_not_retried() -> None:
    said = b'{"error": {"message": "messages must alternate"}}'
    async with ModelServer(lambda _: Answer(status=400, body=said)) as server:
        model = model_at(server, "openai")
        with pytest.raises(ModelError, match="must alternate") as caught:
            await model.complete(ASK)
        await model.close()
    assert (caught.value.kind, caught.value.fatal, server.calls) == ("bad_request", False, 1)


@pytest.mark.parametrize("form", FORMATS)
async def test_a_refusal_is_marked_and_is_no_answer(form: str) -> None:
    async with ModelServer(lambda _: Answer(text="I can't help with that.", refused=True)) as server:
        model = model_at(server, form)
        reply = await model.complete(JUDGE)
        await model.close()
    assert (reply.refused, reply.finish) == (True, "refusal")


async def test_a_filtered_prompt_is_a_refused_reply_and_not_an_error() -> None:
    body = b'{"error": {"code": "content_filter", "message": "The response was filtered", "status": 400}}'
    async with ModelServer(lambda _: Answer(status=400, body=body)) as server:
        model = model_at(server, "openai")
        reply = await model.complete(ASK)
        await model.close()
    assert (reply.refused, reply.finish, reply.text) == (True, "content_filter", "")


@pytest.mark.parametrize("form", FORMATS)
async def test_a_cut_reply_says_so(form: str) -> None:
    async with ModelServer(lambda _: Answer(text="a long story", fault="truncated", finish="length")) as server:
        model = model_at(server, form)
        assert (await model.complete(ASK)).finish == "length"
        await model.close()


@pytest.mark.parametrize("form", FORMATS)
async def test_a_stream_gives_the_same_reply_and_the_time_to_its_first_token(form: str) -> None:
    async with ModelServer("one two three") as server:
        model = model_at(server, form)
        whole = await model.complete(ASK)
        streamed = await model.complete(msgspec.structs.replace(ASK, stream=True))
        pieces = [piece async for piece in model.stream(ASK)]
        await model.close()
    assert streamed.text == whole.text == "".join(pieces)
    assert len(pieces) == 3
    assert (streamed.usage, streamed.finish) == (whole.usage, "stop")
    assert streamed.first_token_ms is not None
    assert 0 < streamed.first_token_ms <= streamed.latency_ms


async def test_a_stream_that_breaks_off_is_an_error_and_not_a_short_answer() -> None:
    async with ModelServer("x") as server:
        model = model_at(server, "openai", attempts=2)
        from viva.testing import model_server

        original = model_server.stream_body
        model_server.stream_body = lambda asked, answer: original(asked, answer)[:1]
        try:
            with pytest.raises(ModelError, match="in the middle"):
                await model.complete(msgspec.structs.replace(ASK, stream=True))
        finally:
            model_server.stream_body = original
        await model.close()
    assert server.calls == 2


@pytest.mark.parametrize("fault", ["hang", "drip"])
async def test_the_deadline_is_for_the_whole_call(fault: str) -> None:
    async with ModelServer(lambda _: Answer(text="slow " * 100, fault=fault)) as server:  # type: ignore[arg-type]
        model = model_at(server, "openai", attempts=1)
        with pytest.raises(ModelError) as caught:
            await asyncio.wait_for(model.complete(msgspec.structs.replace(ASK, timeout_s=0.5)), 10)
        await model.close()
    assert caught.value.kind == "timed_out"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b'{"choices": []}',
        b'{"choices": [{}]}',
        b"<html>",
        b'{"choices": [{"message": 3}]}',
        b"\xff\xfe",
    ],
)
async def test_a_200_that_is_no_completion_is_an_error(body: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.testing.model_server.reply_body", lambda asked, answer: body)
    async with ModelServer("x") as server:
        model = model_at(server, "openai", attempts=2)
        with pytest.raises(ModelError) as caught:
            await model.complete(ASK)
        await model.close()
    assert (caught.value.kind, server.calls) == ("unreadable", 2)


async def test_lone_surrogates_in_a_prompt_can_be_sent() -> None:
    async with ModelServer("ok") as server:
        model = model_at(server, "openai")
        await model.complete(ModelRequest(messages=(ChatMessage(role="user", text="a\ud800b"),)))
        await model.close()
        assert sent(server)["messages"][0]["content"] == "a\\ud800b"


async def test_a_server_that_is_not_there_is_named() -> None:
    model = build_model("openai/m@http://127.0.0.1:9/v1", FakeKit(clock=FakeClock()), attempts=2)
    with pytest.raises(ModelError, match="2 attempts") as caught:
        await model.complete(ASK)
    await model.close()
    assert caught.value.kind == "connection"


async def test_azure_is_called_at_its_deployment_with_its_version() -> None:
    async with ModelServer("ok") as server:
        base = server.url.removesuffix("/v1")
        env = {
            "AZURE_OPENAI_ENDPOINT": base,
            "AZURE_OPENAI_KEY": "azure-key",
            "AZURE_OPENAI_CHAT_DEPLOYMENT_ID": "my deployment",
            "AZURE_OPENAI_API_VERSION": "2025-01-01",
        }
        model = build_model("azure", FakeKit(env=env, clock=FakeClock()))
        await model.complete(ASK)
        await model.close()
    assert server.seen[-1].path == "/openai/deployments/my%20deployment/chat/completions?api-version=2025-01-01"
    assert server.seen[-1].headers["api-key"] == "azure-key"
    assert model.name == "azure/my deployment"


@pytest.mark.parametrize(
    ("name", "env", "path"),
    [
        ("google/gemini", {"GEMINI_API_KEY": "g-key", "GEMINI_BASE_URL": "{}/openai"}, "/openai/chat/completions"),
        ("huggingface/o/m", {"HF_TOKEN": "hf-key", "HF_BASE_URL": "{}/v1"}, "/v1/chat/completions"),
        (
            "openrouter/o/m",
            {"OPENROUTER_API_KEY": "or-key", "OPENROUTER_BASE_URL": "{}/api/v1"},
            "/api/v1/chat/completions",
        ),
        ("ollama/llama3:8b", {"OLLAMA_HOST": "{}"}, "/v1/chat/completions"),
    ],
)
async def test_the_other_providers_are_called_at_their_paths(name: str, env: dict[str, str], path: str) -> None:
    async with ModelServer("ok") as server:
        base = server.url.removesuffix("/v1")
        model = build_model(name, FakeKit(env={key: text.format(base) for key, text in env.items()}, clock=FakeClock()))
        assert (await model.complete(ASK)).text == "ok"
        await model.close()
    assert server.seen[-1].path == path
    assert model.name == name
    assert sent(server)["model"] == name.partition("/")[2]


async def test_the_users_key_is_not_sent_to_an_address_a_suite_names() -> None:
    async with ModelServer("ok") as server:
        kit = FakeKit(env={"OPENAI_API_KEY": "sk-mine"}, clock=FakeClock())
        model = build_model(f"openai/m@{server.url}", kit)
        await model.complete(ASK)
        await model.close()
    assert "authorization" not in server.seen[-1].headers
    assert b"sk-mine" not in server.seen[-1].body


def test_a_missing_key_names_the_variable() -> None:
    with pytest.raises(SetupError, match="ANTHROPIC_API_KEY"):
        build_model("anthropic/claude", FakeKit())


def test_a_mangled_key_is_refused_before_it_is_sent() -> None:
    with pytest.raises(SetupError, match="OPENAI_API_KEY") as caught:
        build_model("openai/m", FakeKit(env={"OPENAI_API_KEY": "sk-“pasted”"}))
    assert "pasted”" not in str(caught.value)
