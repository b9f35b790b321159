"""A misbehaving agent behind HTTP ends its own message with a named failure, and the flags say what to do next."""

from __future__ import annotations

import time
from typing import Any

import pytest
from fault_server import (
    FaultServer,
    Handler,
    answer,
    claims,
    drip,
    endless,
    endless_sse,
    hang,
    hang_up,
    packed_bomb,
    raw,
    redirect,
    reset_before_answer,
    reset_mid_body,
    sse,
)
from subject_kit import build, opening

from viva.core.data import to_json
from viva.core.errors import SubjectError
from viva.core.transcript import Message, Reply


async def ask(*handlers: Handler, seconds: float = 5.0, max_bytes: int = 10_000_000, **settings: Any) -> Reply:
    async with FaultServer(*handlers) as server:
        subject = build("http", {"url": server.url + "/chat", **settings})
        try:
            session = await subject.open(opening(seconds=seconds, max_bytes=max_bytes))
            reply: Reply = await session.send(Message(text="hello"))
            return reply
        finally:
            await subject.close()


async def failure(*handlers: Handler, **more: Any) -> SubjectError:
    with pytest.raises(SubjectError) as caught:
        await ask(*handlers, **more)
    return caught.value


@pytest.mark.parametrize("fault", [hang, drip])
async def test_a_silent_or_dripping_agent_times_out_at_the_turn_limit(fault: Any) -> None:
    started = time.monotonic()
    error = await failure(fault(), seconds=0.4)
    assert (error.kind, error.retryable) == ("timed_out", False)
    assert time.monotonic() - started < 1.4


@pytest.mark.parametrize(
    ("fault", "settings"),
    [
        (lambda: endless(), {}),
        (lambda: claims(5_000_000_000, then_close=False), {}),
        (lambda: packed_bomb("gzip", 50_000_000), {}),
        (lambda: endless_sse(), {"stream": "sse"}),
    ],
)
async def test_too_much_is_cut_at_the_byte_limit(fault: Any, settings: dict[str, Any]) -> None:
    error = await failure(fault(), max_bytes=500_000, **settings)
    assert (error.kind, error.retryable) == ("too_large", False)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 599])
async def test_a_server_error_may_be_tried_again(status: int) -> None:
    error = await failure(answer({"oops": 1}, status))
    assert (error.kind, error.status, error.retryable, error.fatal) == ("server_error", status, True, False)
    assert "oops" in error.body


async def test_the_session_goes_on_after_server_errors() -> None:
    handlers = [answer({}, status) for status in (500, 502, 503)] + [answer({"text": "at last"})]
    async with FaultServer(*handlers) as server:
        subject = build("http", {"url": server.url})
        session = await subject.open(opening())
        for _ in range(3):
            with pytest.raises(SubjectError):
                await session.send(Message(text="hello"))
        assert (await session.send(Message(text="hello"))).text == "at last"
        await subject.close()


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 418, 422])
async def test_a_client_error_is_final_and_shows_the_body(status: int) -> None:
    error = await failure(answer(b"x" * 5000, status, "text/plain"))
    assert (error.kind, error.status, error.retryable) == ("subject_error", status, False)
    assert error.fatal == (status in (401, 403))
    assert error.body == "x" * 2048


async def test_too_many_requests_says_how_long_to_wait() -> None:
    error = await failure(answer({}, 429, headers={"Retry-After": "7"}))
    assert (error.kind, error.retryable, error.wait_s) == ("rate_limited", True, 7.0)


@pytest.mark.parametrize(
    "page",
    [
        answer(b"<html><body>Please log in</body></html>", content_type="text/html; charset=utf-8"),
        answer(b"<!doctype html><title>502</title>", content_type="application/json"),
        answer(b"Hello from the proxy", content_type="text/plain"),
    ],
)
async def test_a_web_page_is_not_an_answer(page: Handler) -> None:
    error = await failure(page)
    assert (error.kind, error.retryable) == ("not_json", False)
    assert "not the agent's format" in str(error)


WORDS = "Paris"
VALID: list[Any] = [
    {"text": WORDS},
    {"message": WORDS},
    {"message": {"content": WORDS}},
    {"message": {"content": [{"type": "text", "text": WORDS}]}},
    {"message": {"content": {"parts": [WORDS]}}},
    {"content": [{"type": "text", "text": "Pa"}, {"type": "text", "text": "ris"}]},
    {"content": [{"type": "tool_use", "name": "look"}, {"type": "text", "text": WORDS}]},
    {"content": ["Pa", "ris"]},
    {"content": {"text": WORDS}},
    {"choices": [{"message": {"role": "assistant", "content": WORDS}}]},
    {"output": [{"content": [{"type": "output_text", "text": WORDS}]}]},
    {"text": {"value": WORDS}},
    {"reply": WORDS, "extra": None},
    {"answer": WORDS},
    {"response": {"content": WORDS}},
    WORDS,
]
NAMED: list[tuple[Any, str]] = [
    ({}, "missing_field"),
    ({"total": 12}, "missing_field"),
    ([], "missing_field"),
    (None, "missing_field"),
    (42, "missing_field"),
    ({"error": "overloaded"}, "missing_field"),
    ({"text": None}, "null_content"),
    ({"message": {"content": None}}, "null_content"),
    ({"text": 42}, "wrong_shape"),
    ({"text": True}, "wrong_shape"),
    ({"text": []}, "wrong_shape"),
    ({"text": {}}, "wrong_shape"),
    ({"content": [{"type": "image"}]}, "wrong_shape"),
    ({"text": {"text": {"text": {"text": {"text": {"text": "x"}}}}}}, "wrong_shape"),
]
RAW: list[tuple[bytes, str]] = [
    (b"", "empty_body"),
    (b"  \n", "empty_body"),
    (b'{"text": "Par', "invalid_json"),
    (b'{"text": NaN}', "invalid_json"),
    (b'{"text": 1e999}', "invalid_json"),
    (b"[" * 100_000, "invalid_json"),
    (b'{"text": "a"} {"text": "b"}', "invalid_json"),
]


@pytest.mark.parametrize("shape", VALID, ids=range(len(VALID)))
async def test_a_valid_shape_is_accepted(shape: Any) -> None:
    assert (await ask(answer(shape))).text == WORDS


@pytest.mark.parametrize(("shape", "kind"), NAMED, ids=range(len(NAMED)))
async def test_an_invalid_shape_is_named(shape: Any, kind: str) -> None:
    error = await failure(answer(shape))
    assert (error.kind, error.retryable) == (kind, False)


@pytest.mark.parametrize(("body", "kind"), RAW, ids=range(len(RAW)))
async def test_a_body_that_is_no_json_is_named(body: bytes, kind: str) -> None:
    assert (await failure(answer(body))).kind == kind


async def test_an_empty_text_is_a_reply_of_length_zero_and_flagged() -> None:
    reply = await ask(answer({"text": ""}))
    assert (reply.text, reply.flags) == ("", ("empty",))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b'{"text": "caf\xe9"}', "caf\\xe9"),
        (b'{"text": "\\ud800 lone"}', "\\ud800 lone"),
        (b'{"text": "\xed\xa0\x80"}', "\\xed\\xa0\\x80"),
        (b'{"text": "nul \\u0000 nul"}', "nul \0 nul"),
        (b'{"text": "raw nul \x00"}', "raw nul \0"),
        ('{"text": "abc \u202e cba"}'.encode(), "abc \u202e cba"),
        (('{"text": "e' + "\u0301" * 10_000 + '"}').encode(), "e" + "\u0301" * 10_000),
        (b'\xef\xbb\xbf{"text": "bom"}', "bom"),
        (b'{"\xff": 1, "text": "key"}', "key"),
    ],
)
async def test_any_bytes_are_kept_or_escaped_and_can_be_stored(body: bytes, text: str) -> None:
    reply = await ask(answer(body))
    assert reply.text == text
    to_json(reply)


async def test_invalid_bytes_in_an_error_page_can_be_stored() -> None:
    error = await failure(answer(b"\xff\xfe broken", 500, "text/plain"))
    assert error.body == "\\xff\\xfe broken"


async def test_a_redirect_to_another_host_is_a_failure() -> None:
    error = await failure(redirect("http://169.254.169.254/latest/meta-data/"))
    assert (error.kind, error.retryable) == ("redirect", False)


@pytest.mark.parametrize("fault", [reset_mid_body, reset_before_answer, hang_up])
async def test_a_message_that_may_have_arrived_is_not_sent_again(fault: Any) -> None:
    error = await failure(fault())
    assert (error.kind, error.retryable, error.fatal) == ("uncertain_delivery", False, False)


async def test_a_stream_that_breaks_is_uncertain() -> None:
    broken = raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 500\r\n\r\ndata: {}\n\n")
    assert (await failure(broken, stream="sse")).kind == "uncertain_delivery"


async def test_what_was_never_sent_may_be_sent_again() -> None:
    subject = build("http", {"url": "http://127.0.0.1:1/"})
    session = await subject.open(opening())
    with pytest.raises(SubjectError) as caught:
        await session.send(Message(text="hello"))
    assert (caught.value.kind, caught.value.retryable, caught.value.fatal) == ("connection", True, True)
    await subject.close()


async def test_an_error_inside_a_stream_is_named() -> None:
    error = await failure(sse('{"delta": "a"}', '{"error": "overloaded"}'), stream="sse")
    assert error.kind == "agent_error"


async def test_json_instead_of_a_stream_is_read_as_json() -> None:
    assert (await ask(answer({"text": "whole"}), stream="sse")).text == "whole"


async def test_many_bad_agents_at_once_do_not_harm_a_good_one() -> None:
    import asyncio

    async def good() -> str:
        return (await ask(answer({"text": "fine"}))).text

    bad = [failure(hang(), seconds=0.3), failure(endless(), max_bytes=100_000), failure(reset_mid_body())]
    results = await asyncio.gather(good(), *bad, good())
    assert (results[0], results[-1]) == ("fine", "fine")
