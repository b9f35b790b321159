"""A gate's slots are never more than there are, never lost, and given in the order asked for."""

import asyncio

import pytest

from viva.core.clock import SystemClock
from viva.engine.gate import Gate


async def test_whoever_waits_starts_the_moment_the_slot_is_left_in_the_order_asked_for():
    gate, started = Gate(1, SystemClock()), []
    await gate.enter(lambda: started.append("first"))
    waiting = [asyncio.create_task(gate.enter(lambda name=name: started.append(name))) for name in ("second", "third")]
    await asyncio.sleep(0)
    assert started == ["first"]
    gate.leave()
    assert started == ["first", "second"]
    gate.leave()
    assert started == ["first", "second", "third"]
    await asyncio.gather(*waiting)


@pytest.mark.parametrize("when", ["before the slot is left", "in the same turn"])
async def test_a_slot_is_not_lost_with_a_waiter_that_is_cancelled(when):
    gate, started = Gate(1, SystemClock()), []
    await gate.enter(lambda: None)
    cancelled = asyncio.create_task(gate.enter(lambda: started.append("cancelled")))
    other = asyncio.create_task(gate.enter(lambda: started.append("other")))
    await asyncio.sleep(0)
    if when == "in the same turn":
        gate.leave()
        cancelled.cancel()
    else:
        cancelled.cancel()
        gate.leave()
    await asyncio.wait_for(other, 5)
    assert cancelled.cancelled() and started[-1] == "other"
    gate.leave()
    assert await asyncio.wait_for(gate.enter(lambda: "free"), 5) == "free"


async def test_a_start_that_fails_gives_its_slot_to_the_next():
    def fail():
        raise RuntimeError("no")

    gate = Gate(1, SystemClock())
    with pytest.raises(RuntimeError):
        await gate.enter(fail)
    await gate.enter(lambda: None)
    failing, next_one = asyncio.create_task(gate.enter(fail)), asyncio.create_task(gate.enter(lambda: "next"))
    await asyncio.sleep(0)
    gate.leave()
    with pytest.raises(RuntimeError):
        await failing
    assert await asyncio.wait_for(next_one, 5) == "next"
