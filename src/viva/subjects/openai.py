"""Any OpenAI-compatible chat endpoint as the agent; the history is kept here and sent with every message."""

from __future__ import annotations

import time
from typing import Any

from viva.core.data import Data
from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Observation
from viva.core.transcript import Message, Reply
from viva.ports.kit import Kit
from viva.ports.subject import Opening
from viva.subjects.exchange import Exchange
from viva.subjects.http_call import check_url, endpoint_of, is_secret
from viva.subjects.json_body import write_json
from viva.subjects.openai_reply import StreamedCompletion, read_completion
from viva.wire.message import WireRequest

DEFAULT_URL = "https://api.openai.com/v1"


class OpenAISettings(Data, frozen=True, forbid_unknown_fields=True):
    """A chat endpoint and how to talk to it."""

    base_url: str = ""
    """'' is OPENAI_BASE_URL, else api.openai.com."""
    model: str = ""
    """'' takes the run's `--model`."""
    api_key: str = ""
    """`env:NAME`; '' sends OPENAI_API_KEY, but only where the suite does not choose the endpoint."""
    system: str = ""
    parameters: dict[str, Any] = {}
    """Added to every request: temperature, tools, …"""
    headers: dict[str, str] = {}
    stream: bool = False
    timeout_s: float | None = None
    max_bytes: int | None = None
    ca_file: str = ""
    insecure: bool = False


class OpenAISubject:
    """A chat model, examined as an agent."""

    Settings = OpenAISettings
    name = "openai"
    version = "1"

    def __init__(self, settings: OpenAISettings, kit: Kit) -> None:
        base = settings.base_url or kit.env("OPENAI_BASE_URL") or DEFAULT_URL
        check_url(base)
        self.settings = settings
        self.url = f"{base.rstrip('/')}/chat/completions"
        self.headers = {"Content-Type": "application/json", **_headers(settings, kit)}
        self.exchange = Exchange(
            kit.clock, str(kit.file(settings.ca_file)) if settings.ca_file else not settings.insecure
        )

    @property
    def endpoint(self) -> str:
        """The endpoint's scheme, host and port."""
        return endpoint_of(self.url)

    async def open(self, opening: Opening) -> OpenAISession:
        """Begin a conversation with an empty history."""
        model = opening.model or self.settings.model
        if not model:
            raise SuiteError("the openai subject has no model", hint="set model, or run with --model")
        return OpenAISession(self, opening, model)

    async def close(self) -> None:
        """Close the connections."""
        await self.exchange.close()


class OpenAISession:
    """One conversation with a chat endpoint."""

    def __init__(self, subject: OpenAISubject, opening: Opening, model: str) -> None:
        settings = subject.settings
        self._subject = subject
        self._model = model
        self._timeout_s = min(settings.timeout_s or opening.limits.turn_seconds, opening.limits.turn_seconds)
        self._max_bytes = min(settings.max_bytes or opening.limits.bytes, opening.limits.bytes)
        self._messages: list[dict[str, Any]] = []
        if settings.system:
            self._messages.append({"role": "system", "content": settings.system})

    @property
    def id(self) -> str:
        """Chat endpoints have no sessions."""
        return ""

    async def send(self, message: Message) -> Reply:
        """Send the history and one message; both join the history when an answer came."""
        asked = {"role": message.role, "content": message.text}
        request = self._request([*self._messages, asked])
        if self._subject.settings.stream:
            reply, answered = await self._stream(request)
        else:
            reply, answered = read_completion(await self._subject.exchange.call(request, "sending a message"))
        self._messages += [asked, answered]
        return reply

    async def observe(self, observation: Observation) -> Any:
        """A chat endpoint has no state but its history."""
        if observation.key in ("history", "messages"):
            return [dict(message) for message in self._messages]
        raise SubjectError(
            "a chat endpoint has no state to look at", kind="not_observable", hint="its `history` can be seen"
        )

    async def close(self) -> None:
        """Nothing is held."""

    def _request(self, messages: list[dict[str, Any]]) -> WireRequest:
        settings = self._subject.settings
        body = {**settings.parameters, "model": self._model, "messages": messages}
        if settings.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        url, headers = self._subject.url, self._subject.headers
        return WireRequest("POST", url, headers, write_json(body), self._timeout_s, self._max_bytes)

    async def _stream(self, request: WireRequest) -> tuple[Reply, dict[str, Any]]:
        started = time.perf_counter()
        async with self._subject.exchange.stream(request, "sending a message") as stream:
            if "event-stream" not in stream.headers.get("Content-Type", "").lower():
                return read_completion(await stream.whole())
            return await StreamedCompletion(started).collect(stream)


def _headers(settings: OpenAISettings, kit: Kit) -> dict[str, str]:
    headers = {}
    # The user's own key goes to the user's own endpoint only, never to one that the suite names.
    key = kit.secret(settings.api_key).reveal() if settings.api_key else None
    if key is None and not settings.base_url:
        key = kit.env("OPENAI_API_KEY")
    if key:
        headers["Authorization"] = f"Bearer {key}"
    for name, value in settings.headers.items():
        headers[name] = kit.secret(value).reveal() if is_secret(value) else value
    return headers
