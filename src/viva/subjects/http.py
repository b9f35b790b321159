"""Any JSON agent behind HTTP, described by the suite.

One call sends a message; further calls may begin a session, show the agent's state, hand it a text to remember and
end the session. Reference: docs/reference/subjects.md.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from viva.core.errors import SubjectError
from viva.core.evidence import Observation
from viva.core.limits import Limits
from viva.core.transcript import Message, Reply
from viva.ports.kit import Kit
from viva.ports.subject import Opening
from viva.subjects.exchange import Exchange, body_of
from viva.subjects.http_call import (
    NO_KEY,
    CallPlan,
    OwnKey,
    endpoint_of,
    path_values,
    plan_call,
    plan_message,
    shared_headers,
)
from viva.subjects.http_reply import MappedReply, ReplyReader, StreamReader
from viva.subjects.http_settings import HttpSettings, StreamMapping
from viva.subjects.json_body import MISSING, JsonPath, read_json
from viva.wire.message import WireRequest

SESSION_IDS = ("sessionId", "session_id", "session", "id")


class HttpSubject:
    """An agent behind HTTP."""

    Settings = HttpSettings
    name = "http"
    version = "1"

    def __init__(
        self, settings: HttpSettings, kit: Kit, reader: ReplyReader | None = None, own_key: OwnKey = NO_KEY
    ) -> None:
        headers = shared_headers(settings, kit)
        mapped = MappedReply(settings.response)
        self.settings = settings
        self.message = plan_message(settings, headers, own_key)
        self.begin = plan_call(settings.session, settings, headers, kit, own_key)
        self.look = plan_call(settings.observe, settings, headers, kit, own_key, "key")
        self.hand_over = plan_call(settings.ingest, settings, headers, kit, own_key, "text")
        self.end = plan_call(settings.close, settings, headers, kit, own_key)
        self.reader = reader or mapped
        self.streaming = _stream_reader(settings, mapped)
        self.exchange = Exchange(kit.clock, _trust(settings, kit))
        self._endpoint = endpoint_of(settings.url or settings.base_url)

    @property
    def endpoint(self) -> str:
        """The agent's scheme, host and port."""
        return self._endpoint

    async def open(self, opening: Opening) -> HttpSession:
        """Begin a session: by the agent's own call, or with a fresh random id."""
        session = HttpSession(self, opening)
        if self.begin is not None:
            await session.begin(self.begin)
        return session

    async def close(self) -> None:
        """Close the connections."""
        await self.exchange.close()


class HttpSession:
    """One conversation with an agent behind HTTP."""

    def __init__(self, subject: HttpSubject, opening: Opening) -> None:
        self._subject = subject
        self._limits: Limits = opening.limits
        self._values = path_values(opening, secrets.token_hex(16))
        self._keeps_history = bool(subject.message.names & {"history", "messages"})
        self._history: list[dict[str, str]] = []
        self._session_path = JsonPath(subject.settings.response.session)
        self._closed = False

    @property
    def id(self) -> str:
        """The agent's name for the session, or the one we chose."""
        return str(self._values["session"])

    async def begin(self, plan: CallPlan) -> None:
        """Ask the agent for a session."""
        doing = "beginning a session"
        response = await self._subject.exchange.call(self._request(plan), doing)
        body = body_of(response, doing)
        settings = self._subject.settings.session
        found = _session_id(body, settings.id if settings is not None else "")
        if found is None:
            raise SubjectError(
                f"{doing}: the answer holds no session id",
                kind="missing_field",
                status=response.status,
                body=response.body[:2048].decode("utf-8", "backslashreplace"),
                hint="session.id names its place",
            )
        self._values["session"] = found

    async def send(self, message: Message) -> Reply:
        """Send one message and wait for its reply."""
        values = self._message_values(message)
        request = self._subject.message.request(values, self._limits, self._subject.settings)
        if self._subject.streaming is not None:
            reply = await self._stream(self._subject.streaming, request)
        else:
            response = await self._subject.exchange.call(request, "sending a message")
            reply = self._subject.reader.read(response)
            if self._session_path.text:
                self._learn_session(response.body)
        if self._keeps_history:
            self._history += [_entry("user", message.text), _entry("assistant", reply.text)]
        return reply

    async def observe(self, observation: Observation) -> Any:
        """Look at the agent's state by the call the suite describes for it."""
        plan, settings = self._subject.look, self._subject.settings.observe
        if plan is None or settings is None:
            raise SubjectError("this agent's state cannot be seen", kind="not_observable", hint="set observe")
        doing = "looking at the agent's state"
        request = plan.request({**self._values, "key": observation.key}, self._limits, self._subject.settings)
        response = await self._subject.exchange.call(request, doing, idempotent=plan.method == "GET")
        found = JsonPath(settings.value).find(body_of(response, doing))
        if found is MISSING:
            raise SubjectError(f"{doing}: there is no {settings.value!r} in the answer", kind="missing_field")
        return found

    @property
    def ingest(self) -> Callable[[str], Awaitable[None]] | None:
        """Hands the agent a text to remember; None where the suite describes no call for it."""
        return None if self._subject.hand_over is None else partial(self._ingest, self._subject.hand_over)

    async def _ingest(self, plan: CallPlan, text: str) -> None:
        request = plan.request({**self._values, "text": text}, self._limits, self._subject.settings)
        await self._subject.exchange.call(request, "handing over a text")

    async def close(self) -> None:
        """End the session, once, where the suite describes how."""
        if self._closed or self._subject.end is None:
            return
        self._closed = True
        await self._subject.exchange.call(self._request(self._subject.end), "ending the session", idempotent=True)

    async def _stream(self, reader: StreamReader, request: WireRequest) -> Reply:
        started = time.perf_counter()
        async with self._subject.exchange.stream(request, "sending a message") as stream:
            if "event-stream" not in stream.headers.get("Content-Type", "").lower():
                return self._subject.reader.read(await stream.whole())
            return await reader.read(stream, lambda: (time.perf_counter() - started) * 1000)

    def _request(self, plan: CallPlan) -> WireRequest:
        return plan.request(self._values, self._limits, self._subject.settings)

    def _message_values(self, message: Message) -> dict[str, Any]:
        values = {**self._values, "message": message.text, "data": message.data}
        if self._keeps_history:
            values["history"] = list(self._history)
            values["messages"] = [*self._history, _entry("user", message.text)]
        return values

    def _learn_session(self, body: bytes) -> None:
        found = self._session_path.find(read_json(body))
        if isinstance(found, str | int) and not isinstance(found, bool):
            self._values["session"] = str(found)


def _entry(role: str, text: str) -> dict[str, str]:
    return {"role": role, "content": text}


def _session_id(body: Any, path: str) -> str | None:
    if isinstance(body, str) and body and not path:
        return body
    for place in [path] if path else SESSION_IDS:
        found = JsonPath(place).find(body)
        if isinstance(found, str | int) and not isinstance(found, bool) and found != "":
            return str(found)
    return None


def _stream_reader(settings: HttpSettings, mapped: MappedReply) -> StreamReader | None:
    if settings.stream is None:
        return None
    mapping = settings.stream if isinstance(settings.stream, StreamMapping) else StreamMapping()
    return StreamReader(mapping, mapped)


def _trust(settings: HttpSettings, kit: Kit) -> bool | str:
    if settings.ca_file:
        return str(kit.file(settings.ca_file))
    return not settings.insecure
