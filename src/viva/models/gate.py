"""One gate per account: finds the provider's limit by itself, and makes everyone wait when the provider says so.

Two limits are learned, because providers have two kinds. The window is how many calls may be under way: it doubles
with every round of good replies until the first refusal, then is cut, and grows by one per round. The pace is how
many calls may start per second: it is not limited at first; a refusal sets it below what was just served, and it
grows back slowly. Design note: docs/design/models.md.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from datetime import timedelta

import msgspec

from viva.core.clock import Clock

Notice = Callable[[str], None]

CUT = 0.7
PACE_CUT = 0.85
"""What a refusal leaves of the window, and of the pace that was served."""
ENOUGH_ANSWERED = 10
VAIN_CUTS = 3
"""So many slower paces in a row with few answers in between show that the pace is not what the provider limits."""
UNPACED_CALLS = 500
"""Answers before a pace is tried again after that."""
GROWTH_PER_CALL = 0.004
GROWTH_PER_S = 0.03
"""How fast the pace grows back, as a share of itself: the slower of the two."""
CATCH_UP_S = 0.02
"""Starts missed by a late timer may be made up for by so much."""
FIRST_COOL_S = 0.25
LONGEST_COOL_S = 30.0
MEASURE_S = 2.0
SLOWEST_PER_S = 0.1


class GateSettings(msgspec.Struct, frozen=True):
    """How a gate starts, how far it may open, and what wait is worth telling the user."""

    start: int = 8
    ceiling: int = 512
    pause_s: float = 300.0


class Gate:
    """Lets calls to one account through, as many and as fast as it takes them; models in turn, so none starves."""

    def __init__(self, clock: Clock, label: str, settings: GateSettings | None = None) -> None:
        self._clock = clock
        self._label = label
        self._settings = settings or GateSettings()
        self.window = float(self._settings.start)
        self.pace_per_s: float | None = None
        self.in_flight = 0
        self.notice: Notice | None = None
        self._slow_start = True
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        self._not_before = 0.0
        self._next_start = 0.0
        self._cut_at = 0.0
        self._refusals_in_a_row = 0
        self._answered_since_cut = 0
        self._vain_cuts = 0
        self._unpaced_calls = 0
        self._timer: asyncio.Task[None] | None = None
        self._served = _Served(clock.monotonic())

    async def enter(self, who: str, again: bool = False) -> float:
        """Wait for a place; returns when the call was let through. Who tries again goes before the others."""
        now = self._clock.monotonic()
        if not self._waiting and self._is_open(now):
            return self._let_in(now)
        await self._queue(who, again)
        return self._clock.monotonic()

    def succeeded(self) -> None:
        """A call was answered: open a little further."""
        # A window that is not used up says nothing about the provider, and must not grow on its own.
        if self.in_flight * 2 >= self.window and self.window < self._settings.ceiling:
            self.window += 1.0 if self._slow_start else 1.0 / self.window
        self.in_flight -= 1
        self._refusals_in_a_row = 0
        self._answered_since_cut += 1
        self._unpaced_calls -= 1
        self._served.count(self._clock.monotonic())
        if self.pace_per_s is not None:
            self._quicken(self.pace_per_s)
        if self._waiting:
            self._pump()

    def failed(self) -> None:
        """A call ended in a way that says nothing about the provider's limits."""
        self.in_flight -= 1
        if self._waiting:
            self._pump()

    def refused(self, let_in_at: float, wait_s: float | None) -> None:
        """The provider is over its limit: nobody calls before the time it gave, and fewer call afterwards."""
        now = self._clock.monotonic()
        if let_in_at >= self._cut_at:
            # Calls let in before the last cut only repeat the news that caused it.
            self._close_a_little(now)
        self._refusals_in_a_row += 1
        self._hold(now, wait_s if wait_s is not None else self._cool_s())
        self.in_flight -= 1
        if self._waiting:
            self._pump()

    def hold(self, wait_s: float) -> None:
        """Nobody calls before so many seconds have passed."""
        self._hold(self._clock.monotonic(), wait_s)

    def is_pause(self, wait_s: float) -> bool:
        """Whether a wait is so long that the gate tells of it."""
        return wait_s > self._settings.pause_s

    def _is_open(self, now: float) -> bool:
        return self.in_flight < int(self.window) and now >= self._not_before and now >= self._next_start

    def _let_in(self, now: float) -> float:
        self.in_flight += 1
        if self.pace_per_s is not None:
            self._next_start = max(self._next_start, now - CATCH_UP_S) + 1.0 / self.pace_per_s
        return now

    def _close_a_little(self, now: float) -> None:
        self._cut_at = now
        self._slow_start = False
        self.window = max(1.0, min(self.window, self.in_flight) * CUT)
        self._slow_down(self._served.per_s(now))
        self._served = _Served(now)
        self._answered_since_cut = 0

    def _slow_down(self, served_per_s: float | None) -> None:
        """Pace below what was served, unless going slower was tried and changed nothing: then pace is not the cause."""
        if self._answered_since_cut >= ENOUGH_ANSWERED:
            self._vain_cuts = 0
        elif self.pace_per_s is not None:
            self._vain_cuts += 1
        if self._vain_cuts >= VAIN_CUTS:
            self.pace_per_s = None
            self._vain_cuts = 0
            self._unpaced_calls = UNPACED_CALLS
        elif served_per_s is not None and self._unpaced_calls <= 0:
            known = served_per_s if self.pace_per_s is None else min(served_per_s, self.pace_per_s)
            self.pace_per_s = max(SLOWEST_PER_S, known * PACE_CUT)

    def _quicken(self, pace: float) -> None:
        pace += pace * min(GROWTH_PER_CALL, GROWTH_PER_S / pace)
        # Far beyond what anybody asks for, the pace limits nothing any more.
        self.pace_per_s = None if pace > 10_000 else pace

    def _cool_s(self) -> float:
        """How long all wait when the provider gave no time: not for one refusal, but for each one after it longer."""
        calls = max(1.0, self.window)
        rounds = self._refusals_in_a_row / calls - 1.0
        return 0.0 if rounds <= 0 else min(LONGEST_COOL_S, FIRST_COOL_S * 2.0 ** min(10.0, rounds))

    def _hold(self, now: float, wait_s: float) -> None:
        until = now + wait_s
        if until <= self._not_before:
            return
        if self.is_pause(wait_s) and self.notice is not None:
            end = self._clock.now() + timedelta(seconds=wait_s)
            self.notice(
                f"{self._label} asks to wait {_span(wait_s)}: the run pauses until {end:%Y-%m-%d %H:%M:%S} UTC "
                "and then goes on; it can be stopped now and resumed later"
            )
        self._not_before = until

    async def _queue(self, who: str, again: bool) -> None:
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault(who, deque())
        if again:
            queue.appendleft(place)
        else:
            queue.append(place)
        self._pump()
        try:
            await place
        except asyncio.CancelledError:
            self._give_up(who, place)
            raise

    def _give_up(self, who: str, place: asyncio.Future[None]) -> None:
        if place.done() and not place.cancelled():
            self.failed()  # It had been let in, and the place is free again.
            return
        queue = self._waiting.get(who)
        if queue is not None and place in queue:
            queue.remove(place)
            if not queue:
                del self._waiting[who]

    def _pump(self) -> None:
        """Let in whoever may come, the models taking turns, and set a timer for who must wait for time to pass."""
        while self._waiting:
            now = self._clock.monotonic()
            if not self._is_open(now):
                if self.in_flight < int(self.window):
                    self._wake_later(max(self._not_before, self._next_start) - now)
                return
            place = self._next_in_turn()
            if not place.done():
                self._let_in(now)
                place.set_result(None)

    def _next_in_turn(self) -> asyncio.Future[None]:
        who, queue = next(iter(self._waiting.items()))
        place = queue.popleft()
        del self._waiting[who]
        if queue:
            self._waiting[who] = queue  # To the end of the round.
        return place

    def _wake_later(self, wait_s: float) -> None:
        if self._timer is None or self._timer.done():
            self._timer = asyncio.get_running_loop().create_task(self._wake(wait_s))

    async def _wake(self, wait_s: float) -> None:
        await self._clock.sleep(max(0.0, wait_s))
        self._timer = None
        self._pump()


class _Served:
    """How many calls per second were answered lately."""

    def __init__(self, since: float) -> None:
        self._since = since
        self._count = 0
        self._before: float | None = None

    def count(self, now: float) -> None:
        self._count += 1
        if now - self._since >= MEASURE_S:
            self._before = self._count / (now - self._since)
            self._since, self._count = now, 0

    def per_s(self, now: float) -> float | None:
        elapsed = now - self._since
        if self._count >= 5 and elapsed >= MEASURE_S / 4:
            return self._count / elapsed
        return self._before


def _span(seconds: float) -> str:
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes / 60:.1f} h"
