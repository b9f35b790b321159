"""A language model: messages in, text and usage out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any, Literal, Protocol

from viva.core.data import Data
from viva.core.usage import NO_USAGE, Usage


class ChatMessage(Data, frozen=True):
    """One message to a model."""

    role: Literal["system", "user", "assistant"]
    text: str


class ModelRequest(Data, frozen=True):
    """One call. Everything here, with the model's name and endpoint, is the key of the response cache."""

    messages: tuple[ChatMessage, ...]
    schema: dict[str, Any] | None = None
    """JSON Schema the reply must follow; enforced by the provider where it can."""
    schema_name: str = "reply"
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    timeout_s: float = 120.0
    """For the whole call, retries not included."""
    purpose: str = ""
    """Who asks (judge, user, rubric); for accounting and scripted models, no part of the cache key."""
    cache: bool = True
    stream: bool = False
    """Read the reply as a stream, so that the time to its first token is known; no part of the cache key."""
    nonce: str = ""
    """A per-call random text that occurs in the messages; the cache key is computed with it blanked out."""
    salt: str = ""
    """Distinguishes deliberate repeats of the same call, so that the cache does not make them one."""
    parameters: dict[str, Any] = {}
    key: str = ""
    """Names everything in this request but its nonce; the cache then uses it and need not read the messages."""


class ModelReply(Data, frozen=True):
    """What the model answered. `refused` and `finish` tell replies that must not be read as answers."""

    text: str
    model: str = ""
    usage: Usage = NO_USAGE
    finish: str = "stop"
    """stop, length, content_filter, refusal, tool_calls, other."""
    refused: bool = False
    latency_ms: float = 0.0
    first_token_ms: float | None = None
    attempts: int = 1
    cached: bool = False


class Model(Protocol):
    """One model at one endpoint. Retries, back-off, accounting and the cache are inside. Raises ModelError."""

    name: str
    """As the user wrote it: `openai/gpt-4.1-mini`, `scripted:rules.yml`."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer one request."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Answer one request piece by piece."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...


class Memory(Protocol):
    """The replies a model has kept. A model that has some offers them as its attribute `memory`."""

    async def recall(self, keys: Sequence[str], nonce: str) -> list[ModelReply | None]:
        """The reply to each request of these keys, answering with this nonce; None where none is kept."""
        ...


class Embedder(Protocol):
    """Texts in, vectors out."""

    name: str

    async def embed(self, texts: tuple[str, ...]) -> list[list[float]]:
        """One vector per text."""
        ...
