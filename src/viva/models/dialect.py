"""The contract of a provider's wire format: pure functions between our requests and its bytes."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from viva.core.data import to_json
from viva.core.usage import NO_USAGE, Usage
from viva.models.failures import Complaint
from viva.ports.model import ChatMessage, ModelReply, ModelRequest
from viva.wire.client import SseEvent

FINISHES = {
    "stop": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "eos": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "refusal": "refusal",
    "tool_calls": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
}
"""Providers' words for why a reply ended, and ours."""

NOT_ANSWERS = frozenset({"content_filter", "refusal"})


class Piece(msgspec.Struct):
    """One event of a streamed reply; the pieces of a reply add up to it."""

    text: str = ""
    finish: str = ""
    refused: bool = False
    model: str = ""
    usage: Usage = NO_USAGE
    done: bool = False


class Dialect(Protocol):
    """One wire format, with what this model was found to refuse."""

    def encode(self, request: ModelRequest, stream: bool = False) -> bytes:
        """Write the body of a request."""
        ...

    def decode(self, body: bytes, took_ms: float) -> ModelReply:
        """Read the body of a 200. Raises ValueError (msgspec's errors are such) for what is no completion."""
        ...

    def piece(self, event: SseEvent) -> Piece | None:
        """Read one event of a stream; None for events that say nothing."""
        ...

    def adapt(self, complaint: Complaint, request: ModelRequest) -> bool:
        """Learn from a 400 what this model refuses; True when the same request may now be accepted."""
        ...


class Quirks:
    """What a model refused once and is not sent again: `temperature` of a reasoning model, a schema it cannot force."""

    def __init__(self) -> None:
        self.dropped: set[str] = set()
        self.schema_in_prompt = False

    def drop(self, complaint: Complaint, sent: set[str]) -> bool:
        """Stop sending the parameter a complaint names, if it is one we sent."""
        named = complaint.param if complaint.param in sent else _named(complaint.message, sent)
        if not named or named in self.dropped:
            return False
        self.dropped.add(named)
        return True


def _named(message: str, sent: set[str]) -> str:
    """The parameter a message complains about: quoted by most providers, bare by some."""
    quoted = next(
        (name for name in sent if f"'{name}'" in message or f'"{name}"' in message or f"`{name}`" in message), ""
    )
    return quoted or next((name for name in sorted(sent) if f"{name} " in message or f"{name}:" in message), "")


def ask_in_words(messages: tuple[ChatMessage, ...], schema: dict[str, Any]) -> tuple[ChatMessage, ...]:
    """Put the schema into the last message, for endpoints that cannot enforce one."""
    told = "\n\nReply with one JSON object only, no other text. It must follow this JSON Schema:\n"
    last = messages[-1]
    return (*messages[:-1], ChatMessage(role=last.role, text=last.text + told + to_json(schema).decode()))


def finish_of(word: str | None) -> str:
    """Our word for why a reply ended."""
    return "other" if word is None else FINISHES.get(word.lower(), "other")
