"""Children of the store's fault tests: they write, acknowledge on standard output, and are killed or starved.

`python store_child.py MODE ARGUMENTS…`; what a mode does is said at its function.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import signal
import sqlite3
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "unit" / "store"))

from store_samples import a_run, cases, evidence_of, result_of, scores

from viva.core import faultpoint
from viva.core.errors import StoreError
from viva.store.sqlite import SqliteStore

RUN = "run-1"


def acknowledge(word: str) -> None:
    os.write(1, (word + "\n").encode())


async def fill(store: SqliteStore, listed: list[Any], producers: int, done: Callable[[str], None]) -> None:
    """Keep evidence and result of every case the store does not hold yet, and say so after each."""
    held, scored = await store.evidence_keys(RUN), await store.result_keys(RUN)
    owed = iter([case for case in listed if case.id not in scored])

    async def produce() -> None:
        for case in owed:
            evidence = evidence_of(case, text=f"answer to {case.id} " * 40)
            if case.id not in held:
                await store.add_evidence(RUN, evidence)
                done("e " + case.id)
            await store.add_result(RUN, result_of(evidence), scores())
            done("r " + case.id)

    await asyncio.gather(*(produce() for _ in range(producers)))


async def open_and_fill(path: str, count: int, producers: int, done: Callable[[str], None]) -> None:
    """Open the store, creating the run where it is missing, and do all that is owed."""
    store = await SqliteStore.open(path)
    try:
        listed = cases(count)
        if not await store.runs():
            await store.create_run(a_run(planned=count), listed)
            done("created")
        await fill(store, listed, producers, done)
    finally:
        await store.close()


async def check(path: str, acknowledged: set[str], count: int) -> dict[str, int]:
    """Look at what a kill or a failure left: everything acknowledged, nothing by halves, and sound."""
    store = await SqliteStore.open(path)
    kept = {"created"} if await store.runs() else set()
    if kept:
        kept |= {"e " + e.trial async for e in store.all_evidence(RUN)}
        kept |= {"r " + result.trial async for result, found in store.all_results(RUN) if len(found) == 3}
        assert len(await store.cases(RUN)) == count
        assert {"e" + word[1:] for word in kept if word.startswith("r ")} <= kept
    await store.close()
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    raw.close()
    return {"lost": len(acknowledged - kept), "kept": len(kept), "unacknowledged": len(kept - acknowledged)}


def in_a_fork(work: Callable[[], Coroutine[Any, Any, None]], prepare: Callable[[], None]) -> tuple[int, list[str]]:
    """Run in a forked process; returns its wait status and what it acknowledged."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.dup2(writing, 1)
        prepare()
        code = 0
        try:
            asyncio.run(work())
        except StoreError as error:
            acknowledge(json.dumps({"kind": error.kind, "message": str(error)}))
            code = 3
        os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read().splitlines()
    return os.waitpid(pid, 0)[1], said


def kill_at(number: int) -> Callable[[], None]:
    """Prepare a kill -9 of oneself at the Nth named point."""
    left = number

    def hook(point: str) -> None:
        nonlocal left
        if point.startswith("store."):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    return lambda: faultpoint.install(hook)


def allow_bytes(limit: int) -> Callable[[], None]:
    """Prepare real write failures: the system refuses to let any file grow past a limit."""

    def prepare() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    return prepare


def mode_append(path: str, count: str, producers: str) -> None:
    """Fill a store, acknowledging on standard output; the parent kills us when it likes."""
    asyncio.run(open_and_fill(path, int(count), int(producers), acknowledge))


def mode_check(path: str, count: str) -> None:
    """Check a store against the acknowledgements on standard input."""
    acknowledged = set(sys.stdin.read().splitlines())
    print(json.dumps(asyncio.run(check(path, acknowledged, int(count)))))


def mode_kill_everywhere(folder: str, count: str) -> None:
    """Kill at every named point in turn, from creating the file to the last commit; check and finish each time."""
    number = kills = 0
    while True:
        number += 1
        path = str(Path(folder) / f"{number}.db")
        status, said = in_a_fork(lambda: open_and_fill(path, int(count), 1, acknowledge), kill_at(number))  # noqa: B023
        if os.WIFEXITED(status):
            print(json.dumps({"kills": kills, "exit": os.WEXITSTATUS(status), "said": len(said)}))
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        kills += 1
        _finish(path, said, int(count))


def mode_starve(folder: str, count: str, step: str) -> None:
    """Let the files grow to ever larger limits, with real refusals of the system; check and finish each time."""
    limit = refusals = 0
    kinds: set[str] = set()
    while True:
        limit += int(step)
        path = str(Path(folder) / f"{limit}.db")
        status, said = in_a_fork(lambda: open_and_fill(path, int(count), 4, acknowledge), allow_bytes(limit))  # noqa: B023
        if os.WEXITSTATUS(status) == 0:
            print(json.dumps({"refusals": refusals, "kinds": sorted(kinds)}))
            return
        assert os.WEXITSTATUS(status) == 3, (limit, status, said)
        error = json.loads(said.pop())
        assert path in error["message"], error
        kinds.add(error["kind"])
        refusals += 1
        _finish(path, said, int(count))


def _finish(path: str, said: list[str], count: int) -> None:
    def report(after: set[str]) -> Callable[[], Coroutine[Any, Any, None]]:
        async def work() -> None:
            acknowledge(json.dumps(await check(path, after, count)))

        return work

    def nothing() -> None:
        return

    status, found = in_a_fork(report(set(said)), nothing)
    assert status == 0, found
    assert json.loads(found[0])["lost"] == 0, (path, said, found)
    status, _ = in_a_fork(lambda: open_and_fill(path, count, 4, acknowledge), nothing)
    assert status == 0
    status, found = in_a_fork(report(set(said)), nothing)
    assert json.loads(found[0]) == {"lost": 0, "kept": 2 * count + 1, "unacknowledged": 2 * count + 1 - len(set(said))}


def mode_full_disk(folder: str, count: str) -> None:
    """Fill a small disk, look at what is there, free some space, and finish in a new opening."""
    path = str(Path(folder) / "viva.db")
    ballast = Path(folder) / "ballast"
    ballast.write_bytes(bytes(2_200_000))
    acknowledged: list[str] = []
    report: dict[str, Any] = {}

    async def until_full() -> None:
        store = await SqliteStore.open(path)
        listed = cases(int(count))
        await store.create_run(a_run(planned=int(count)), listed)
        acknowledged.append("created")
        try:
            await fill(store, listed, 16, acknowledged.append)
        except StoreError as error:
            report["kind"], report["message"] = error.kind, str(error)
        readable = [e.trial async for e in store.all_evidence(RUN)]
        report["readable"] = {word[2:] for word in acknowledged if word.startswith("e ")} <= set(readable)
        try:
            await store.add_evidence(RUN, evidence_of(listed[-1]))
        except StoreError as error:
            report["afterwards"] = error.kind
        await store.close()

    asyncio.run(until_full())
    report["acknowledged"] = len(acknowledged)
    ballast.unlink()
    report["left"] = asyncio.run(check(path, set(acknowledged), int(count)))
    asyncio.run(open_and_fill(path, int(count), 16, lambda _: None))
    report["finished"] = asyncio.run(check(path, set(acknowledged), int(count)))
    print(json.dumps(report))


def mode_read_only(folder: str) -> None:
    """Try to write, then to read, a store on a disk that is mounted for reading only."""
    path = Path(folder) / "viva.db"

    async def tries() -> dict[str, Any]:
        report: dict[str, Any] = {}
        try:
            await SqliteStore.open(path)
        except StoreError as error:
            report["kind"], report["message"] = error.kind, str(error)
        store = await SqliteStore.open(path, read_only=True)
        report["keys"] = len(await store.evidence_keys(RUN))
        await store.close()
        return report

    print(json.dumps(asyncio.run(tries())))


def mode_share(path: str, owner: str, count: str) -> None:
    """Claim trials a few at a time until none is left, and keep evidence and result of each."""

    async def work() -> None:
        store = await SqliteStore.open(path)
        listed = {case.id: case for case in await store.cases(RUN)}
        keys = list(listed)
        acknowledge("ready")
        sys.stdin.readline()
        while mine := await _next_share(store, owner, keys, int(count)):
            await asyncio.gather(*(_execute(store, listed[key]) for key in mine))
        await store.release(RUN, owner)
        await store.close()

    asyncio.run(work())


async def _next_share(store: SqliteStore, owner: str, keys: list[str], count: int) -> list[str]:
    while keys:
        asked = [keys.pop(0) for _ in range(min(count, len(keys)))]
        if got := await store.claim(RUN, asked, owner, 30):
            return got
    return []


async def _execute(store: SqliteStore, case: Any) -> None:
    evidence = evidence_of(case)
    new_evidence = await store.add_evidence(RUN, evidence)
    new_result = await store.add_result(RUN, result_of(evidence), scores())
    acknowledge(f"{case.id} {new_evidence} {new_result}")


MODES: dict[str, Callable[..., None]] = {
    name.removeprefix("mode_"): thing for name, thing in globals().items() if name.startswith("mode_")
}

if __name__ == "__main__":
    MODES[sys.argv[1]](*sys.argv[2:])
