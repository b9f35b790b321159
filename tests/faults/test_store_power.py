"""A loss of power costs nothing that was acknowledged as finished: what had been flushed by then is enough."""

from __future__ import annotations

import asyncio
import errno
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from store_child import RUN, a_run, cases, evidence_of, result_of, scores

from viva.core import faultpoint
from viva.core.errors import StoreError
from viva.store.sqlite import SqliteStore


@pytest.fixture(autouse=True)
def no_faults_afterwards() -> Iterator[None]:
    yield
    faultpoint.install(None)


class PowerLoss:
    """Copies the store's files just before each flush of the log: what reached the disk is at least the copy before."""

    def __init__(self, path: Path, folder: Path) -> None:
        self._path = path
        self._folder = folder
        self._pending: Path | None = None
        self.safe: list[Path] = []

    def __call__(self, point: str) -> None:
        if point == "store.flush":
            self._pending = self._folder / str(len(self.safe))
            self._pending.mkdir(parents=True)
            for end in ("", "-wal"):
                shutil.copy(f"{self._path}{end}", self._pending / f"viva.db{end}")
        elif point == "store.flushed" and self._pending is not None:
            self.safe.append(self._pending)


async def opened(folder: Path) -> SqliteStore:
    return await SqliteStore.open(folder / "viva.db")


async def test_what_was_acknowledged_as_finished_is_in_what_had_been_flushed_by_then(tmp_path: Path) -> None:
    path = tmp_path / "viva.db"
    store = await SqliteStore.open(path)
    power = PowerLoss(path, tmp_path / "flushed")
    faultpoint.install(power)
    listed = cases(24)
    await store.create_run(a_run(), listed)
    acknowledged: list[tuple[str, Path]] = [("", power.safe[-1])]

    async def finish(number: int) -> None:
        evidence = evidence_of(listed[number])
        assert await store.add_evidence(RUN, evidence)
        assert await store.add_result(RUN, result_of(evidence), scores())
        acknowledged.append((evidence.trial, power.safe[-1]))

    for first in range(0, 24, 6):
        await asyncio.gather(*(finish(number) for number in range(first, first + 6)))
    await store.finish_run(RUN, "finished")
    last = power.safe[-1]
    faultpoint.install(None)
    await store.close()
    assert len(acknowledged) == 25
    for trial, folder in acknowledged:
        after = await opened(folder)
        assert trial in {"", *await after.result_keys(RUN)} & {"", *await after.evidence_keys(RUN)}
        await after.close()
    after = await opened(last)
    assert (await after.run(RUN)).status == "finished"
    await after.close()


async def test_evidence_does_not_wait_for_a_flush_under_way(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "viva.db")
    listed = cases(2)
    await store.create_run(a_run(), listed)
    first, second = map(evidence_of, listed)
    assert await store.add_evidence(RUN, first)
    slow = threading.Event()
    faultpoint.install(lambda point: slow.wait(20) and None if point == "store.flush" else None)
    finishing = asyncio.create_task(store.add_result(RUN, result_of(first), scores()))
    assert await asyncio.wait_for(store.add_evidence(RUN, second), 10)
    assert not finishing.done()
    slow.set()
    assert await finishing
    await store.close()


async def test_a_flush_that_fails_acknowledges_nothing_and_stops_the_writer(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "viva.db")
    listed = cases(2)
    await store.create_run(a_run(), listed)
    first, second = map(evidence_of, listed)
    assert await store.add_evidence(RUN, first)

    def broken(point: str) -> None:
        if point == "store.flush":
            raise OSError(errno.EIO, "Input/output error")

    faultpoint.install(broken)
    with pytest.raises(StoreError) as refused:
        await store.add_result(RUN, result_of(first), scores())
    assert refused.value.kind == "io_error"
    faultpoint.install(None)
    with pytest.raises(StoreError):
        await store.add_evidence(RUN, second)
    await store.close()
