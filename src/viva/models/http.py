"""A model behind HTTP: one try per call. Trying again, waiting and counting are in call.py, once for all models."""

from __future__ import annotations

import hashlib
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from urllib.parse import parse_qsl, unquote, urlsplit

import msgspec

from viva.core.clock import Clock
from viva.core.data import Data, replace
from viva.core.errors import ModelError, SetupError
from viva.core.faultpoint import fault
from viva.core.secret import Secret, redactor
from viva.core.text import storable
from viva.core.usage import NO_USAGE
from viva.models.dialect import Dialect, Piece
from viva.models.failures import Complaint, failure, read_complaint, unreachable, unreadable
from viva.ports.kit import Kit
from viva.ports.model import ModelReply, ModelRequest
from viva.wire.client import SseEvent, Wire, WireError, WireRequest, WireStream
from viva.wire.message import without_credentials


class ModelSettings(Data, frozen=True):
    """Which model, and where it is when it is not at its provider's usual address."""

    model: str
    base_url: str = ""
    path: str = ""
    """The file, where the user named one; a file named by a suite is found below its folder."""


class Endpoint(msgspec.Struct, frozen=True):
    """Where a model is called, and what is sent along to be let in."""

    url: str
    headers: dict[str, str]
    key_id: str = ""
    """Tells accounts apart without naming the key."""

    @property
    def shown(self) -> str:
        """The address without user name, password and query."""
        return without_credentials(self.url)

    def __repr__(self) -> str:
        return f"Endpoint({self.shown})"


class HttpModel:
    """One model at one endpoint; `complete` and `stream` each try once."""

    def __init__(self, name: str, dialect: Dialect, endpoint: Endpoint, clock: Clock) -> None:
        self.name = name
        self.endpoint = endpoint.shown
        self.account = f"{urlsplit(endpoint.shown).netloc}#{endpoint.key_id}"
        self._dialect = dialect
        self._url = endpoint.url
        self._headers = endpoint.headers
        self._clock = clock
        self._wire = Wire()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Try once."""
        if request.stream:
            return await self._complete_streamed(request)
        wired = self._wired(request, stream=False)
        fault("models.send")
        try:
            response = await self._wire.call(wired)
        except WireError as error:
            raise unreachable(error, self.name) from error
        if response.status != 200:
            return self._refused(request, wired, response.status, response.headers, response.body)
        try:
            return self._dialect.decode(response.body, response.took_ms)
        except ValueError as error:
            raise unreadable(response.body, self.name, str(error)) from error

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Try once, piece by piece."""
        async with aclosing(self._pieces(request)) as pieces:
            async for piece in pieces:
                if piece.text:
                    yield piece.text

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

    async def _complete_streamed(self, request: ModelRequest) -> ModelReply:
        started = time.perf_counter()
        gathered = Gathered(self.name)
        async with aclosing(self._pieces(request)) as pieces:
            async for piece in pieces:
                gathered.add(piece, (time.perf_counter() - started) * 1000)
        return gathered.reply((time.perf_counter() - started) * 1000)

    async def _pieces(self, request: ModelRequest) -> AsyncGenerator[Piece, None]:
        wired = self._wired(request, stream=True)
        fault("models.send")
        try:
            async with self._wire.stream(wired) as stream:
                if stream.status != 200:
                    reply = self._refused(request, wired, stream.status, stream.headers, await stream.body())
                    yield Piece(finish=reply.finish, refused=True, done=True)
                    return
                async for piece in self._read(stream):
                    yield piece
        except WireError as error:
            raise unreachable(error, self.name) from error

    async def _read(self, stream: WireStream) -> AsyncIterator[Piece]:
        async for event in stream.events():
            piece = self._piece(event)
            if piece is not None:
                yield piece
                if piece.done:
                    return

    def _piece(self, event: SseEvent) -> Piece | None:
        if event.event == "error" or event.data.startswith('{"error"'):
            raise failure(500, {}, event.data.encode(), self.name, self._clock.now())
        try:
            return self._dialect.piece(event)
        except ValueError as error:
            raise unreadable(event.data.encode(), self.name, str(error)) from error

    def _wired(self, request: ModelRequest, stream: bool) -> WireRequest:
        try:
            body = self._dialect.encode(request, stream)
        except UnicodeEncodeError:
            clean = tuple(replace(message, text=storable(message.text)) for message in request.messages)
            body = self._dialect.encode(replace(request, messages=clean), stream)
        return WireRequest("POST", self._url, self._headers, body, request.timeout_s)

    def _refused(
        self, request: ModelRequest, wired: WireRequest, status: int, headers: Mapping[str, str], body: bytes
    ) -> ModelReply:
        """Tell a filtered prompt (a reply) from a parameter to leave out and from every other error."""
        complaint = read_complaint(body) if status in (400, 422) else None
        if complaint is not None and complaint.filtered:
            return ModelReply(text="", model=self.name, finish="content_filter", refused=True)
        error = failure(status, headers, body, self.name, self._clock.now())
        if complaint is not None and self._adapted(complaint, request, wired):
            raise ModelError(error.message, kind="adapted", retryable=True, status=status, wait_s=0.0)
        raise error

    def _adapted(self, complaint: Complaint, request: ModelRequest, wired: WireRequest) -> bool:
        # Of many calls under way only the first learns; the others find that they would now be sent differently.
        stream = request.stream
        return self._wired(request, stream).body != wired.body or self._dialect.adapt(complaint, request)


class Gathered:
    """Adds the pieces of a stream up to a reply."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._texts: list[str] = []
        self._whole = Piece()
        self._first_ms: float | None = None

    def add(self, piece: Piece, at_ms: float) -> None:
        """Take in one piece."""
        if piece.text:
            self._texts.append(piece.text)
            if self._first_ms is None:
                self._first_ms = at_ms
        whole = self._whole
        whole.finish = piece.finish or whole.finish
        whole.refused = piece.refused or whole.refused
        whole.model = piece.model or whole.model
        if piece.usage is not NO_USAGE:
            whole.usage += piece.usage
        whole.done = whole.done or piece.done

    def reply(self, took_ms: float) -> ModelReply:
        """The whole reply. Raises ModelError when the stream broke off without an ending."""
        whole = self._whole
        if not (whole.done or whole.finish):
            raise ModelError(f"{self._name} ended its stream in the middle", kind="unreadable", retryable=True)
        return ModelReply(
            text="".join(self._texts),
            model=whole.model or self._name,
            usage=replace(whole.usage, calls=1),
            finish=whole.finish or "stop",
            refused=whole.refused or whole.finish in ("content_filter", "refusal"),
            latency_ms=took_ms,
            first_token_ms=self._first_ms,
        )


def endpoint_at(base_url: str, path: str, key: Secret | None, *, key_header: str = "authorization") -> Endpoint:
    """Put address and key together; credentials inside the address become secrets and leave it."""
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SetupError(f"{without_credentials(base_url)!r} is no http address", hint="write http://host:port/v1")
    headers = {"content-type": "application/json"}
    if parts.username:
        headers["authorization"] = _basic(unquote(parts.username), unquote(parts.password or ""))
    elif key is not None:
        headers[key_header] = f"Bearer {key.reveal()}" if key_header == "authorization" else key.reveal()
    for name, value in parse_qsl(parts.query):
        redactor.learn(Secret(value, name))
    host = parts.netloc.rpartition("@")[2]
    url = parts._replace(netloc=host, path=parts.path.rstrip("/") + path, fragment="").geturl()
    let_in = headers.get("authorization", "") + headers.get(key_header, "") + parts.query
    return Endpoint(url, headers, hashlib.sha256(let_in.encode()).hexdigest()[:8])


def _basic(user: str, password: str) -> str:
    pair = f"{user}:{password}"
    for secret in (password, pair):
        redactor.learn(Secret(secret, "password in the address"))
    return "Basic " + b64encode(pair.encode()).decode()


def key_of(kit: Kit, *names: str) -> Secret | None:
    """The first key set among these variables; it is masked everywhere from now on."""
    for name in names:
        value = (kit.env(name) or "").strip()
        if value:
            secret = Secret(value, name)
            redactor.learn(secret)
            return secret
    return None


def required_key(kit: Kit, provider: str, *names: str) -> Secret:
    """The key, or one message that says which variable to set."""
    key = key_of(kit, *names)
    if key is None:
        raise SetupError(
            f"{provider}: no key", kind="missing_key", hint=f"set {' or '.join(names)}, or name another model"
        )
    if not key.reveal().isascii() or not key.reveal().isprintable():
        raise SetupError(f"{provider}: the key in {key.name} has characters no key has", hint="was it pasted wrongly?")
    return key
