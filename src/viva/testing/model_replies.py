"""What the scripted model server reads and writes: chat completions, Anthropic messages, embeddings."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

import msgspec

from viva.core.data import to_json
from viva.core.usage import Usage
from viva.models.rules import Answer, Prompt

Format = Literal["chat", "messages", "embeddings"]
PATHS: tuple[tuple[str, Format], ...] = (
    ("/chat/completions", "chat"),
    ("/messages", "messages"),
    ("/embeddings", "embeddings"),
)
DIMENSIONS = 8


class _Message(msgspec.Struct):
    role: str = "user"
    content: str | list[Any] = ""


class _Body(msgspec.Struct):
    messages: list[_Message] = []
    model: str = ""
    system: str | list[Any] = ""
    stream: bool = False
    response_format: Any = None
    tools: list[Any] | None = None
    input: str | list[str] = ""


_body = msgspec.json.Decoder(_Body)


class Asked(msgspec.Struct, frozen=True):
    """A request, understood."""

    format: Format
    prompt: Prompt
    stream: bool
    forced: bool
    """Whether the reply must be the input of a tool (Anthropic's way to force a schema)."""
    texts: tuple[str, ...] = ()

    @staticmethod
    def read(path: str, raw: bytes) -> Asked | None:
        """Understand a request; None when the path is not one of a model."""
        place = path.partition("?")[0]
        found = next((form for ending, form in PATHS if place.endswith(ending)), None)
        if found is None:
            return None
        body = _body.decode(raw)
        messages = [(message.role, _text(message.content)) for message in body.messages]
        if body.system:
            messages.insert(0, ("system", _text(body.system)))
        prompt = Prompt(messages=tuple(messages), model=body.model, schema_name=_schema_name(body))
        texts = (body.input,) if isinstance(body.input, str) else tuple(body.input)
        return Asked(found, prompt, body.stream, found == "messages" and bool(body.tools), texts)


def reply_body(asked: Asked, answer: Answer) -> bytes:
    """Write a whole reply."""
    if asked.format == "embeddings":
        return _embeddings(asked.texts)
    text = _cut(answer)
    usage = answer.usage or _counted(asked.prompt, text)
    if asked.format == "messages":
        return to_json(_message(asked, answer, text, usage))
    message = {"role": "assistant", "content": None if answer.refused else text}
    if answer.refused:
        message["refusal"] = text
    choice = {"index": 0, "message": message, "finish_reason": "stop" if answer.refused else answer.finish}
    return to_json(
        {
            "id": "chatcmpl-1",
            "created": 0,
            "object": "chat.completion",
            "model": asked.prompt.model,
            "choices": [choice],
            "usage": _told(usage),
        }
    )


def stream_body(asked: Asked, answer: Answer) -> list[bytes]:
    """Write a reply as server-sent events, word by word."""
    text = _cut(answer)
    usage = answer.usage or _counted(asked.prompt, text)
    pieces = [word + " " for word in text.split(" ")]
    pieces[-1] = pieces[-1][:-1]
    if asked.format == "messages":
        return _message_events(asked, answer, pieces, usage)
    field = "refusal" if answer.refused else "content"
    events: list[Any] = [{"model": asked.prompt.model, "choices": [{"delta": {field: piece}}]} for piece in pieces]
    events.append({"choices": [{"delta": {}, "finish_reason": answer.finish}]})
    events.append({"choices": [], "usage": _told(usage)})
    return [b"data: " + to_json(event) + b"\n\n" for event in events] + [b"data: [DONE]\n\n"]


def _message_events(asked: Asked, answer: Answer, pieces: list[str], usage: Usage) -> list[bytes]:
    key = "partial_json" if asked.forced else "text"
    start = {"model": asked.prompt.model, "usage": {"input_tokens": usage.input_tokens, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    events += [{"type": "content_block_delta", "index": 0, "delta": {key: piece}} for piece in pieces]
    stop = {"stop_reason": _stop_reason(asked, answer)}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": usage.output_tokens}})
    events.append({"type": "message_stop"})
    return [f"event: {event['type']}\ndata: ".encode() + to_json(event) + b"\n\n" for event in events]


def _message(asked: Asked, answer: Answer, text: str, usage: Usage) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    if asked.forced and not answer.refused:
        block = {"type": "tool_use", "id": "t1", "name": asked.prompt.schema_name, "input": msgspec.json.decode(text)}
    return {
        "type": "message",
        "model": asked.prompt.model,
        "content": [block],
        "stop_reason": _stop_reason(asked, answer),
        "usage": {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
    }


def _stop_reason(asked: Asked, answer: Answer) -> str:
    if answer.refused:
        return "refusal"
    if answer.finish == "length":
        return "max_tokens"
    return "tool_use" if asked.forced else "end_turn"


def _embeddings(texts: tuple[str, ...]) -> bytes:
    """Vectors that are equal for equal texts and mean nothing else."""
    digests = [hashlib.sha256(text.encode()).digest() for text in texts]
    data = [{"index": i, "embedding": [byte / 255 for byte in d[:DIMENSIONS]]} for i, d in enumerate(digests)]
    return to_json({"object": "list", "data": data})


def _cut(answer: Answer) -> str:
    if answer.fault == "empty":
        return ""
    return answer.text[: len(answer.text) // 2] if answer.fault == "truncated" else answer.text


def _told(usage: Usage) -> dict[str, Any]:
    cached = {"cached_tokens": usage.cached_tokens}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.tokens,
        "prompt_tokens_details": cached,
    }


def _counted(prompt: Prompt, text: str) -> Usage:
    return Usage(input_tokens=sum(len(said) for _, said in prompt.messages) // 4, output_tokens=len(text) // 4)


def _schema_name(body: _Body) -> str:
    if body.tools and isinstance(body.tools[0], dict):
        return str(body.tools[0].get("name", ""))
    described = body.response_format.get("json_schema") if isinstance(body.response_format, dict) else None
    return str(described.get("name", "")) if isinstance(described, dict) else ""


def _text(content: str | list[Any]) -> str:
    if isinstance(content, str):
        return content
    return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
