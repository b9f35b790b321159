"""Deadlines by the thousand that hardly ever strike: setting one and calling it off costs next to nothing.

The event loop's own timers are kept sorted, and every turn of every trial would add one. Deadlines of the same length
strike in the order in which they were set, so a line of them needs one timer: that of its first.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable


class Alarm:
    """A deadline that was set."""

    __slots__ = ("_line", "act", "at")

    def __init__(self, line: _Line, at: float, act: Callable[[], None]) -> None:
        self._line = line
        self.at = at
        self.act = act

    def cancel(self) -> None:
        """Call it off; nothing happens when it has struck or was called off before."""
        self._line.waiting.pop(self, None)


class Alarms:
    """All deadlines of one event loop; made within it."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines: dict[float, _Line] = {}

    def after(self, seconds: float, act: Callable[[], None]) -> Alarm:
        """Act when so much time has passed, unless called off before."""
        line = self._lines.get(seconds)
        if line is None:
            line = self._lines[seconds] = _Line(self._loop)
        alarm = Alarm(line, self._loop.time() + seconds, act)
        line.add(alarm)
        return alarm


class _Line:
    """Deadlines of one length, first to last."""

    __slots__ = ("_is_timed", "_loop", "waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._is_timed = False
        self.waiting: OrderedDict[Alarm, None] = OrderedDict()

    def add(self, alarm: Alarm) -> None:
        self.waiting[alarm] = None
        if not self._is_timed:
            self._time(alarm)

    def _time(self, alarm: Alarm) -> None:
        # The timer stays when its alarm is called off: it strikes for nothing, once, and is set for the first again.
        self._is_timed = True
        self._loop.call_at(alarm.at, self._strike)

    def _strike(self) -> None:
        self._is_timed = False
        now = self._loop.time()
        while self.waiting:
            first = next(iter(self.waiting))
            if first.at > now:
                self._time(first)
                return
            del self.waiting[first]
            first.act()
