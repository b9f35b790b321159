"""A scripted model server on this machine: chat completions and Anthropic messages, with faults and limits.

    async with ModelServer("Paris") as server:
        model = f"openai/any@{server.url}"

or from a shell, `python -m viva.testing.model_server --rules rules.yml --latency-ms 20`, which prints its address.
Raw asyncio, so that it is not what a benchmark measures.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import random
import sys
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from viva.core.data import to_json
from viva.models.rules import Answer, Prompt, Rules, read_rules
from viva.testing.model_replies import Asked, reply_body, stream_body

Answering = Callable[[Prompt], "Answer | str | dict[str, Any]"]

DRIP_S = 0.2
HTML = b"<html><body><h1>502 Bad Gateway</h1></body></html>"


class ServerLimit(msgspec.Struct, frozen=True):
    """What the server takes before it answers 429: a rate with a burst, calls at once, or both."""

    per_s: float | None = None
    burst: float = 1.0
    concurrent: int | None = None
    retry_after_s: float | None = None
    """Sent along as Retry-After; None sends none."""


class Seen(msgspec.Struct, frozen=True):
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


class ModelServer:
    """A loopback server of models; counts what it was asked, and fails as it is told."""

    def __init__(
        self,
        answers: Answering | Rules | str,
        *,
        latency_s: float = 0.0,
        limit: ServerLimit | None = None,
        error_share: float = 0.0,
        seed: int = 0,
        port: int = 0,
    ) -> None:
        self.calls = 0
        self.throttled = 0
        self.errors = 0
        self.most_at_once = 0
        self.seen: deque[Seen] = deque(maxlen=1000)
        self._answers = answers
        self._latency_s = latency_s
        self._limiter = _Limiter(limit or ServerLimit())
        self._error_share = error_share
        self._random = random.Random(seed)  # noqa: S311
        self._port = port
        self._at_once = 0
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """The base address for `openai/NAME@URL`; for Anthropic's format, without `/v1`."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def counts(self) -> dict[str, int]:
        """What was asked and refused so far; also served at `/counts`."""
        told = {"calls": self.calls, "throttled": self.throttled, "errors": self.errors}
        return told | {"most_at_once": self.most_at_once}

    async def __aenter__(self) -> ModelServer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen on a free port (or the one given)."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", self._port)
        self._port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening and drop all connections."""
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.abort()

    def answer(self, seen: Seen, now: float) -> tuple[Answer, Asked | None]:
        """Decide what one request gets; `/counts` tells what was asked so far, and is not counted itself."""
        if seen.path == "/counts":
            return Answer(body=to_json(self.counts)), None
        self.seen.append(seen)
        self.calls += 1
        limit = self._limiter.limit
        if not self._limiter.takes(now, self._at_once):
            self.throttled += 1
            told = {} if limit.retry_after_s is None else {"retry-after": f"{limit.retry_after_s:g}"}
            body = to_json({"error": {"message": "Rate limit reached", "type": "rate_limit_error"}})
            return Answer(status=429, headers=told, body=body), None
        if self._error_share and self._random.random() < self._error_share:
            self.errors += 1
            return Answer(status=500, body=b'{"error": {"message": "scripted 500"}}', latency_s=self._latency_s), None
        return self._answered(seen)

    def _answered(self, seen: Seen) -> tuple[Answer, Asked | None]:
        asked = Asked.read(seen.path, seen.body)
        if asked is None:
            return Answer(status=404, body=b'{"error": {"message": "no such path here"}}'), None
        answer = self._say(asked.prompt)
        if answer is None:
            body = to_json({"error": {"message": f"no rule applies to {asked.prompt.last[:200]!r}"}})
            return Answer(status=400, body=body), asked
        if not answer.latency_s and self._latency_s:
            answer = msgspec.structs.replace(answer, latency_s=self._latency_s)
        return answer, asked

    def _say(self, prompt: Prompt) -> Answer | None:
        answers = self._answers
        if isinstance(answers, str):
            return Answer(text=answers)
        said = answers.answer(prompt) if isinstance(answers, Rules) else answers(prompt)
        if said is None or isinstance(said, Answer):
            return said
        return Answer(text=said if isinstance(said, str) else to_json(said).decode())

    def begin(self) -> None:
        """Count a call that is under way."""
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)

    def end(self) -> None:
        """Count a call that is answered."""
        self._at_once -= 1


class _Limiter:
    """A token bucket and a ceiling of calls at once."""

    def __init__(self, limit: ServerLimit) -> None:
        self.limit = limit
        self._tokens = limit.burst
        self._at = 0.0

    def takes(self, now: float, at_once: int) -> bool:
        limit = self.limit
        if limit.concurrent is not None and at_once >= limit.concurrent:
            return False
        if limit.per_s is None:
            return True
        self._tokens = min(limit.burst, self._tokens + (now - self._at) * limit.per_s)
        self._at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


class _Connection(asyncio.Protocol):
    """One client: reads requests, writes replies, keeps the connection open."""

    def __init__(self, server: ModelServer) -> None:
        self._server = server
        self._buffer = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        self._server._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._server._connections.discard(self)
        self._transport = None

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head_end = self._buffer.find(b"\r\n\r\n")
        if head_end < 0:
            return
        lines = self._buffer[:head_end].decode("latin-1").split("\r\n")
        headers = {
            name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])
        }
        end = head_end + 4 + int(headers.get("content-length", "0"))
        if len(self._buffer) < end:
            return
        body, self._buffer = self._buffer[head_end + 4 : end], self._buffer[end:]
        self._handle(Seen(lines[0].split(" ")[1], headers, body))

    def _handle(self, seen: Seen) -> None:
        loop = asyncio.get_running_loop()
        answer, asked = self._server.answer(seen, loop.time())
        if answer.fault == "hang":
            return
        if answer.latency_s:
            self._server.begin()
            loop.call_later(answer.latency_s, self._reply_late, answer, asked)
        else:
            self._reply(answer, asked)

    def _reply_late(self, answer: Answer, asked: Asked | None) -> None:
        self._server.end()
        self._reply(answer, asked)

    def _reply(self, answer: Answer, asked: Asked | None) -> None:
        if self._transport is None:
            return
        if answer.fault == "reset":
            self._transport.abort()
        elif answer.fault == "malformed":
            self._write(200, {"content-type": "text/html"}, HTML)
        elif answer.status != 200 or asked is None:
            self._write(answer.status, answer.headers, answer.body)
        elif asked.stream:
            self._write_stream(stream_body(asked, answer))
        elif answer.fault == "drip":
            self._drip(reply_body(asked, answer), 0)
        else:
            self._write(200, answer.headers, reply_body(asked, answer))

    def _write(self, status: int, headers: dict[str, str], body: bytes) -> None:
        if self._transport is not None:
            self._transport.write(_head(status, headers, len(body)) + body)

    def _write_stream(self, events: list[bytes]) -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        chunks = b"".join(f"{len(event):x}\r\n".encode() + event + b"\r\n" for event in events)
        if self._transport is not None:
            self._transport.write(head + chunks + b"0\r\n\r\n")

    def _drip(self, body: bytes, sent: int) -> None:
        if self._transport is None or sent >= len(body):
            return
        piece = body[sent : sent + 1]
        self._transport.write(piece if sent else _head(200, {}, len(body)) + piece)
        asyncio.get_running_loop().call_later(DRIP_S, self._drip, body, sent + 1)


def _head(status: int, headers: dict[str, str], length: int) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if name != "content-type")
    kind = headers.get("content-type", "application/json")
    return f"HTTP/1.1 {status} X\r\n{lines}content-type: {kind}\r\ncontent-length: {length}\r\n\r\n".encode("latin-1")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m viva.testing.model_server", description=__doc__.split("\n")[0])
    parser.add_argument("--rules", help="YAML rules, as for scripted:FILE")
    parser.add_argument("--reply", default="ok", help="the same answer to everything, without --rules")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--limit-per-s", type=float, help="answer 429 above this rate")
    parser.add_argument("--burst", type=float, default=1.0)
    parser.add_argument("--limit-concurrent", type=int, help="answer 429 above so many calls at once")
    parser.add_argument("--retry-after-s", type=float)
    parser.add_argument("--error-share", type=float, default=0.0, help="share of 500s")
    return parser


def server_of(arguments: list[str]) -> ModelServer:
    """A server as the command line describes it."""
    options = _parser().parse_args(arguments)
    answers = read_rules(Path(options.rules).read_bytes(), options.rules) if options.rules else options.reply
    limit = ServerLimit(options.limit_per_s, options.burst, options.limit_concurrent, options.retry_after_s)
    return ModelServer(
        answers,
        latency_s=options.latency_ms / 1000,
        limit=limit,
        error_share=options.error_share,
        port=options.port,
    )


async def serve(server: ModelServer) -> None:
    """Serve until cancelled; the first line on stdout is the address."""
    async with server:
        sys.stdout.write(server.url + "\n")
        sys.stdout.flush()
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(server_of(sys.argv[1:])))
