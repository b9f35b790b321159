"""An agent that misbehaves on purpose: a raw asyncio HTTP server, one handler per fault.

`async with FaultServer(answer({"text": "hi"}), hang()) as server:` gives the first request the first handler, the
second request the second; the last one serves all further requests. What arrived is in `server.requests`.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import struct
import zlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any


@dataclass
class Received:
    """One request, as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Handler = Callable[[Received, asyncio.StreamWriter], Awaitable[None]]


class FaultServer:
    """Serves handlers in order on a loopback port."""

    def __init__(self, *handlers: Handler, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.handlers = list(handlers)
        self.requests: list[Received] = []
        self.connections = 0
        self.written = 0
        self._host = host
        self._tls = tls
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> FaultServer:
        self._server = await asyncio.start_server(self._accept, self._host, 0, ssl=self._tls)
        self.port: int = self._server.sockets[0].getsockname()[1]
        shown = f"[{self._host}]" if ":" in self._host else self._host
        self.url = f"{'https' if self._tls else 'http'}://{shown}:{self.port}"
        return self

    async def __aexit__(self, *error: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.connections += 1
        try:
            while True:
                request = await _receive(reader)
                self.requests.append(request)
                handler = self.handlers[min(len(self.requests), len(self.handlers)) - 1]
                await handler(request, writer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


async def _receive(reader: asyncio.StreamReader) -> Received:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Received(method, path, headers, body)


def head(status: int = 200, *lines: str) -> bytes:
    """A status line and headers."""
    return "\r\n".join([f"HTTP/1.1 {status} Some Reason", *lines, "", ""]).encode()


def answer(
    body: Any, status: int = 200, content_type: str = "application/json", headers: dict[str, str] | None = None
) -> Handler:
    """A well-formed answer; anything but bytes is sent as JSON."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    extra = [f"{name}: {value}" for name, value in (headers or {}).items()]

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(head(status, f"Content-Type: {content_type}", f"Content-Length: {len(raw)}", *extra) + raw)

    return handler


def hang() -> Handler:
    """Accepts and never answers."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        await asyncio.sleep(3600)

    return handler


def drip(every_s: float = 0.05) -> Handler:
    """One byte at a time, forever, each well within any per-read timeout."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(head(200, "Content-Type: application/json", "Content-Length: 1000000"))
        while True:
            out.write(b" ")
            await out.drain()
            await asyncio.sleep(every_s)

    return handler


def drip_headers(every_s: float = 0.05) -> Handler:
    """Headers that never end."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            out.write(b"X: y\r\n")
            await out.drain()
            await asyncio.sleep(every_s)

    return handler


def endless(server_counts: list[int] | None = None, piece: bytes = b"x" * 65536) -> Handler:
    """A chunked body without an end, as fast as it is read."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(head(200, "Content-Type: application/json", "Transfer-Encoding: chunked"))
        while True:
            out.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            await out.drain()
            if server_counts is not None:
                server_counts.append(len(piece))

    return handler


def endless_sse(event: bytes = b'data: {"delta": "word "}\n\n') -> Handler:
    """Server-sent events without an end."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(head(200, "Content-Type: text/event-stream"))
        while True:
            out.write(event * 100)
            await out.drain()

    return handler


def sse(*events: str, gap_s: float = 0.0) -> Handler:
    """A well-formed stream of events that ends."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(head(200, "Content-Type: text/event-stream", "Connection: close"))
        for event in events:
            out.write(f"data: {event}\n\n".encode())
            await out.drain()
            await asyncio.sleep(gap_s)
        out.close()

    return handler


def claims(length: int, body: bytes = b"{}", then_close: bool = True) -> Handler:
    """A content-length that has nothing to do with the body."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(head(200, "Content-Type: application/json", f"Content-Length: {length}") + body)
        await out.drain()
        if then_close:
            out.close()
        else:
            while True:
                out.write(b"x" * 65536)
                await out.drain()

    return handler


def packed_bomb(encoding: str, unpacked_bytes: int) -> Handler:
    """A small compressed body that unpacks into a large one."""
    block = b"\0" * 1_000_000
    packer = zlib.compressobj(9, zlib.DEFLATED, 31 if encoding == "gzip" else 15)
    raw = b"".join(packer.compress(block) for _ in range(unpacked_bytes // len(block))) + packer.flush()
    return answer(raw, headers={"Content-Encoding": encoding})


def packed(encoding: str, body: bytes) -> Handler:
    """An honest compressed body."""
    raw = {
        "gzip": gzip.compress(body),
        "deflate": zlib.compress(body),
        "raw-deflate": zlib.compress(body, wbits=-15),
        "br": body,
    }[encoding]
    return answer(raw, headers={"Content-Encoding": encoding.removeprefix("raw-")})


def redirect(to: str, status: int = 307) -> Handler:
    """Sends the caller elsewhere."""
    return answer(b"moved", status, "text/plain", {"Location": to})


def reset_mid_body() -> Handler:
    """Half an answer, then a TCP reset."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(head(200, "Content-Type: application/json", "Content-Length: 1000") + b'{"text": "ha')
        await out.drain()
        await asyncio.sleep(0.02)
        _reset(out)

    return handler


def reset_before_answer() -> Handler:
    """Takes the request, then a TCP reset."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        _reset(out)

    return handler


def hang_up() -> Handler:
    """Takes the request, then closes politely without a word."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.close()

    return handler


def raw(data: bytes, close: bool = True) -> Handler:
    """Exactly these bytes."""

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(data)
        await out.drain()
        if close:
            out.close()

    return handler


def late_extra(body: Any, extra: Any) -> Handler:
    """An answer, and some time later a second one that nobody asked for, on the same connection."""
    first, second = json.dumps(body).encode(), json.dumps(extra).encode()

    async def handler(request: Received, out: asyncio.StreamWriter) -> None:
        out.write(head(200, "Content-Type: application/json", f"Content-Length: {len(first)}") + first)
        await out.drain()
        await asyncio.sleep(0.05)
        out.write(head(200, "Content-Type: application/json", f"Content-Length: {len(second)}") + second)

    return handler


def _reset(out: asyncio.StreamWriter) -> None:
    sock: socket.socket = out.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    out.transport.abort()
