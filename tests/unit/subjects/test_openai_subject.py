"""A chat endpoint as the agent: history, tools, usage, streams."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fault_server import FaultServer, answer, sse
from subject_kit import SubjectKit, build, opening

from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Observation
from viva.core.transcript import Message


def completion(content: Any, **message: Any) -> dict[str, Any]:
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    return {"choices": [{"message": {"role": "assistant", "content": content, **message}}], "usage": usage}


async def test_history_system_prompt_and_parameters_are_sent() -> None:
    settings = {"model": "m", "api_key": "env:K", "system": "Be brief", "parameters": {"temperature": 0}}
    async with FaultServer(answer(completion("A1")), answer(completion("A2"))) as server:
        subject = build("openai", {"base_url": server.url + "/v1/", **settings}, SubjectKit(K="sk-123456"))
        session = await subject.open(opening())
        first = await session.send(Message(text="Q1"))
        await session.send(Message(text="Q2"))
        request = server.requests[1]
        assert request.path == "/v1/chat/completions"
        assert request.headers["authorization"] == "Bearer sk-123456"
        assert (request.json["model"], request.json["temperature"]) == ("m", 0)
        said = [(message["role"], message["content"]) for message in request.json["messages"]]
        assert said == [("system", "Be brief"), ("user", "Q1"), ("assistant", "A1"), ("user", "Q2")]
        assert first.usage is not None
        assert (first.usage.input_tokens, first.usage.output_tokens) == (5, 2)
        assert len(await session.observe(Observation(key="history"))) == 5
        await subject.close()


async def test_a_failed_message_leaves_no_trace_in_the_history() -> None:
    async with FaultServer(answer({}, 500), answer(completion("A"))) as server:
        subject = build("openai", {"base_url": server.url, "model": "m"})
        session = await subject.open(opening())
        with pytest.raises(SubjectError) as caught:
            await session.send(Message(text="Q"))
        assert caught.value.retryable
        await session.send(Message(text="Q"))
        assert len(server.requests[1].json["messages"]) == 1
        await subject.close()


async def test_the_users_own_key_goes_to_the_users_own_endpoint_only() -> None:
    async with FaultServer(answer(completion("A"))) as server:
        kit = SubjectKit(OPENAI_BASE_URL=server.url, OPENAI_API_KEY="sk-own")
        for settings in ({"model": "m"}, {"model": "m", "base_url": server.url}):
            subject = build("openai", settings, kit)
            await (await subject.open(opening())).send(Message(text="Q"))
            await subject.close()
        assert [r.headers.get("authorization") for r in server.requests] == ["Bearer sk-own", None]


async def test_the_run_chooses_the_model_and_there_must_be_one() -> None:
    async with FaultServer(answer(completion("A"))) as server:
        subject = build("openai", {"base_url": server.url})
        with pytest.raises(SuiteError, match="no model"):
            await subject.open(opening())
        session = await subject.open(opening(model="chosen"))
        await session.send(Message(text="Q"))
        assert server.requests[0].json["model"] == "chosen"
        await subject.close()


async def ask(*handlers: Any, **settings: Any) -> Any:
    async with FaultServer(*handlers) as server:
        subject = build("openai", {"base_url": server.url, "model": "m", **settings})
        try:
            return await (await subject.open(opening())).send(Message(text="Q"))
        finally:
            await subject.close()


async def test_tool_calls_are_captured() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "pay", "arguments": '{"eur": 5}'}}]
    reply = await ask(answer(completion(None, tool_calls=calls)))
    assert (reply.text, reply.tool_calls[0].name, reply.tool_calls[0].arguments) == ("", "pay", {"eur": 5})


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"choices": []}, "missing_field"),
        ({"error": {"message": "no"}}, "missing_field"),
        (completion(None), "null_content"),
        (completion(5), "wrong_shape"),
    ],
)
async def test_what_is_no_completion_is_named(body: Any, kind: str) -> None:
    with pytest.raises(SubjectError) as caught:
        await ask(answer(body))
    assert caught.value.kind == kind


async def test_a_refusal_is_a_reply_and_flagged() -> None:
    reply = await ask(answer(completion(None, refusal="I cannot")))
    assert (reply.text, reply.flags) == ("I cannot", ("refusal",))


async def test_a_streamed_completion_is_put_together() -> None:
    def delta(**delta: Any) -> str:
        return json.dumps({"choices": [{"delta": delta}]})

    events = [
        delta(role="assistant", content=""),
        delta(content="Pa"),
        delta(content="ris"),
        delta(tool_calls=[{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a"'}}]),
        delta(tool_calls=[{"index": 0, "function": {"arguments": ": 1}"}}]),
        json.dumps({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}),
        "[DONE]",
    ]
    reply = await ask(sse(*events), stream=True)
    assert (reply.text, reply.tool_calls[0].arguments) == ("Paris", {"a": 1})
    assert reply.usage.tokens == 3
    assert reply.first_token_ms is not None


async def test_an_error_in_a_stream_is_named() -> None:
    with pytest.raises(SubjectError) as caught:
        await ask(sse('{"error": {"message": "overloaded"}}'), stream=True)
    assert caught.value.kind == "agent_error"
