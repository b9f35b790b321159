"""The agent of the benchmark: answers every POST after a latency, from a process of its own, with little work.

`python agent.py LATENCY_S` prints its port, then serves until its stdin is closed.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

BODY = json.dumps({"text": "Paris", "order": {"id": 7, "total": 12.5, "items": ["a", "b"], "paid": True}}).encode()
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


class Agent(asyncio.Protocol):
    """One connection, kept alive; requests are told apart by their Content-Length."""

    def __init__(self, latency_s: float) -> None:
        self._latency_s = latency_s

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with nothing received."""
        self._transport = transport
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer each complete request after the latency."""
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            length = _content_length(self._received[:end])
            if len(self._received) < end + 4 + length:
                return
            self._received = self._received[end + 4 + length :]
            asyncio.get_running_loop().call_later(self._latency_s, self._answer)

    def _answer(self) -> None:
        if not self._transport.is_closing():
            self._transport.write(REPLY)  # type: ignore[attr-defined]


@contextmanager
def running(latency_s: float = 0.020) -> Iterator[str]:
    """Start the agent in a process of its own and give its address."""
    command = [sys.executable, __file__, str(latency_s)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None and process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().strip()}/chat"
    finally:
        process.stdin.close()
        process.wait(timeout=10)


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0


async def main(latency_s: float) -> None:
    """Serve until stdin is closed."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Agent(latency_s), "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()


if __name__ == "__main__":
    asyncio.run(main(float(sys.argv[1])))
