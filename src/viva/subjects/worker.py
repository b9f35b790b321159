"""Threads and an event loop apart from the engine's, for foreign code that may block, exit or never return.

All threads are daemons: code that never returns is left behind, and does not keep the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any

Job = Callable[[], None]

STALLED_S = 0.25
"""A loop that does not react for so long after one of its calls ran out of time is taken for blocked."""


class ForeignError(Exception):
    """What foreign code raised, whatever its type: SystemExit of an agent must not end the run."""

    def __init__(self, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause


class Answer:
    """Carries a result from a worker to whoever waits for it on the engine's loop."""

    __slots__ = ("_future", "_loop")

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._future: asyncio.Future[Any] = self._loop.create_future()

    def give(self, result: Any, error: BaseException | None) -> None:
        """Hand over a result or an error, from any thread; nobody may be waiting any more."""
        with contextlib.suppress(RuntimeError):  # The engine's loop is closed: the run is over.
            self._loop.call_soon_threadsafe(self._settle, result, error)

    async def wait(self) -> Any:
        """Wait for the result."""
        return await self._future

    def _settle(self, result: Any, error: BaseException | None) -> None:
        if self._future.done():
            return
        if error is None:
            self._future.set_result(result)
        else:
            self._future.set_exception(ForeignError(error))


class Thread:
    """One worker thread; does one job after the other."""

    def __init__(self, idle: list[Thread]) -> None:
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._idle = idle
        self.pinned = False
        threading.Thread(target=self._work, name="viva-worker", daemon=True).start()

    async def run(self, call: Callable[[], Any]) -> Any:
        """Run a plain call on this thread."""
        answer = Answer()
        self._jobs.put(lambda: self._do(call, answer))
        return await answer.wait()

    def stop(self) -> None:
        """End the thread when it has done its last job."""
        self._jobs.put(None)

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job
            if not self.pinned:
                self._idle.append(self)

    def _do(self, call: Callable[[], Any], answer: Answer) -> None:
        try:
            result = call()
        except BaseException as error:
            answer.give(None, error)
        else:
            answer.give(result, None)


class Threads:
    """Worker threads on demand: one that hangs is not waited for, the next call gets another."""

    def __init__(self) -> None:
        self._idle: list[Thread] = []

    async def run(self, call: Callable[[], Any]) -> Any:
        """Run a plain call on any idle thread."""
        thread = self._idle.pop() if self._idle else Thread(self._idle)
        return await thread.run(call)

    def pin(self) -> Thread:
        """A thread for one session alone: what a class keeps per thread stays valid between its calls."""
        thread = self._idle.pop() if self._idle else Thread(self._idle)
        thread.pinned = True
        return thread

    def close(self) -> None:
        """End idle threads."""
        while self._idle:
            self._idle.pop().stop()


_owner: ContextVar[Tasks | None] = ContextVar("viva_task_owner", default=None)


class Tasks:
    """The tasks that one session's code started and that still run."""

    def __init__(self) -> None:
        self._running: set[asyncio.Task[Any]] = set()

    def add(self, task: asyncio.Task[Any]) -> None:
        """Remember a task while it runs."""
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def __len__(self) -> int:
        return len(self._running)

    def cancel(self) -> None:
        """Cancel what still runs."""
        for task in list(self._running):
            task.cancel()


class Loop:
    """An event loop in a thread of its own, where an agent's coroutines run."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.set_task_factory(_start_owned)
        self._ended = False
        threading.Thread(target=self._work, name="viva-agent-loop", daemon=True).start()

    async def run(self, call: Callable[[], Coroutine[Any, Any, Any]], tasks: Tasks, *, sweep: bool = False) -> Any:
        """Run a coroutine there; with `sweep`, tasks it leaves behind are cancelled when it ends."""
        answer = Answer()
        started: list[asyncio.Task[None]] = []
        self._loop.call_soon_threadsafe(lambda: started.append(self._begin(call, answer, tasks, sweep)))
        try:
            return await answer.wait()
        except asyncio.CancelledError:
            self.cancel(started)
            raise

    def cancel(self, started: list[asyncio.Task[None]]) -> None:
        """Cancel a call, from the engine's side."""
        self.soon(lambda: [task.cancel() for task in started])

    def soon(self, job: Callable[[], Any]) -> None:
        """Do something on the loop, if it still runs."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(job)

    async def is_stalled(self) -> bool:
        """Whether the loop does not react: some coroutine blocks it."""
        answer = Answer()
        self.soon(lambda: answer.give(None, None))
        try:
            async with asyncio.timeout(STALLED_S):
                await answer.wait()
        except TimeoutError:
            return True
        return False

    def close(self) -> None:
        """Cancel everything and end the loop, when it reacts."""
        self._ended = True
        self.soon(self._loop.stop)

    def _begin(
        self, call: Callable[[], Coroutine[Any, Any, Any]], answer: Answer, tasks: Tasks, sweep: bool
    ) -> asyncio.Task[None]:
        return asyncio.Task(_guard(call, answer, tasks, sweep), loop=self._loop)

    def _work(self) -> None:
        asyncio.set_event_loop(self._loop)
        while not self._ended:
            # A task an agent started can throw SystemExit through the loop: the loop goes on.
            with contextlib.suppress(BaseException):
                self._loop.run_forever()
        _drain(self._loop)
        self._loop.close()


async def _guard(call: Callable[[], Coroutine[Any, Any, Any]], answer: Answer, tasks: Tasks, sweep: bool) -> None:
    _owner.set(tasks)
    try:
        result = await call()
    except BaseException as error:
        answer.give(None, error)
    else:
        answer.give((result, len(tasks)), None)
    if sweep and tasks:
        tasks.cancel()


def _start_owned(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
    task: asyncio.Task[Any] = asyncio.Task(coroutine, loop=loop, **options)
    tasks = _owner.get()
    if tasks is not None:
        tasks.add(task)
    return task


def _drain(loop: asyncio.AbstractEventLoop) -> None:
    """Let cancelled tasks end, so that none is destroyed while pending."""
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    with contextlib.suppress(BaseException):
        loop.run_until_complete(asyncio.wait_for(asyncio.gather(*left, return_exceptions=True), 1.0))
