"""The measure of the engine: the same calls, made by a bare aiohttp loop that checks and stores nothing."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Iterator

import aiohttp


async def calls_per_second(url: str, calls: int, concurrency: int) -> float:
    """Make so many calls with so many in flight, and read every answer."""
    todo: Iterator[int] = iter(range(calls))

    async def worker(session: aiohttp.ClientSession) -> None:
        for number in todo:
            async with session.post(url, json={"message": f"question {number}"}) as response:
                await response.read()

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        began = time.perf_counter()
        await asyncio.gather(*(worker(session) for _ in range(concurrency)))
        return calls / (time.perf_counter() - began)


if __name__ == "__main__":
    print(asyncio.run(calls_per_second(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
