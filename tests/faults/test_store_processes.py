"""Several processes share one store: all rows arrive, and no trial is worked on twice."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
import store_child
from store_child import RUN, a_run, cases, evidence_of

from viva.core.errors import StoreError
from viva.store import locking
from viva.store.sqlite import SqliteStore

CHILD = str(Path(store_child.__file__))


async def prepared(path: Path, count: int) -> None:
    store = await SqliteStore.open(path)
    await store.create_run(a_run(planned=count), cases(count))
    await store.close()


def share_work(path: Path, processes: int, batch: int) -> list[list[str]]:
    """Let processes claim and execute everything at the same time; returns what each acknowledged."""
    started = [
        subprocess.Popen(
            [sys.executable, CHILD, "share", str(path), f"owner-{n}", str(batch)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for n in range(processes)
    ]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    said: list[list[str]] = [[] for _ in started]

    def finish(n: int) -> None:
        output, _ = started[n].communicate("go\n", timeout=120)
        said[n] = output.splitlines()

    threads = [threading.Thread(target=finish, args=(n,)) for n in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.returncode for process in started] == [0] * processes
    return said


async def test_eight_processes_share_800_trials_and_each_is_done_once(tmp_path: Path) -> None:
    path = tmp_path / "viva.db"
    await prepared(path, 800)
    said = await asyncio.to_thread(share_work, path, 8, 10)
    times = Counter(word.split()[0] for words in said for word in words)
    assert len(times) == 800
    assert set(times.values()) == {1}
    assert all(word.endswith(" True True") for words in said for word in words)
    store = await SqliteStore.open(path)
    assert (await store.tally(RUN)).results == 800
    assert [e.case.id async for e in store.all_evidence(RUN)] == [case.id for case in cases(800)]
    await store.close()


async def test_processes_that_open_a_new_store_at_once_all_find_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "viva.db"
    script = (
        "import asyncio, sys\n"
        "from viva.store.sqlite import SqliteStore\n"
        "async def main():\n"
        "    store = await SqliteStore.open(sys.argv[1])\n"
        "    print(len(await store.runs()))\n"
        "    await store.close()\n"
        "asyncio.run(main())\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True) for _ in range(6)
    ]
    answers = [await asyncio.to_thread(process.communicate, timeout=60) for process in started]
    assert [answer[0].strip() for answer in answers] == ["0"] * 6


async def test_a_late_process_is_refused_after_its_lease_was_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "viva.db"
    await prepared(path, 1)
    slow, quick = await SqliteStore.open(path), await SqliteStore.open(path)
    (case,) = await slow.cases(RUN)
    assert await slow.claim(RUN, [case.id], "slow", 0.05) == [case.id]
    deadline = time.monotonic() + 20
    while not await quick.claim(RUN, [case.id], "quick", 30):
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)
    assert await quick.add_evidence(RUN, evidence_of(case, text="quick"))
    assert await slow.add_evidence(RUN, evidence_of(case, text="late")) is False
    assert (await slow.evidence(RUN, case.id)).text == "quick"
    await slow.close()
    await quick.close()


async def test_a_store_that_stays_locked_is_a_named_error_and_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locking.begin, "__defaults__", (0.2,))
    path = tmp_path / "viva.db"
    await prepared(path, 2)
    hog, patient = await SqliteStore.open(path), await SqliteStore.open(path)
    release = threading.Event()
    holding = asyncio.ensure_future(hog._write(lambda c: release.wait(30)))
    await asyncio.sleep(0.1)
    answers = await asyncio.gather(
        *(patient.add_evidence(RUN, evidence_of(case)) for case in cases(2)), return_exceptions=True
    )
    assert [getattr(answer, "kind", None) for answer in answers] == ["busy", "busy"]
    assert isinstance(answers[0], StoreError)
    assert str(path) in str(answers[0])
    release.set()
    await holding
    assert await patient.add_evidence(RUN, evidence_of(cases(2)[0]))
    await hog.close()
    await patient.close()
