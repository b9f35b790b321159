"""One HTTP client for agents, models and the stage: bounded in time and bytes, and honest about delivery.

Every call has one deadline around everything, a ceiling of bytes counted after decompression, and either returns a
response or raises one WireError of a named kind. Nothing is ever sent twice: whether to try again is the caller's
decision. Design note: docs/design/wire.md.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urljoin, urlsplit

import aiohttp

from viva.core.faultpoint import fault
from viva.version import __version__
from viva.wire.connector import CleanConnector
from viva.wire.decode import ACCEPTED, Inflater, too_large
from viva.wire.message import WireError, WireRequest, WireResponse, without_credentials
from viva.wire.sse import SseEvent, SseParser

__all__ = ["SseEvent", "Wire", "WireError", "WireRequest", "WireResponse", "WireStream"]

REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_REDIRECTS = 5
CONNECT_S = 10.0
KEEPALIVE_S = 4.0
"""Shorter than the five seconds of common servers, so that we rarely send into a connection being closed."""


class Wire:
    """A pool of connections of one event loop; made without connecting, closed with `close`."""

    def __init__(self, *, connections: int = 0, verify: bool | str = True, proxies: bool = False) -> None:
        self._connections = connections
        self._verify = verify
        self._proxies = proxies
        self._session: aiohttp.ClientSession | None = None

    async def call(self, request: WireRequest) -> WireResponse:
        """Send a request and read the response to its end."""
        started = time.perf_counter()
        try:
            async with asyncio.timeout(request.timeout_s):
                response = await self._send(request)
                first_byte_ms = (time.perf_counter() - started) * 1000
                body = await _read(response, request.max_bytes)
        except Exception as error:
            raise _explain(error, request) from error
        took_ms = (time.perf_counter() - started) * 1000
        return WireResponse(response.status, response.headers, body, took_ms, first_byte_ms)

    @asynccontextmanager
    async def stream(self, request: WireRequest) -> AsyncIterator[WireStream]:
        """Send a request and read the response as it arrives; the deadline holds until the block is left."""
        response: aiohttp.ClientResponse | None = None
        started = time.perf_counter()
        try:
            async with asyncio.timeout(request.timeout_s):
                response = await self._send(request)
                yield WireStream(response, request, started)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _explain(error, request) from error
        finally:
            if response is not None:
                response.close()

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _send(self, request: WireRequest) -> aiohttp.ClientResponse:
        session = self._session or self._start()
        fault("wire.send")
        method, url, body = request.method, request.url, request.body
        for _ in range(MAX_REDIRECTS + 1):
            response = await session.request(method, url, headers=request.headers, data=body, allow_redirects=False)
            target = response.headers.get("Location") if response.status in REDIRECTS else None
            if target is None:
                return response
            response.close()
            url = _same_place(url, target)
            if response.status == 303 or (response.status in (301, 302) and method == "POST"):
                method, body = "GET", None
        raise WireError("redirect", f"more than {MAX_REDIRECTS} redirects", delivered=True)

    def _start(self) -> aiohttp.ClientSession:
        connector = CleanConnector(limit=self._connections, ssl=_trust(self._verify), keepalive_timeout=KEEPALIVE_S)
        session = aiohttp.ClientSession(
            connector=connector,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=self._proxies,
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_S),
            headers={"Accept-Encoding": ACCEPTED, "User-Agent": f"viva/{__version__}"},
        )
        # aiohttp sends PUT and GET again by itself when a kept connection breaks. An agent may have acted on the
        # first one, so sending again is decided above this room.
        session._retry_connection = False
        self._session = session
        return session


class WireStream:
    """A response whose body is still arriving."""

    def __init__(self, response: aiohttp.ClientResponse, request: WireRequest, started: float) -> None:
        self.status = response.status
        self.headers = response.headers
        self.first_byte_ms = (time.perf_counter() - started) * 1000
        self._response = response
        self._request = request
        self._started = started

    async def events(self) -> AsyncIterator[SseEvent]:
        """The server-sent events, as they arrive, until the stream ends."""
        parser = SseParser()
        async for piece in self.pieces():
            for event in parser.feed(piece):
                yield event
        for event in parser.end():
            yield event

    async def pieces(self) -> AsyncIterator[bytes]:
        """The decompressed body, as it arrives, up to the ceiling."""
        try:
            async for piece in _pieces(self._response, self._request.max_bytes):
                yield piece
        except (aiohttp.ClientError, OSError) as error:
            raise _explain(error, self._request) from error

    async def body(self) -> bytes:
        """The rest of the body, up to the ceiling."""
        return b"".join([piece async for piece in self.pieces()])

    async def whole(self) -> WireResponse:
        """The response as if it had not been streamed."""
        body = await self.body()
        took_ms = (time.perf_counter() - self._started) * 1000
        return WireResponse(self.status, self.headers, body, took_ms, self.first_byte_ms)


async def _read(response: aiohttp.ClientResponse, max_bytes: int) -> bytes:
    """Read a body of any size in constant memory up to the ceiling."""
    headers = response.headers
    try:
        length = response.content_length
        if length is not None and length > max_bytes:
            raise too_large(max_bytes)
        if "Content-Encoding" in headers:
            return b"".join([piece async for piece in _pieces(response, max_bytes)])
        content = response.content
        first = await content.readany()
        if not first or content.at_eof():
            return _within(first, max_bytes)
        return await _read_on(content, first, max_bytes)
    except BaseException:
        response.close()
        raise


def _within(body: bytes, max_bytes: int) -> bytes:
    if len(body) > max_bytes:
        raise too_large(max_bytes)
    return body


async def _read_on(content: aiohttp.StreamReader, first: bytes, max_bytes: int) -> bytes:
    pieces, size = [first], len(first)
    while size <= max_bytes:
        piece = await content.readany()
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        size += len(piece)
    raise too_large(max_bytes)


async def _pieces(response: aiohttp.ClientResponse, max_bytes: int) -> AsyncIterator[bytes]:
    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    inflater = Inflater(encoding, max_bytes) if encoding not in ("", "identity") else None
    size = 0
    while piece := await response.content.readany():
        size += len(piece)
        if size > max_bytes:
            raise too_large(max_bytes)
        yield inflater.feed(piece) if inflater is not None else piece
    if inflater is not None:
        inflater.end()


def _trust(verify: bool | str) -> ssl.SSLContext | bool:
    if isinstance(verify, str):
        return ssl.create_default_context(cafile=verify)
    return verify


def _same_place(url: str, target: str) -> str:
    """The target of a redirect, if it stays with the same scheme, host and port."""
    try:
        goal = urljoin(url, target)
        stays = _origin(goal) == _origin(url)
    except ValueError:
        stays = False
    if not stays:
        shown = without_credentials(target)[:200]
        raise WireError("redirect", f"redirected to another place, {shown!r}, and not followed", delivered=True)
    return goal


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def _explain(error: Exception, request: WireRequest) -> WireError:
    """Name what went wrong, and say whether the server may have seen the request."""
    where = without_credentials(request.url)
    match error:
        case WireError():
            return error
        case aiohttp.ConnectionTimeoutError():
            return WireError("connection", f"{where} did not accept a connection in time", delivered=False)
        case TimeoutError():
            return WireError("timed_out", f"{where} took longer than {request.timeout_s:g} s", delivered=True)
        case aiohttp.ClientConnectorDNSError():
            return WireError("dns", f"no address for the host of {where}: {error.os_error}", delivered=False)
        case aiohttp.ClientSSLError():
            return WireError("tls", f"no secure connection to {where}: {error}", delivered=False)
        case aiohttp.ClientConnectorError():
            return WireError("connection", f"cannot connect to {where}: {error.os_error}", delivered=False)
        case aiohttp.InvalidURL() | ValueError() | TypeError() | aiohttp.NonHttpUrlClientError():
            return WireError("malformed", f"the request to {where} cannot be sent: {error}", delivered=False)
        case aiohttp.ClientPayloadError():
            return WireError("reset", f"{where} ended its answer too early: {error}", delivered=True)
        case aiohttp.ServerDisconnectedError() | OSError():
            return WireError("reset", f"{where} broke the connection: {type(error).__name__} {error}", delivered=True)
        case aiohttp.ClientResponseError():
            return WireError("malformed", f"{where} does not speak HTTP: {error.message}", delivered=True)
        case _:
            return WireError("malformed", f"{where}: {type(error).__name__}: {error}", delivered=True)
