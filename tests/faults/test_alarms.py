"""Deadlines strike in time and in order, and those called off never do."""

import asyncio
import random

from virtual_time import run_virtual

from viva.engine.alarms import Alarms


def test_each_alarm_strikes_at_its_time_unless_it_was_called_off():
    async def main():
        loop, alarms, dice = asyncio.get_running_loop(), Alarms(), random.Random(7)
        struck, wanted, set_ones = {}, {}, []
        for number in range(500):
            seconds = dice.choice((0.0, 0.5, 3.0, 60.0))
            wanted[number] = loop.time() + seconds

            def act(number=number):
                struck[number] = loop.time()

            set_ones.append((number, alarms.after(seconds, act)))
            if dice.random() < 0.6:
                called_off, alarm = set_ones.pop(dice.randrange(len(set_ones)))
                alarm.cancel()
                if called_off not in struck:
                    wanted.pop(called_off)
            await asyncio.sleep(dice.choice((0, 0, 0.01, 0.2)))
        await asyncio.sleep(100)
        assert struck.keys() == wanted.keys() and len(struck) > 100
        assert all(0 <= struck[number] - at < 0.001 for number, at in wanted.items())

    run_virtual(main())


def test_an_alarm_may_call_off_the_next_and_set_another():
    async def main():
        alarms, struck = Alarms(), []
        alarms.after(1.0, lambda: (second.cancel(), alarms.after(1.0, lambda: struck.append("third"))))
        second = alarms.after(1.0, lambda: struck.append("second"))
        await asyncio.sleep(5)
        second.cancel()
        assert struck == ["third"]

    run_virtual(main())


def test_alarms_called_off_are_not_kept():
    async def main():
        alarms = Alarms()
        held = alarms.after(60.0, lambda: None)
        for _ in range(10_000):
            alarms.after(60.0, lambda: None).cancel()
        assert len(alarms._lines[60.0].waiting) == 1
        held.cancel()
        assert not alarms._lines[60.0].waiting

    run_virtual(main())
