"""Holding a task that runs foreign code: it is pulled back at a deadline, and left behind when it does not come."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from viva.engine.alarms import Alarm, Alarms

PATIENCE_S = 1.0
"""How long cancelled code may take to notice."""


class Leash:
    """Runs one coroutine as a task that can be pulled back for a reason, and given up on."""

    def __init__(self, patience_s: float = PATIENCE_S, alarms: Alarms | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._alarms = alarms or Alarms()
        self._patience_s = patience_s
        self._task: asyncio.Task[None] | None = None
        self._giving_up: asyncio.TimerHandle | None = None
        self._ended: asyncio.Future[bool] = self._loop.create_future()
        self.why = ""
        """Why the task was pulled; empty while it runs free."""

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Let the work begin."""
        self._task = self._loop.create_task(work)
        self._task.add_done_callback(self._on_done)

    async def ended(self) -> bool:
        """Wait for the work; True when it ended, False when it was pulled, did not let go, and was left behind."""
        try:
            return await self._ended
        finally:
            self._forget_giving_up()

    async def run(self, work: Coroutine[Any, Any, None]) -> bool:
        """Let the work begin, and wait for it."""
        self.start(work)
        return await self.ended()

    def after(self, seconds: float, why: str) -> Alarm:
        """Pull when so much time has passed, unless the alarm is called off before."""
        return self._alarms.after(seconds, lambda: self.pull(why))

    def pull(self, why: str) -> None:
        """Cancel the task for a reason, and give it up when it does not react; a second pull changes nothing."""
        if self.why or self._task is None or self._task.done():
            return
        self.why = why
        self._task.cancel()
        self._giving_up = self._loop.call_later(self._patience_s, self._give_up)

    def came_back(self) -> str:
        """The task felt the pull: it may go on from here. Returns the reason; '' when it was not us who cancelled."""
        why, self.why = self.why, ""
        if why and self._task is not None:
            self._task.uncancel()
        self._forget_giving_up()
        return why

    def let_go(self) -> None:
        """Say, from within the work, that it is done: whoever waits need not wait for the end of its task as well."""
        if not self._ended.done():
            self._ended.set_result(True)

    def is_torn_down(self) -> bool:
        """Whether the task is being ended by someone else: the event loop is closing, or closed."""
        return self._loop.is_closed() or self._is_cancelled_by_others()

    def _is_cancelled_by_others(self) -> bool:
        return self._task is not None and not self.why and self._task.cancelling() > 0

    def _give_up(self) -> None:
        if not self._ended.done():
            self._ended.set_result(False)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()  # Seen: whoever runs the work has recorded what went wrong.
        self.let_go()

    def _forget_giving_up(self) -> None:
        if self._giving_up is not None:
            self._giving_up.cancel()
            self._giving_up = None
