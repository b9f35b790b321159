"""An Embabel agent: exact calls, typed events, and the object context."""

from __future__ import annotations

from typing import Any

import pytest
from fault_server import FaultServer, answer, hang
from subject_kit import SubjectKit, build, opening

from viva.core.errors import SubjectError
from viva.core.evidence import Observation
from viva.core.transcript import Message

SESSION = answer({"sessionId": "s-1"})
EVENTS: list[Any] = [
    {"systemPrompt": "Be kind"},
    {"content": "MATCH (n) RETURN n", "summaryDirection": None},
    {"request": {"function": {"name": "addPet"}, "arguments": {"name": "Rex"}, "context": "c"}},
    {"output": "added"},
    {"surprise": 1},
    "odd",
]


async def test_method_path_headers_and_bodies_are_exact_on_every_call() -> None:
    reply = {"sessionId": "s-1", "chatbot": "b", "message": {"content": "hi", "role": "assistant"}}
    kit = SubjectKit(KEY="key-123456")
    async with FaultServer(SESSION, answer({**reply, "history": [], "events": []}), answer({"context": ""})) as server:
        subject = build(
            "embabel", {"url": server.url + "/", "api_key": "env:KEY", "user": "{u}", "chatbot": "bot"}, kit
        )
        session = await subject.open(opening(model="gpt-x"))
        assert session.id == "s-1"
        await session.send(Message(text="hello"))
        await session.observe(Observation(key="objectContext"))
        await session.close()
        await subject.close()
        create, send, look = server.requests
        assert (create.method, create.path) == ("PUT", "/api/v1/chat/sessions")
        assert create.json == {"user": "{u}", "chatbot": "bot"}
        assert (send.method, send.path) == ("PUT", "/api/v1/chat/messages")
        assert send.json == {"sessionId": "s-1", "message": {"content": "hello", "role": "user"}, "model": "gpt-x"}
        assert (look.method, look.path, look.body) == ("GET", "/api/v1/chat/objectContexts/s-1", b"")
        for request in server.requests:
            assert request.headers["x-api-key"] == "key-123456"
            assert request.headers["content-type"] == "application/json"


async def test_address_key_and_paths_come_from_settings_or_the_environment() -> None:
    async with FaultServer(SESSION) as server:
        kit = SubjectKit(VIVA_AGENT_URL=server.url, VIVA_AGENT_KEY="key-from-env")
        subject = build("embabel", {"path": "/v2", "api_key_header": "X-Other"}, kit)
        await subject.open(opening())
        await subject.close()
        assert server.requests[0].path == "/v2/sessions"
        assert server.requests[0].headers["x-other"] == "key-from-env"


async def test_the_users_own_key_is_never_sent_where_a_suite_points() -> None:
    async with FaultServer(SESSION) as own, FaultServer(SESSION) as other:
        kit = SubjectKit(VIVA_AGENT_URL=own.url, VIVA_AGENT_KEY="key-from-env")
        lured = build("embabel", {"url": other.url}, kit)
        await lured.open(opening())
        await lured.close()
        subject = build("embabel", {"ingest": {"url": other.url}}, kit)
        session = await subject.open(opening())
        await session.ingest("text")
        await subject.close()
        assert own.requests[0].headers["x-api-key"] == "key-from-env"
        assert [request.headers.get("x-api-key") for request in other.requests] == [None, None]


async def test_a_model_of_the_settings_is_sent_when_the_run_names_none() -> None:
    async with FaultServer(SESSION, answer({"message": {"content": "hi"}})) as server:
        subject = build("embabel", {"url": server.url, "model": "own"})
        for model, sent in ((None, "own"), ("given", "given")):
            session = await subject.open(opening(model=model))
            server.handlers = [answer({"message": {"content": "hi"}})]
            await session.send(Message(text="a"))
            assert server.requests[-1].json["model"] == sent
            server.handlers = [SESSION]
        await subject.close()


async def converse(body: Any) -> Any:
    async with FaultServer(SESSION, answer(body)) as server:
        subject = build("embabel", {"url": server.url})
        try:
            session = await subject.open(opening())
            return await session.send(Message(text="hello"))
        finally:
            await subject.close()


async def test_four_kinds_of_events_are_typed_and_others_kept_raw() -> None:
    reply = await converse({"message": {"content": "hi"}, "events": EVENTS})
    kinds = [event.kind for event in reply.events]
    assert kinds == ["system_prompt", "graph_query", "function_call", "function_result", "unknown", "unknown"]
    assert [event.data for event in reply.events[:5]] == EVENTS[:5]
    assert [(call.name, call.arguments, call.result) for call in reply.tool_calls] == [
        ("addPet", {"name": "Rex"}, "added")
    ]


async def test_missing_events_and_history_are_tolerated() -> None:
    reply = await converse({"message": {"content": "hi"}})
    assert (reply.text, reply.events, reply.metadata) == ("hi", (), {})


@pytest.mark.parametrize("body", [{}, {"message": {}}, {"message": {"content": None}}, [], {"events": []}])
async def test_an_answer_without_content_is_named(body: Any) -> None:
    with pytest.raises(SubjectError) as caught:
        await converse(body)
    assert caught.value.kind in ("missing_field", "null_content")


async def look(context: Any) -> Any:
    async with FaultServer(SESSION, context) as server:
        subject = build("embabel", {"url": server.url, "timeout_s": 0.3})
        try:
            session = await subject.open(opening())
            return await session.observe(Observation(key="objectContext"))
        finally:
            await subject.close()


async def test_the_object_context_gets_its_defaults_and_entities() -> None:
    rex = {"id": "1", "name": "Rex", "labels": ["Dog", "DomainNode"], "properties": {"age": 3}}
    seen = await look(answer({"context": "c", "resources": [rex, {"id": "2", "name": "doc"}], "functions": []}))
    defaults = {"description": "doc", "properties": {}, "labels": [], "aliases": []}
    assert seen["resources"][1] == {"id": "2", "name": "doc", **defaults}
    assert seen["entities"] == [{**rex, "description": "Rex", "aliases": []}]


@pytest.mark.parametrize(
    ("context", "kind"),
    [
        (answer({}, 500), "server_error"),
        (hang(), "timed_out"),
        (answer([1]), "wrong_shape"),
        (answer({"resources": [{"id": "1"}]}), "wrong_shape"),
    ],
)
async def test_a_look_that_fails_is_an_error(context: Any, kind: str) -> None:
    with pytest.raises(SubjectError) as caught:
        await look(context)
    assert caught.value.kind == kind


async def test_texts_go_to_the_knowledge_service_where_one_is_named() -> None:
    async with FaultServer(SESSION) as server, FaultServer(answer({})) as graph:
        kit = SubjectKit(KEY="key-123456")
        settings = {"url": server.url, "api_key": "env:KEY", "ingest": {"url": graph.url + "/api/v1/texts"}}
        subject = build("embabel", settings, kit)
        session = await subject.open(opening())
        await session.ingest("Rex is a dog")
        await subject.close()
        assert graph.requests[0].json == {"text": "Rex is a dog"}
        assert graph.requests[0].headers["x-api-key"] == "key-123456"


async def test_an_unreachable_agent_fails_when_the_session_begins() -> None:
    subject = build("embabel", {"url": "http://127.0.0.1:1"})
    with pytest.raises(SubjectError) as caught:
        await subject.open(opening())
    assert (caught.value.kind, caught.value.retryable, caught.value.fatal) == ("connection", True, True)
    await subject.close()
