"""Anthropic's messages format."""

from __future__ import annotations

from typing import Any

import msgspec

from viva.core.data import replace, to_json
from viva.core.usage import NO_USAGE, Usage
from viva.models.dialect import NOT_ANSWERS, Piece, Quirks, ask_in_words, finish_of
from viva.models.failures import Complaint
from viva.ports.model import ModelReply, ModelRequest
from viva.wire.client import SseEvent

DEFAULT_MAX_TOKENS = 4096
"""The format requires a ceiling; this one is used where the request sets none."""


class _Usage(msgspec.Struct):
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None


class _Block(msgspec.Struct):
    type: str
    text: str | None = None
    input: Any = None


class _Reply(msgspec.Struct):
    content: list[_Block]
    stop_reason: str | None = None
    model: str | None = None
    usage: _Usage | None = None


class _Delta(msgspec.Struct):
    text: str | None = None
    partial_json: str | None = None
    stop_reason: str | None = None


class _Start(msgspec.Struct):
    model: str | None = None
    usage: _Usage | None = None


class _Event(msgspec.Struct):
    type: str
    delta: _Delta | None = None
    message: _Start | None = None
    usage: _Usage | None = None


_reply = msgspec.json.Decoder(_Reply)
_event = msgspec.json.Decoder(_Event)
_encode = msgspec.json.Encoder().encode


class MessagesWire:
    """Messages for one model: a schema is forced as the input of one tool the model must call."""

    def __init__(self, model: str) -> None:
        self._model = model
        self._quirks = Quirks()

    def encode(self, request: ModelRequest, stream: bool = False) -> bytes:
        """Write the body of a request."""
        return _encode(self._body(request, stream))

    def _body(self, request: ModelRequest, stream: bool) -> dict[str, Any]:
        messages = request.messages
        body: dict[str, Any] = {"model": self._model, "max_tokens": request.max_tokens or DEFAULT_MAX_TOKENS}
        if request.schema is not None:
            if self._quirks.schema_in_prompt:
                messages = ask_in_words(messages, request.schema)
            else:
                body["tools"] = [{"name": request.schema_name, "input_schema": request.schema}]
                body["tool_choice"] = {"type": "tool", "name": request.schema_name}
        system = "\n\n".join(message.text for message in messages if message.role == "system")
        if system:
            body["system"] = system
        body["messages"] = [{"role": m.role, "content": m.text} for m in messages if m.role != "system"]
        self._add_parameters(body, request)
        if stream:
            body["stream"] = True
        for name in self._quirks.dropped:
            body.pop(name, None)
        return body

    def _add_parameters(self, body: dict[str, Any], request: ModelRequest) -> None:
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.stop:
            body["stop_sequences"] = list(request.stop)
        if request.parameters:
            body.update(request.parameters)

    def decode(self, body: bytes, took_ms: float) -> ModelReply:
        """Read a message. Raises ValueError for what is none."""
        found = _reply.decode(body)
        finish = finish_of(found.stop_reason)
        forced = next((block for block in found.content if block.type == "tool_use"), None)
        text = "".join(block.text or "" for block in found.content if block.type == "text")
        return ModelReply(
            text=text if forced is None else to_json(forced.input).decode(),
            model=found.model or self._model,
            usage=_usage(found.usage, calls=1),
            finish="stop" if forced is not None and finish == "tool_calls" else finish,
            refused=finish in NOT_ANSWERS,
            latency_ms=took_ms,
        )

    def piece(self, event: SseEvent) -> Piece | None:
        """Read one event of a stream."""
        found = _event.decode(event.data)
        if found.type == "message_stop":
            return Piece(done=True)
        if found.type == "message_start" and found.message is not None:
            # The output is counted by the last event alone: its number already includes this one's.
            return Piece(
                model=found.message.model or "", usage=replace(_usage(found.message.usage, 1), output_tokens=0)
            )
        delta = found.delta
        if delta is None:
            return None
        if found.type == "content_block_delta":
            return Piece(text=delta.text or delta.partial_json or "")
        finish = finish_of(delta.stop_reason) if delta.stop_reason else ""
        output = found.usage.output_tokens if found.usage is not None else None
        return Piece(
            finish="stop" if finish == "tool_calls" else finish,
            refused=finish in NOT_ANSWERS,
            usage=NO_USAGE if output is None else Usage(output_tokens=output),
        )

    def adapt(self, complaint: Complaint, request: ModelRequest) -> bool:
        """Learn from a 400 what to leave out."""
        message = complaint.message.lower()
        if (
            request.schema is not None
            and not self._quirks.schema_in_prompt
            and ("tool" in message or "schema" in message)
        ):
            self._quirks.schema_in_prompt = True
            return True
        known = {"model", "messages", "max_tokens", "system", "tools", "tool_choice", "stream"}
        return self._quirks.drop(complaint, set(self._body(request, stream=False)) - known)


def _usage(usage: _Usage | None, calls: int) -> Usage:
    if usage is None:
        return Usage(calls=calls)
    cached = usage.cache_read_input_tokens or 0
    return Usage(
        calls=calls,
        # Anthropic counts cached tokens apart; everywhere else they are part of the input.
        input_tokens=(usage.input_tokens or 0) + cached + (usage.cache_creation_input_tokens or 0),
        output_tokens=usage.output_tokens or 0,
        cached_tokens=cached,
    )
