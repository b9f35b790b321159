"""The cache answers at once, stays within its size, and never stands in the way."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from pathlib import Path

from store_samples import TwoClocks

from viva.ports.store import ResponseCache
from viva.store.cache import SqliteCache


async def settled(cache: SqliteCache) -> None:
    for _ in range(500):
        if not cache._pending:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("the replies were never written")


async def test_a_reply_is_there_at_once_and_after_reopening(tmp_path: Path) -> None:
    cache = await SqliteCache.open(tmp_path / "deep" / "cache.db")
    port: ResponseCache = cache
    assert await port.get("k") is None
    await port.put("k", b"\x00reply\xff", "openai/x")
    assert await port.get("k") == b"\x00reply\xff"
    await settled(cache)
    assert await port.get("k") == b"\x00reply\xff"
    await cache.close()
    again = await SqliteCache.open(tmp_path / "deep" / "cache.db")
    assert await again.get("k") == b"\x00reply\xff"
    await again.close()


async def test_the_newest_reply_wins(tmp_path: Path) -> None:
    cache = await SqliteCache.open(tmp_path / "cache.db")
    for number in range(200):
        await cache.put("k", b"%d" % number, "m")
    assert await cache.get("k") == b"199"
    await cache.close()
    again = await SqliteCache.open(tmp_path / "cache.db")
    assert await again.get("k") == b"199"
    assert (await again.stats()).entries == 1
    await again.close()


async def test_hits_are_counted_over_sessions(tmp_path: Path) -> None:
    for session in (1, 2):
        cache = await SqliteCache.open(tmp_path / "cache.db")
        await cache.put("k", b"12345", "m")
        for _ in range(3):
            await cache.get("k")
        await cache.get("missing")
        await settled(cache)
        stats = await cache.stats()
        assert (stats.entries, stats.bytes, stats.session_hits, stats.session_misses) == (1, 5, 3, 1)
        assert stats.hits == 3 * (session - 1)
        await cache.close()
    again = await SqliteCache.open(tmp_path / "cache.db")
    assert (await again.stats()).hits == 6
    await again.close()


async def test_what_was_used_last_survives_a_full_cache(tmp_path: Path) -> None:
    clock = TwoClocks()
    cache = await SqliteCache.open(tmp_path / "cache.db", most_entries=100, clock=clock)
    for number in range(100):
        await cache.put(f"k{number}", b"r", "m")
        await settled(cache)
    await cache.get("k0")
    await cache.close()
    clock.jump(-86_400)  # Order of use must not depend on the date.
    cache = await SqliteCache.open(tmp_path / "cache.db", most_entries=100, clock=clock)
    await cache.put("new", b"r", "m")
    await settled(cache)
    assert (await cache.stats()).entries == 95
    assert await cache.get("k0") == b"r"
    assert await cache.get("new") == b"r"
    assert await cache.get("k1") is None
    await cache.close()


async def test_two_processes_share_a_cache(tmp_path: Path) -> None:
    one = await SqliteCache.open(tmp_path / "cache.db")
    two = await SqliteCache.open(tmp_path / "cache.db")
    await asyncio.gather(*(one.put(f"a{n}", b"1", "m") for n in range(100)))
    await asyncio.gather(*(two.put(f"b{n}", b"2", "m") for n in range(100)))
    await settled(one)
    await settled(two)
    assert await one.get("b99") == b"2"
    assert await two.get("a0") == b"1"
    await one.close()
    await two.close()


async def test_a_damaged_cache_is_begun_anew_and_kept_aside(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"not a database at all" * 200)
    cache = await SqliteCache.open(tmp_path / "cache.db")
    await cache.put("k", b"r", "m")
    assert await cache.get("k") == b"r"
    await cache.close()
    assert len(list(tmp_path.glob("cache.db.damaged-*"))) == 1


async def test_a_cache_that_cannot_be_written_says_so_and_goes_on(tmp_path: Path) -> None:
    cache = await SqliteCache.open(tmp_path / "cache.db")
    with sqlite3.connect(tmp_path / "cache.db") as raw:
        raw.execute("CREATE TRIGGER no BEFORE INSERT ON replies BEGIN SELECT raise(ABORT, 'no room'); END")
    raw.close()
    await cache.put("k", b"r", "m")
    await settled(cache)
    assert "no room" in (await cache.stats()).failure
    assert await cache.get("k") is None
    await cache.put("k2", b"r", "m")
    assert not cache._pending
    await cache.close()


async def test_clearing_forgets_every_reply(tmp_path: Path) -> None:
    cache = await SqliteCache.open(tmp_path / "cache.db")
    for number in range(3):
        await cache.put(f"k{number}", b"r", "m")
    await settled(cache)
    assert await cache.clear() == 3
    assert await cache.get("k1") is None
    await cache.close()


async def test_a_look_up_is_cheap_enough_for_the_event_loop(tmp_path: Path) -> None:
    cache = await SqliteCache.open(tmp_path / "cache.db")
    for number in range(2000):
        await cache.put(f"k{number}", b"x" * 2000, "m")
    await settled(cache)
    began = time.process_time()
    for number in range(2000):
        await cache.get(f"k{number}")
    assert (time.process_time() - began) / 2000 < 0.001  # Some 15 µs here; a thread's hop would be ten times that.
    await cache.close()


async def test_many_replies_are_read_in_one_go_wherever_they_are(tmp_path: Path) -> None:
    cache = await SqliteCache.open(tmp_path / "cache.db")
    for number in range(2000):
        await cache.put(f"k{number}", b"%d" % number, "m")
    await settled(cache)
    await cache.put("new", b"on its way", "m")
    asked = ["missing", "new", *(f"k{number}" for number in range(2000)), 'odd " key']
    found = await cache.get_many(asked)
    assert len(found) == 2001
    assert (found["k7"], found["new"]) == (b"7", b"on its way")
    assert await cache.get_many([]) == {}
    await settled(cache)
    assert (await cache.stats()).session_hits == 2001
    await cache.close()


async def test_many_replies_of_a_cache_that_cannot_be_read_are_none(tmp_path: Path) -> None:
    cache = await SqliteCache.open(tmp_path / "cache.db")
    cache._reading.close()
    assert await cache.get_many(["a", "b"]) == {}
    assert "cache of replies" in cache.failure
    await cache.close()
