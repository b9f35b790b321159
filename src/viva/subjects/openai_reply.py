"""Chat completions, whole or streamed, as replies."""

from __future__ import annotations

import time
from typing import Any

from viva.core.errors import SubjectError
from viva.core.transcript import Reply
from viva.subjects.exchange import body_of
from viva.subjects.json_body import JsonPath, read_json, readable
from viva.subjects.reply_shape import ShapeError, text_of, tool_calls_of, usage_of
from viva.wire.client import WireStream
from viva.wire.message import WireResponse

_MESSAGE = JsonPath("choices.0.message")
_DELTA = JsonPath("choices.0.delta")
_FINISH = JsonPath("choices.0.finish_reason")


def read_completion(response: WireResponse) -> tuple[Reply, dict[str, Any]]:
    """The reply in a chat completion, and the message to put into the history."""
    body = body_of(response, "reading the reply")
    message = _MESSAGE.find(body)
    if not isinstance(message, dict):
        raise SubjectError(
            "the answer is no chat completion: it has no choices.0.message",
            kind="missing_field",
            status=response.status,
            body=readable(response.body, 2048),
        )
    usage = usage_of(body.get("usage"))
    return _reply(message, usage, _FINISH.find(body), None)


def _reply(
    message: dict[str, Any], usage: Any, finish: Any, first_token_ms: float | None
) -> tuple[Reply, dict[str, Any]]:
    calls = tool_calls_of(message.get("tool_calls"))
    flags: list[str] = []
    try:
        text = text_of(message.get("content"))
    except ShapeError as error:
        refusal = message.get("refusal")
        if not calls and not isinstance(refusal, str):
            raise error.blame() from error
        text = refusal if isinstance(refusal, str) else ""
        flags += ["refusal"] if isinstance(refusal, str) else []
    flags += [] if text else ["empty"]
    flags += ["cut_off"] if finish == "length" else []
    answered: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        answered["tool_calls"] = message.get("tool_calls")
    reply = Reply(text=text, tool_calls=calls, usage=usage, first_token_ms=first_token_ms, flags=tuple(flags))
    return reply, answered


class StreamedCompletion:
    """Puts a streamed completion together: words, tool calls by index, usage."""

    def __init__(self, started: float) -> None:
        self._started = started
        self._words: list[str] = []
        self._calls: dict[int, dict[str, Any]] = {}
        self._usage: Any = None
        self._finish: Any = None
        self._first_token_ms: float | None = None

    async def collect(self, stream: WireStream) -> tuple[Reply, dict[str, Any]]:
        """Read to the done marker."""
        async for event in stream.events():
            if event.data == "[DONE]":
                break
            try:
                self._add(read_json(event.data.encode("utf-8", "surrogatepass")))
            except ValueError as error:
                raise SubjectError(
                    f"an event of the stream is no JSON: {event.data[:200]}", kind="invalid_json"
                ) from error
        calls = [self._calls[index] for index in sorted(self._calls)]
        message = {"content": "".join(self._words), "tool_calls": calls}
        return _reply(message, self._usage, self._finish, self._first_token_ms)

    def _add(self, body: Any) -> None:
        if isinstance(body, dict) and body.get("error"):
            raise SubjectError(f"the stream reports an error: {str(body['error'])[:300]}", kind="agent_error")
        self._usage = usage_of(body.get("usage") if isinstance(body, dict) else None) or self._usage
        finish = _FINISH.find(body)
        self._finish = finish if isinstance(finish, str) else self._finish
        delta = _DELTA.find(body)
        if not isinstance(delta, dict):
            return
        if isinstance(delta.get("content"), str) and delta["content"]:
            self._words.append(delta["content"])
            if self._first_token_ms is None:
                self._first_token_ms = (time.perf_counter() - self._started) * 1000
        for piece in delta.get("tool_calls") or ():
            self._add_call(piece)

    def _add_call(self, piece: Any) -> None:
        if not isinstance(piece, dict) or not isinstance(piece.get("index", 0), int):
            return
        empty = {"id": "", "type": "function", "function": {"name": "", "arguments": ""}}
        call = self._calls.setdefault(piece.get("index", 0), empty)
        call["id"] = piece.get("id") or call["id"]
        function = piece.get("function") or {}
        for key in ("name", "arguments"):
            if isinstance(function, dict) and isinstance(function.get(key), str):
                call["function"][key] += function[key]
