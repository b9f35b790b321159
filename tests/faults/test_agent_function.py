"""An agent in our own process that blocks, exits, leaks or meddles harms its own message only."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest
from subject_kit import opening

from viva.core.errors import SubjectError
from viva.core.evidence import Observation
from viva.core.transcript import Message
from viva.subjects.function import FunctionSubject


async def ask(target: Any, text: str = "hello", seconds: float = 5.0, data: Any = None) -> Any:
    subject = FunctionSubject.of(target)
    try:
        session = await subject.open(opening(seconds=seconds))
        try:
            return await session.send(Message(text=text, data=data))
        finally:
            await session.close()
    finally:
        await subject.close()


async def failure(target: Any, **more: Any) -> SubjectError:
    with pytest.raises(SubjectError) as caught:
        await ask(target, **more)
    return caught.value


def block(text: str) -> str:
    time.sleep(3)
    return text


async def block_the_loop(text: str) -> str:
    time.sleep(3)
    return text


async def never(text: str) -> str:
    await asyncio.Event().wait()
    return text


@pytest.mark.parametrize("agent", [block, block_the_loop, never])
async def test_an_agent_that_blocks_times_out_while_the_engine_goes_on(agent: Any) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.01)
            ticks += 1

    ticking = asyncio.create_task(tick())
    started = time.monotonic()
    error = await failure(agent, seconds=0.4)
    ticking.cancel()
    assert error.kind == "timed_out"
    assert not error.retryable
    assert time.monotonic() - started < 1.6
    assert ticks > 10


async def test_after_one_blocked_the_loop_the_next_session_gets_a_new_one() -> None:
    async def sometimes(text: str) -> str:
        if text == "block":
            time.sleep(3)
        return "fine"

    subject = FunctionSubject.of(sometimes)
    session = await subject.open(opening(seconds=0.3))
    with pytest.raises(SubjectError):
        await session.send(Message(text="block"))
    started = time.monotonic()
    assert (await (await subject.open(opening())).send(Message(text="go"))).text == "fine"
    assert time.monotonic() - started < 1.5
    await subject.close()


class OwnEnd(BaseException):
    """Not even an Exception."""


def raising(error: BaseException, *, later: bool) -> Any:
    def now(text: str) -> str:
        raise error

    async def on_the_loop(text: str) -> str:
        await asyncio.sleep(0)
        raise error

    return on_the_loop if later else now


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("no"), "raised"),
        (OwnEnd("no"), "raised"),
        (SystemExit(3), "exited"),
        (KeyboardInterrupt(), "exited"),
        (asyncio.CancelledError(), "cancelled"),
        (StopIteration(1), "raised"),
        (GeneratorExit(), "raised"),
    ],
)
async def test_whatever_an_agent_raises_is_its_own_failure(error: BaseException, kind: str, later: bool) -> None:
    caught = await failure(raising(error, later=later))
    assert (caught.kind, caught.retryable) == (kind, False)
    assert (await ask(lambda text: "next")).text == "next"


async def test_sys_exit_in_a_task_of_its_own_does_not_end_the_loop() -> None:
    async def exit_later() -> None:
        sys.exit(1)

    async def agent(text: str) -> str:
        task = asyncio.create_task(exit_later())
        await asyncio.sleep(0.05)
        task.done()
        return "still here"

    subject = FunctionSubject.of(agent)
    session = await subject.open(opening(seconds=2))
    assert (await session.send(Message(text="a"))).text == "still here"
    assert (await session.send(Message(text="b"))).text == "still here"
    await subject.close()
    gc.collect()


async def test_tasks_left_behind_are_cancelled_and_flagged() -> None:
    ended: list[str] = []

    async def linger() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    kept = []

    async def agent(text: str) -> str:
        kept.append(asyncio.create_task(linger()))
        await asyncio.sleep(0)
        return "done"

    reply = await ask(agent)
    assert (reply.flags, reply.metadata) == (("leaked_tasks",), {"leaked_tasks": 1})
    for _ in range(100):
        if ended:
            break
        await asyncio.sleep(0.01)
    assert ended == ["cancelled"]


async def test_an_agent_that_changes_its_input_changes_nothing_of_ours() -> None:
    data = {"items": [1, 2]}

    def meddle(input: Any, history: list[Any], case: dict[str, Any]) -> str:
        input["items"].clear()
        history.append("x")
        case["id"] = "changed"
        return "ok"

    subject = FunctionSubject.of(meddle)
    told = opening()
    session = await subject.open(told)
    await session.send(Message(text="a", data=data))
    await session.send(Message(text="a", data=data))
    assert data == {"items": [1, 2]}
    assert told.case.id == "france"
    await subject.close()


async def test_two_sessions_share_no_instance() -> None:
    class Counting:
        def __init__(self) -> None:
            self.count = 0

        def send(self, text: str) -> str:
            self.count += 1
            return str(self.count)

        def state(self) -> dict[str, int]:
            return {"count": self.count}

    subject = FunctionSubject.of(Counting)
    first, second = await subject.open(opening()), await subject.open(opening())
    assert [(await first.send(Message(text="a"))).text for _ in range(3)] == ["1", "2", "3"]
    assert (await second.send(Message(text="a"))).text == "1"
    assert await first.observe(Observation(key="state")) == {"count": 3}
    await subject.close()


async def test_all_calls_of_a_session_are_made_on_one_thread() -> None:
    class Threaded:
        def __init__(self) -> None:
            self.home = threading.get_ident()

        def send(self, text: str) -> str:
            return str(threading.get_ident() == self.home)

    subject = FunctionSubject.of(Threaded)
    sessions = [await subject.open(opening()) for _ in range(4)]
    replies = await asyncio.gather(*(s.send(Message(text="a")) for s in sessions for _ in range(5)))
    assert {reply.text for reply in replies} == {"True"}
    for session in sessions:
        await session.close()
    await subject.close()


@pytest.mark.parametrize("bad", [None, object(), {1, object()}, {"text": None}, {"text": 5}])
async def test_what_is_no_reply_is_named(bad: Any) -> None:
    assert (await failure(lambda text: bad)).kind in ("null_content", "wrong_shape")


async def test_threads_end_with_their_sessions() -> None:
    class Plain:
        def send(self, text: str) -> str:
            return text

    before = threading.active_count()
    for _ in range(20):
        await ask(Plain)
    for _ in range(100):
        if threading.active_count() <= before + 1:
            break
        await asyncio.sleep(0.01)
    assert threading.active_count() <= before + 1


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_hanging_agent_does_not_keep_the_process_alive(kind: str) -> None:
    script = f"""
    import asyncio, time
    from viva.core.case import Case
    from viva.core.errors import SubjectError
    from viva.core.limits import Limits
    from viva.core.transcript import Message
    from viva.ports.subject import Opening
    from viva.subjects.function import FunctionSubject

    {kind} hang(text):
        time.sleep(3600)

    async def main():
        subject = FunctionSubject.of(hang)
        session = await subject.open(Opening(run="r", trial="t", case=Case(id="c"), limits=Limits(turn_seconds=0.2)))
        try:
            await session.send(Message(text="hi"))
        except SubjectError as error:
            print(error.kind)
        await session.close()
        await subject.close()

    asyncio.run(main())
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=20, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "timed_out"), done.stderr
