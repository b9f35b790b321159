"""No two processes work on one trial, whatever the clocks do."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from store_samples import TwoClocks, a_run, cases, evidence_of, result_of, scores

from viva.store.liveness import Holder, is_dead, this_process
from viva.store.sqlite import SqliteStore

KEYS = [f"case-{n}" for n in range(10)]
HOUR_S, DAY_S = 3600.0, 86_400.0


@pytest.fixture
def clock() -> TwoClocks:
    return TwoClocks()


@pytest.fixture
async def store(tmp_path: Path, clock: TwoClocks) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "viva.db", clock=clock)
    await opened.create_run(a_run(), cases(10))
    yield opened
    await opened.close()


async def test_a_claimed_trial_is_not_claimed_again(store: SqliteStore) -> None:
    assert await store.claim("run-1", KEYS[:6], "one", 30) == KEYS[:6]
    assert await store.claim("run-1", KEYS, "two", 30) == KEYS[6:]
    assert await store.claim("run-1", KEYS, "three", 30) == []


async def test_claiming_again_what_one_holds_is_granted(store: SqliteStore) -> None:
    assert await store.claim("run-1", KEYS[:2], "one", 30) == KEYS[:2]
    assert await store.claim("run-1", [KEYS[1], KEYS[1], KEYS[3]], "one", 30) == [KEYS[1], KEYS[3]]


async def test_released_trials_are_free(store: SqliteStore) -> None:
    await store.claim("run-1", KEYS, "one", 30)
    await store.release("run-1", "one")
    assert await store.claim("run-1", KEYS, "two", 30) == KEYS


async def test_an_expired_lease_is_taken_over_and_the_late_result_refused(store: SqliteStore, clock: TwoClocks) -> None:
    await store.claim("run-1", KEYS, "slow", 30)
    clock.advance(31)
    assert await store.claim("run-1", KEYS[:1], "quick", 30) == KEYS[:1]
    case = (await store.cases("run-1"))[0]
    quick, late = evidence_of(case, text="quick"), evidence_of(case, text="late")
    assert await store.add_evidence("run-1", quick)
    assert await store.add_result("run-1", result_of(quick, 1.0), scores(1.0))
    assert not await store.add_evidence("run-1", late)
    assert not await store.add_result("run-1", result_of(late, 0.0), scores(0.0))
    assert (await store.evidence("run-1", KEYS[0])).text == "quick"


async def test_a_heartbeat_keeps_a_lease(store: SqliteStore, clock: TwoClocks) -> None:
    await store.claim("run-1", KEYS, "one", 30)
    for _ in range(5):
        clock.advance(25)
        await store.heartbeat("run-1", "one", 30)
        assert await store.claim("run-1", KEYS, "two", 30) == []


async def test_a_heartbeat_does_not_bring_back_what_was_taken_over(store: SqliteStore, clock: TwoClocks) -> None:
    await store.claim("run-1", KEYS, "one", 30)
    clock.advance(31)
    assert await store.claim("run-1", KEYS, "two", 30) == KEYS
    await store.heartbeat("run-1", "one", 30)
    assert await store.claim("run-1", KEYS, "one", 30) == []


@pytest.mark.parametrize("jump_s", [-HOUR_S, DAY_S, HOUR_S, -DAY_S])
async def test_a_jump_of_the_wall_clock_neither_ends_nor_keeps_a_lease(
    store: SqliteStore, clock: TwoClocks, jump_s: float
) -> None:
    await store.claim("run-1", KEYS, "one", 30)
    clock.jump(jump_s)
    assert await store.claim("run-1", KEYS, "two", 30) == []
    clock.advance(31)
    assert await store.claim("run-1", KEYS, "two", 30) == KEYS


@pytest.mark.parametrize(("jump_s", "granted"), [(-HOUR_S, KEYS), (29.0, []), (DAY_S, KEYS)])
async def test_a_lease_of_another_machine_or_boot_ends_by_the_wall_clock(
    store: SqliteStore, clock: TwoClocks, jump_s: float, granted: list[str]
) -> None:
    await store.claim("run-1", KEYS, "elsewhere", 30)
    with sqlite3.connect(store.path) as raw:
        raw.execute("UPDATE leases SET space = 'another boot', pid = 1, until_mono = 9e9")
    raw.close()
    clock.jump(jump_s)
    assert await store.claim("run-1", KEYS, "here", 30) == granted


async def test_a_finished_trial_is_claimed_by_nobody(store: SqliteStore) -> None:
    case = (await store.cases("run-1"))[3]
    await store.add_evidence("run-1", evidence_of(case))
    assert case.id in await store.claim("run-1", KEYS, "one", 30)  # Its scores are still owed.
    await store.add_result("run-1", result_of(evidence_of(case)), scores())
    await store.release("run-1", "one")
    assert await store.claim("run-1", KEYS, "two", 30) == [key for key in KEYS if key != case.id]


async def test_the_list_of_claims_is_as_short_as_the_work_in_hand(store: SqliteStore) -> None:
    for case in await store.cases("run-1"):
        assert await store.claim("run-1", [case.id], "one", 30) == [case.id]
        await store.add_evidence("run-1", evidence_of(case))
        await store.add_result("run-1", result_of(evidence_of(case)), scores())
        held = await store._write(lambda c: c.execute("SELECT count(*) FROM claims").fetchone()[0])
        assert held == 1


async def test_many_claimers_share_without_overlap(store: SqliteStore) -> None:
    shares = await asyncio.gather(*(store.claim("run-1", KEYS[n:] + KEYS[:n], f"w{n}", 30) for n in range(10)))
    taken = [key for share in shares for key in share]
    assert sorted(taken) == sorted(KEYS)


async def test_a_dead_process_loses_its_claims_at_once(store: SqliteStore) -> None:
    script = (
        "import asyncio, os, sys\n"
        "from viva.store.sqlite import SqliteStore\n"
        "async def main():\n"
        "    store = await SqliteStore.open(sys.argv[1])\n"
        "    print(len(await store.claim('run-1', [f'case-{n}' for n in range(10)], 'doomed', 1e6)), flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    child = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-c", script, str(store.path)], capture_output=True, text=True
    )
    assert child.stdout.strip() == "10"
    assert child.returncode == -9
    assert await store.claim("run-1", KEYS, "heir", 30) == KEYS


def test_a_living_process_is_not_dead() -> None:
    assert not is_dead(this_process())


def test_a_later_process_with_the_same_number_is_not_the_same() -> None:
    assert is_dead(this_process()._replace(started="1"))


def test_a_process_that_has_ended_is_dead_even_as_a_zombie() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    from viva.store.liveness import _started

    holder = Holder(this_process().space, child.pid, _started(child.pid) or "")
    assert not is_dead(holder)
    assert child.stdin is not None
    child.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_dead(holder)
    child.wait()
    assert is_dead(holder)


def test_nothing_is_claimed_to_be_known_of_other_machines() -> None:
    assert not is_dead(Holder("another boot", 2**22 + 1, "7"))
