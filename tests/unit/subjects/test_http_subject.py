"""An HTTP agent described by a suite: what is sent, and what becomes of the answer."""

from __future__ import annotations

import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer, answer, sse
from subject_kit import SubjectKit, build, opening

from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Observation
from viva.core.transcript import Message, Reply
from viva.core.variant import Variant


async def talk(server: FaultServer, settings: dict[str, Any], *messages: Message, **more: Any) -> list[Reply]:
    subject = build("http", settings, more.pop("kit", None))
    try:
        session = await subject.open(opening(**more))
        return [await session.send(message) for message in messages]
    finally:
        await subject.close()


async def test_the_default_body_carries_message_and_session() -> None:
    async with FaultServer(answer({"text": "hi"})) as server:
        await talk(server, {"url": server.url + "/chat"}, Message(text="a"), Message(text="b", data={"n": 1}))
        first, second = server.requests
        assert (first.method, first.path, first.headers["content-type"]) == ("POST", "/chat", "application/json")
        assert set(first.json) == {"message", "session"}
        assert second.json == {"message": "b", "data": {"n": 1}, "session": first.json["session"]}


async def test_every_session_gets_an_id_of_its_own() -> None:
    async with FaultServer(answer({"text": "hi"})) as server:
        for _ in range(2):
            await talk(server, {"url": server.url}, Message(text="a"))
        assert server.requests[0].json["session"] != server.requests[1].json["session"]


async def test_a_whole_life_session_message_state_ingest_and_close() -> None:
    settings: dict[str, Any] = {
        "path": "chats/{session}/messages",
        "method": "PUT",
        "body": {"content": "{message}", "meta": {"case": "{case}", "who": "{variant}/{model}"}},
        "headers": {"X-Trial": "{trial}"},
        "session": {"path": "/chats", "body": {"user": "u"}, "id": "chat.id"},
        "observe": {"path": "chats/{session}/state", "value": "objects.0"},
        "ingest": {"path": "memory", "body": {"document": "{text}"}},
        "close": {"path": "chats/{session}"},
    }
    replies = [
        answer({"chat": {"id": "s/1"}}),
        answer({}),
        answer({"text": "hi"}),
        answer({"objects": [{"name": "Rex"}]}),
        answer(b"", 204),
    ]
    async with FaultServer(*replies) as server:
        subject = build("http", {"base_url": server.url + "/api/", **settings})
        session = await subject.open(opening(model="m1", variant=Variant(name="v")))
        assert session.id == "s/1"
        await session.ingest("Rex is a dog")
        await session.send(Message(text="hello"))
        assert await session.observe(Observation(key="state")) == {"name": "Rex"}
        await session.close()
        await session.close()
        await subject.close()
        assert [(r.method, r.path) for r in server.requests] == [
            ("POST", "/api/chats"),
            ("POST", "/api/memory"),
            ("PUT", "/api/chats/s%2F1/messages"),
            ("GET", "/api/chats/s%2F1/state"),
            ("DELETE", "/api/chats/s%2F1"),
        ]
        assert server.requests[1].json == {"document": "Rex is a dog"}
        assert server.requests[2].json == {"content": "hello", "meta": {"case": "france", "who": "v/m1"}}
        assert server.requests[2].headers["x-trial"] == "france"


async def test_a_value_is_never_read_as_a_template() -> None:
    async with FaultServer(answer({"text": "hi"})) as server:
        body = {"q": "Say: {message}", "s": "{session}"}
        await talk(server, {"url": server.url, "body": body}, Message(text="{session} {{x}} {model}"))
        assert server.requests[0].json["q"] == "Say: {session} {{x}} {model}"


async def test_history_can_be_sent_to_an_agent_that_remembers_nothing() -> None:
    async with FaultServer(answer({"text": "A1"}), answer({"text": "A2"})) as server:
        await talk(
            server, {"url": server.url, "body": {"messages": "{messages}"}}, Message(text="Q1"), Message(text="Q2")
        )
        assert [entry["content"] for entry in server.requests[1].json["messages"]] == ["Q1", "A1", "Q2"]


@pytest.mark.parametrize(
    ("settings", "header", "value"),
    [
        ({}, "authorization", "Bearer k{e}y-123"),
        ({"api_key_header": "X-API-KEY"}, "x-api-key", "k{e}y-123"),
    ],
)
async def test_the_key_is_sent_with_every_call(settings: dict[str, str], header: str, value: str) -> None:
    more = {"api_key": "env:AGENT_KEY", "session": {"path": "sessions"}, **settings}
    async with FaultServer(answer({"id": 7}), answer({"text": "hi"})) as server:
        kit = SubjectKit(AGENT_KEY="k{e}y-123")
        await talk(server, {"url": server.url + "/chat", **more}, Message(text="a"), kit=kit)
        assert [request.headers[header] for request in server.requests] == [value, value]
        assert server.requests[1].json["session"] == "7"


async def test_a_header_may_point_at_a_secret() -> None:
    headers = {"X-One": "env:ONE", "X-Two": "Bearer env:ONE", "X-Three": "plain env: text"}
    async with FaultServer(answer({"text": "hi"})) as server:
        await talk(server, {"url": server.url, "headers": headers}, Message(text="a"), kit=SubjectKit(ONE="o{n}e"))
        sent = server.requests[0].headers
        assert (sent["x-one"], sent["x-two"], sent["x-three"]) == ("o{n}e", "Bearer o{n}e", "plain env: text")


async def test_parts_of_a_reply_are_found_by_path() -> None:
    body = {
        "out": [{"say": "done"}],
        "result": {"total": 12},
        "calls": [{"function": {"name": "pay", "arguments": '{"eur": 5}'}, "id": "c1"}],
        "log": [{"type": "thought", "text": "hm"}, "odd"],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
        "ms": 120,
        "next": "s2",
    }
    mapping = {
        "text": "out.0.say",
        "data": "result",
        "tool_calls": "calls",
        "events": "log",
        "agent_ms": "ms",
        "session": "next",
    }
    async with FaultServer(answer(body)) as server:
        settings = {"url": server.url, "response": mapping}
        reply, _ = await talk(server, settings, Message(text="a"), Message(text="b"))
        assert server.requests[1].json["session"] == "s2"
    assert (reply.text, reply.data, reply.agent_ms) == ("done", {"total": 12}, 120.0)
    assert (reply.tool_calls[0].name, reply.tool_calls[0].arguments) == ("pay", {"eur": 5})
    assert [event.kind for event in reply.events] == ["thought", "unknown"]
    assert reply.usage is not None
    assert reply.usage.tokens == 7
    assert '"next"' in reply.raw


async def test_without_a_mapping_the_whole_answer_is_the_data() -> None:
    async with FaultServer(answer({"text": "12 EUR", "total": 12})) as server:
        (reply,) = await talk(server, {"url": server.url}, Message(text="a"))
    assert reply.data == {"text": "12 EUR", "total": 12}


async def test_an_agent_may_answer_with_data_alone() -> None:
    async with FaultServer(answer({"total": 12})) as server:
        (reply,) = await talk(server, {"url": server.url, "response": {"text": None}}, Message(text="a"))
    assert (reply.text, reply.data) == ('{"total":12}', {"total": 12})


async def test_an_agent_may_answer_in_plain_text() -> None:
    async with FaultServer(answer(b"just words", content_type="text/plain")) as server:
        (reply,) = await talk(server, {"url": server.url, "response": {"format": "text"}}, Message(text="a"))
    assert reply.text == "just words"


async def test_a_tool_call_without_words_is_a_reply() -> None:
    body = {"choices": [{"message": {"content": None, "tool_calls": [{"function": {"name": "look"}}]}}]}
    async with FaultServer(answer(body)) as server:
        mapping = {"text": "choices.0.message.content", "tool_calls": "choices.0.message.tool_calls"}
        (reply,) = await talk(server, {"url": server.url, "response": mapping}, Message(text="a"))
    assert (reply.text, reply.tool_calls[0].name, reply.flags) == ("", "look", ("empty",))


async def test_the_agents_own_time_is_read_from_server_timing() -> None:
    async with FaultServer(answer({"text": "a"}, headers={"Server-Timing": "db;dur=3, total;dur=41.5"})) as server:
        (reply,) = await talk(server, {"url": server.url}, Message(text="a"))
    assert reply.agent_ms == 41.5


async def test_a_stream_becomes_one_reply_with_the_time_of_its_first_words() -> None:
    events = ['{"choices":[{"delta":{"role":"assistant"}}]}', '{"choices":[{"delta":{"content":"Pa"}}]}']
    events += ['{"choices":[{"delta":{"content":"ris"}}]}', '{"usage":{"input_tokens":1,"output_tokens":2}}', "[DONE]"]
    async with FaultServer(sse(*events, gap_s=0.03)) as server:
        (reply,) = await talk(server, {"url": server.url, "stream": "sse"}, Message(text="a"))
    assert reply.text == "Paris"
    assert reply.first_token_ms is not None
    assert reply.first_token_ms > 20
    assert reply.usage is not None


async def test_a_stream_of_bare_words_and_an_own_marker() -> None:
    async with FaultServer(sse("Hello ", "world", "END", "ignored")) as server:
        (reply,) = await talk(server, {"url": server.url, "stream": {"done": "END"}}, Message(text="a"))
    assert reply.text == "Hello world"


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "no address"),
        ({"url": "localhost:8080/chat"}, "no http address"),
        ({"url": "file:///etc/passwd"}, "no http address"),
        ({"url": "http://{session}/x"}, "no http address"),
        ({"url": "http://h/", "body": {"q": "{mesage}"}}, "did you mean 'message'"),
        ({"url": "http://h/", "response": {"text": "a..b"}}, "empty step"),
        ({"url": "http://h/", "response": {"txt": "a"}}, "txt"),
        ({"url": "http://h/", "urll": "x"}, "did you mean"),
    ],
)
def test_a_wrong_description_is_refused_before_anything_is_sent(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(SuiteError, match=says):
        build("http", settings)


async def test_what_an_agent_cannot_do_is_said() -> None:
    subject = build("http", {"url": "http://127.0.0.1:1/"})
    session = await subject.open(opening())
    with pytest.raises(SubjectError) as seen:
        await session.observe(Observation(key="state"))
    assert seen.value.kind == "not_observable"
    assert session.ingest is None
    await session.close()
    await subject.close()


async def test_a_session_without_an_id_is_a_failure() -> None:
    async with FaultServer(answer({"ok": True})) as server:
        with pytest.raises(SubjectError) as caught:
            await talk(server, {"url": server.url, "session": {"path": "s"}})
    assert caught.value.kind == "missing_field"


async def test_the_endpoint_is_the_host_without_credentials() -> None:
    assert build("http", {"url": "https://me:secret@agent.example:444/chat"}).endpoint == "https://agent.example:444"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tls")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(folder / "key.pem")]
    try:
        subprocess.run([*command, "-out", str(folder / "cert.pem")], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl cannot make a certificate here")
    return folder


async def test_a_certificate_is_checked_unless_the_suite_says_otherwise(certificate: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    kit = SubjectKit(folder=certificate)
    async with FaultServer(answer({"text": "safe"}), tls=context) as server:
        with pytest.raises(SubjectError) as caught:
            await talk(server, {"url": server.url}, Message(text="a"))
        assert (caught.value.kind, caught.value.retryable, caught.value.fatal) == ("tls", True, True)
        (trusted,) = await talk(server, {"url": server.url, "ca_file": "cert.pem"}, Message(text="a"), kit=kit)
        (unchecked,) = await talk(server, {"url": server.url, "insecure": True}, Message(text="a"))
        assert (trusted.text, unchecked.text) == ("safe", "safe")
