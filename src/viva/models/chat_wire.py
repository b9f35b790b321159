"""The chat completions format: OpenAI's, and that of nearly every other server."""

from __future__ import annotations

from typing import Any

import msgspec

from viva.core.usage import NO_USAGE, Usage
from viva.models.dialect import NOT_ANSWERS, Piece, Quirks, ask_in_words, finish_of
from viva.models.failures import Complaint
from viva.ports.model import ChatMessage, ModelReply, ModelRequest
from viva.wire.client import SseEvent

_SCHEMA_WORDS = ("response_format", "json_schema", "structured output", "json mode", "guided", "grammar", "schema")


class _Cached(msgspec.Struct):
    cached_tokens: int | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _Cached | None = None


class _Message(msgspec.Struct):
    content: str | list[Any] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


class _StreamChoice(msgspec.Struct):
    delta: _Message | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_StreamChoice] = []
    model: str | None = None
    usage: _Usage | None = None


_completion = msgspec.json.Decoder(_Completion)
_chunk = msgspec.json.Decoder(_Chunk)
_encode = msgspec.json.Encoder().encode


class ChatWire:
    """Chat completions for one model, with what it was found to refuse."""

    def __init__(self, model: str, *, tokens_key: str = "max_tokens", extra: dict[str, Any] | None = None) -> None:
        self._model = model
        self._tokens_key = tokens_key
        self._extra = extra or {}
        self._quirks = Quirks()

    def encode(self, request: ModelRequest, stream: bool = False) -> bytes:
        """Write the body of a request."""
        return _encode(self._body(request, stream))

    def _body(self, request: ModelRequest, stream: bool) -> dict[str, Any]:
        messages = request.messages
        body: dict[str, Any] = {"model": self._model}
        if request.schema is not None:
            if self._quirks.schema_in_prompt:
                messages = ask_in_words(messages, request.schema)
            else:
                body["response_format"] = _response_format(request)
        body["messages"] = [{"role": message.role, "content": message.text} for message in messages]
        self._add_parameters(body, request)
        if stream:
            body["stream"] = True
            body["stream_options"] = {"include_usage": True}
        for name in self._quirks.dropped:
            body.pop(name, None)
        return body

    def _add_parameters(self, body: dict[str, Any], request: ModelRequest) -> None:
        if request.temperature is not None:
            body["temperature"] = request.temperature
        if request.max_tokens is not None:
            body[self._tokens_key] = request.max_tokens
        if request.stop:
            body["stop"] = list(request.stop)
        if request.seed is not None:
            body["seed"] = request.seed
        if self._extra:
            body.update(self._extra)
        if request.parameters:
            body.update(request.parameters)

    def decode(self, body: bytes, took_ms: float) -> ModelReply:
        """Read a completion. Raises ValueError for what is none."""
        found = _completion.decode(body)
        if not found.choices:
            raise ValueError("it has no choices")
        choice = found.choices[0]
        message, finish = choice.message, finish_of(choice.finish_reason)
        refused = bool(message.refusal) or finish in NOT_ANSWERS
        return ModelReply(
            text=_text(message.content) or message.refusal or "",
            model=found.model or self._model,
            usage=_usage(found.usage),
            finish="refusal" if message.refusal else finish,
            refused=refused,
            latency_ms=took_ms,
        )

    def piece(self, event: SseEvent) -> Piece | None:
        """Read one chunk of a stream."""
        if event.data == "[DONE]":
            return Piece(done=True)
        chunk = _chunk.decode(event.data)
        piece = Piece(model=chunk.model or "", usage=NO_USAGE if chunk.usage is None else _usage(chunk.usage))
        if chunk.choices:
            choice = chunk.choices[0]
            if choice.delta is not None:
                piece.text = _text(choice.delta.content) or choice.delta.refusal or ""
                piece.refused = bool(choice.delta.refusal)
            piece.finish = finish_of(choice.finish_reason) if choice.finish_reason else ""
        return piece

    def adapt(self, complaint: Complaint, request: ModelRequest) -> bool:
        """Learn from a 400 what to leave out."""
        message = complaint.message
        for other in ("max_completion_tokens", "max_tokens"):
            # "Unsupported parameter: 'max_tokens' … Use 'max_completion_tokens' instead."
            if request.max_tokens is not None and other != self._tokens_key and f"'{other}'" in message:
                self._tokens_key = other
                return True
        if self._cannot_force(complaint, request):
            self._quirks.schema_in_prompt = True
            return True
        sent = set(self._body(request, stream=request.stream)) - {"model", "messages", "response_format", "stream"}
        return self._quirks.drop(complaint, sent)

    def _cannot_force(self, complaint: Complaint, request: ModelRequest) -> bool:
        if request.schema is None or self._quirks.schema_in_prompt:
            return False
        told = f"{complaint.param} {complaint.message}".lower()
        return any(word in told for word in _SCHEMA_WORDS)


def _response_format(request: ModelRequest) -> dict[str, Any]:
    described = {"name": request.schema_name, "schema": request.schema, "strict": True}
    return {"type": "json_schema", "json_schema": described}


def _text(content: str | list[Any] | None) -> str:
    if isinstance(content, str):
        return content
    parts = [part.get("text") for part in content or () if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _usage(usage: _Usage | None) -> Usage:
    if usage is None:
        return Usage(calls=1)
    details = usage.prompt_tokens_details
    return Usage(
        calls=1,
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_tokens=(details.cached_tokens or 0) if details is not None else 0,
    )


def as_chat(messages: tuple[ChatMessage, ...]) -> list[dict[str, str]]:
    """Messages in the words of this format, for clients of other packages."""
    return [{"role": message.role, "content": message.text} for message in messages]
