"""A disk that is full, broken, read-only or gone stops the writing cleanly, and costs nothing acknowledged."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import store_child
from store_child import RUN, a_run, cases, evidence_of

from viva.core import faultpoint
from viva.core.errors import StoreError
from viva.store.sqlite import SqliteStore

CHILD = str(Path(store_child.__file__))


@pytest.fixture(autouse=True)
def no_faults_afterwards() -> Iterator[None]:
    yield
    faultpoint.install(None)


@pytest.fixture
def memory_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory where there is one: hundreds of stores need no real disk to be refused a write."""
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        yield Path(folder)


def on_own_mount(script: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount things nobody else sees."""
    for way in (["unshare", "-m"], ["unshare", "-Urm"]):
        if not shutil.which("unshare") or subprocess.run([*way, "true"], capture_output=True).returncode:
            continue
        return subprocess.run([*way, "sh", "-ec", script], capture_output=True, text=True, timeout=120)
    pytest.skip("no private mount namespace here; the limit on file sizes and on pages are tried instead")


def test_a_full_disk_stops_the_writer_and_a_new_opening_finishes(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    found = on_own_mount(f"mount -t tmpfs -o size=3m none {small}; exec {sys.executable} {CHILD} full_disk {small} 150")
    assert found.returncode == 0, found.stderr
    report = json.loads(found.stdout)
    assert report["kind"] == report["afterwards"] == "disk_full"
    assert str(small / "viva.db") in report["message"]
    assert "bytes needed" in report["message"]
    assert report["readable"]
    assert report["acknowledged"] > 20
    assert report["left"]["lost"] == 0
    assert report["finished"]["kept"] == 2 * 150 + 1


async def test_a_store_that_may_not_grow_says_the_disk_is_full(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "viva.db")
    await store.create_run(a_run(), cases(500))
    await store._write(lambda c: c.execute("PRAGMA max_page_count = 100").fetchone())
    answers = await asyncio.gather(
        *(store.add_evidence(RUN, evidence_of(case, text="x" * 2000)) for case in cases(500)), return_exceptions=True
    )
    errors = [answer for answer in answers if isinstance(answer, StoreError)]
    assert {error.kind for error in errors} == {"disk_full"}
    assert "bytes needed" in str(errors[0])
    assert len(await store.evidence_keys(RUN)) == answers.count(True)
    await store.close()
    again = await SqliteStore.open(tmp_path / "viva.db")
    assert await again.add_evidence(RUN, evidence_of(cases(500)[-1]))
    await again.close()


def test_writes_refused_by_the_system_at_any_size_lose_nothing(memory_folder: Path) -> None:
    found = subprocess.run(
        [sys.executable, CHILD, "starve", str(memory_folder), "60", "40000"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert found.returncode == 0, found.stderr
    report = json.loads(found.stdout)
    assert report["refusals"] >= 10
    assert set(report["kinds"]) <= {"io_error", "disk_full"}


def failing_at(number: int, cause: Callable[[], Exception]) -> Callable[[str], None]:
    left = number

    def hook(point: str) -> None:
        nonlocal left
        if point.startswith("store."):
            left -= 1
            if left == 0:
                raise cause()

    return hook


def an_io_error() -> Exception:
    return OSError(errno.EIO, "Input/output error")


async def try_failing_at(path: Path, number: int, count: int) -> bool:
    """Fail at the Nth point, check, and finish; False when the work has fewer points."""
    acknowledged: list[str] = []
    faultpoint.install(failing_at(number, an_io_error))
    try:
        await store_child.open_and_fill(str(path), count, 1, acknowledged.append)
    except StoreError as error:
        faultpoint.install(None)
        assert error.kind == "io_error"
        assert str(path) in str(error)
    else:
        return False
    assert (await store_child.check(str(path), set(acknowledged), count))["lost"] == 0
    await store_child.open_and_fill(str(path), count, 8, acknowledged.append)
    assert (await store_child.check(str(path), set(acknowledged), count))["kept"] == 2 * count + 1
    return True


async def test_an_io_error_at_any_of_the_first_200_writes_is_clean_and_can_be_finished(memory_folder: Path) -> None:
    for number in range(1, 201):
        folder = memory_folder / str(number)
        assert await try_failing_at(folder / "viva.db", number, 24), number
        shutil.rmtree(folder)


async def test_after_a_disk_error_everyone_who_waits_is_told(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "viva.db")
    listed = cases(100)
    await store.create_run(a_run(), listed)
    assert await store.add_evidence(RUN, evidence_of(listed[0]))
    faultpoint.install(failing_at(2, an_io_error))
    waiting = [store.add_evidence(RUN, evidence_of(case)) for case in listed[1:]]
    answers = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 30)
    assert all(isinstance(answer, StoreError) and answer.kind == "io_error" for answer in answers)
    with pytest.raises(StoreError, match="input/output error"):
        await store.release(RUN, "anyone")
    assert await store.evidence_keys(RUN) == {listed[0].id}
    await store.close()


async def test_an_unexpected_error_of_one_job_spares_the_others(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "viva.db")
    listed = cases(20)
    await store.create_run(a_run(), listed)

    def broken(_: sqlite3.Connection) -> None:
        raise ZeroDivisionError("a slip")

    jobs = [store.add_evidence(RUN, evidence_of(case)) for case in listed]
    answers = await asyncio.gather(*jobs[:10], store._write(broken), *jobs[10:], return_exceptions=True)
    slip = answers.pop(10)
    assert isinstance(slip, StoreError)
    assert "ZeroDivisionError" in str(slip)
    assert answers == [True] * 20
    await store.close()


def test_a_disk_mounted_for_reading_only_is_named_and_can_be_read(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    asyncio.run(store_child.open_and_fill(str(folder / "viva.db"), 3, 1, lambda _: None))
    found = on_own_mount(
        f"mount --bind {folder} {folder}; mount -o remount,bind,ro {folder};"
        f"exec {sys.executable} {CHILD} read_only {folder}"
    )
    assert found.returncode == 0, found.stderr
    report = json.loads(found.stdout)
    assert report["kind"] == "read_only"
    assert str(folder / "viva.db") in report["message"]
    assert report["keys"] == 3


@pytest.mark.parametrize("disaster", ["folder", "file", "log", "replaced"])
async def test_a_store_that_vanishes_is_noticed_before_anything_is_acknowledged(tmp_path: Path, disaster: str) -> None:
    path = tmp_path / "store" / "viva.db"
    store = await SqliteStore.open(path)
    listed = cases(3)
    await store.create_run(a_run(), listed)
    assert await store.add_evidence(RUN, evidence_of(listed[0]))
    match disaster:
        case "folder":
            shutil.rmtree(path.parent)
        case "file":
            path.unlink()
        case "log":
            Path(f"{path}-wal").unlink()
        case _:
            path.rename(path.with_name("moved.db"))
            path.write_bytes(b"")
    with pytest.raises(StoreError) as gone:
        await store.add_evidence(RUN, evidence_of(listed[1]))
    assert gone.value.kind == "vanished"
    assert str(path) in str(gone.value)
    with pytest.raises(StoreError):
        await store.add_evidence(RUN, evidence_of(listed[2]))
    await store.close()


async def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError) as refused:
        await SqliteStore.open(tmp_path / "file" / "viva.db")
    assert str(tmp_path / "file" / "viva.db") in str(refused.value)
