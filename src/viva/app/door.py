"""The one thin door from plain Python into the event loop, also from inside a running one (a notebook)."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from viva.engine.stop import Stopper

T = TypeVar("T")

LEFTOVERS_S = 1.0


def run_blocking(work: Callable[[], Coroutine[Any, Any, T]], stopper: Stopper | None = None) -> T:
    """Run async work to its end and return its result; code that ignores cancellation does not keep us."""
    return _run_in_thread(work, stopper) if _is_in_loop() else _run_here(work)


def _is_in_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _run_here(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(work())
    finally:
        try:
            _cancel_leftovers(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _cancel_leftovers(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel what still runs. asyncio.run would wait for it without end; an abandoned agent may never listen."""
    leftovers = asyncio.all_tasks(loop)
    if not leftovers:
        return
    for task in leftovers:
        task.cancel()
    loop.run_until_complete(asyncio.wait(leftovers, timeout=LEFTOVERS_S))
    for task in leftovers:
        if not task.done():
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # Named in the run's result already.


def _run_in_thread(work: Callable[[], Coroutine[Any, Any, T]], stopper: Stopper | None) -> T:
    outcome: list[T] = []
    failure: list[BaseException] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def body() -> T:
        loops.append(asyncio.get_running_loop())
        return await work()

    def target() -> None:
        try:
            outcome.append(_run_here(body))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target, name="viva-run", daemon=True)
    thread.start()
    while thread.is_alive():
        try:
            thread.join(0.2)
        except KeyboardInterrupt:  # The interrupt button of a notebook.
            if stopper is None or not loops:
                raise
            loops[0].call_soon_threadsafe(stopper.ask, 2)
    if failure:
        raise failure[0]
    return outcome[0]
