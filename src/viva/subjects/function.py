"""An agent that is Python code: a function, a coroutine function, or a class with one instance per session.

Foreign code never runs on the engine's event loop: plain functions run in daemon threads, coroutines on an event
loop of their own. What they raise, SystemExit included, is a failure of the agent. Reference:
docs/reference/subjects.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from viva.core.data import Data, replace
from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Observation
from viva.core.text import storable, storable_data
from viva.core.transcript import Message, Reply
from viva.ports.kit import Kit
from viva.ports.subject import Opening
from viva.subjects.calling import Calling, CallState, copy, is_async, method_of
from viva.subjects.returned import reply_of
from viva.subjects.worker import ForeignError, Loop, Tasks, Thread, Threads

CLOSE_S = 5.0


class FunctionSettings(Data, frozen=True, forbid_unknown_fields=True):
    """An importable agent; its module must be allowed by the user."""

    target: str
    """`module:attr`."""
    arguments: dict[str, Any] = {}
    """Keyword arguments of the class, or of the function beyond those viva gives."""


class FunctionSubject:
    """A callable, examined in this process."""

    Settings = FunctionSettings
    name = "function"
    version = "1"

    def __init__(self, settings: FunctionSettings, kit: Kit) -> None:
        self._prepare(kit.load(settings.target), settings.target, settings.arguments)

    @classmethod
    def of(cls, target: Any, **arguments: Any) -> FunctionSubject:
        """A subject from a Python object: a function, a class, or an object with `send` or `__call__`."""
        subject = cls.__new__(cls)
        subject._prepare(target, getattr(target, "__qualname__", type(target).__name__), arguments)
        return subject

    def _prepare(self, target: Any, label: str, arguments: dict[str, Any]) -> None:
        if not callable(target) and not hasattr(target, "send"):
            raise SuiteError(f"{label} is no agent: it cannot be called and has no send()")
        method, skip_self = method_of(target, label)
        self.target = target
        self.arguments = arguments
        self.label = label
        self.per_session = inspect.isclass(target)
        self.extra = {} if self.per_session else arguments
        self.calling = Calling(method, label, skip_self=skip_self, given=self.extra)
        self.send_is_async = is_async(method)
        self.threads = Threads()
        self._loop: Loop | None = None

    @property
    def endpoint(self) -> str:
        """The function's own name."""
        return f"function:{self.label}"

    async def open(self, opening: Opening) -> FunctionSession:
        """Begin a session; a class gets an instance of its own."""
        session = FunctionSession(self, opening)
        await session.begin()
        return session

    async def close(self) -> None:
        """End the workers; those that hang are left behind."""
        self.threads.close()
        if self._loop is not None:
            self._loop.close()
            self._loop = None

    def loop(self) -> Loop:
        """The agents' event loop, started when first needed."""
        if self._loop is None:
            self._loop = Loop()
        return self._loop

    async def replace_if_stalled(self, loop: Loop) -> None:
        """Leave a blocked loop to whoever blocks it, and give later sessions a new one."""
        if loop is self._loop and await loop.is_stalled() and loop is self._loop:
            self._loop = None


class FunctionSession:
    """One conversation with Python code."""

    def __init__(self, subject: FunctionSubject, opening: Opening) -> None:
        self._subject = subject
        self._state = CallState(opening, uuid.uuid4().hex)
        self._deadline_s = opening.limits.turn_seconds
        self._agent: Any = subject.target
        self._call: Any = subject.target.send if hasattr(subject.target, "send") else subject.target
        self._thread: Thread | None = None
        self._loop: Loop | None = None
        self._tasks = Tasks()
        self._left = 0
        self._closed = False

    @property
    def id(self) -> str:
        """The id given to functions that ask for `session_id`."""
        return self._state.session_id

    async def begin(self) -> None:
        """Make this session's instance, where the agent is a class, there where its calls will run."""
        subject = self._subject
        if not subject.per_session:
            return

        def make() -> Any:
            return subject.target(**copy(subject.arguments))

        async def make_on_loop() -> Any:
            return make()

        self._agent = await self._run(make_on_loop if subject.send_is_async else make, is_async=subject.send_is_async)
        self._call = getattr(self._agent, "send", self._agent)

    async def send(self, message: Message) -> Reply:
        """Call the agent with one message."""
        subject, state = self._subject, self._state
        state.message = message
        call = subject.calling.bind(self._call, state, subject.extra)
        reply = reply_of(await self._run(call, is_async=subject.send_is_async))
        state.history += [("user", message.text), ("assistant", reply.text)]
        return self._flagged(reply) if self._left else reply

    async def observe(self, observation: Observation) -> Any:
        """Ask the agent for its state: `observe(key)`, or `state` as a method or an attribute."""
        if hasattr(self._agent, "observe"):
            look = self._agent.observe
            seen = await self._run(lambda: look(observation.key), is_async=is_async(look))
        elif hasattr(self._agent, "state"):
            found = self._agent.state
            seen = await self._run(found, is_async=is_async(found)) if callable(found) else found
        else:
            hint = "give the agent's class a method state()"
            raise SubjectError("this agent's state cannot be seen", kind="not_observable", hint=hint)
        try:
            return storable_data(copy(seen))
        except (TypeError, ValueError) as error:
            raise SubjectError(f"the agent's state is no plain data: {error}", kind="wrong_shape") from error

    @property
    def ingest(self) -> Callable[[str], Awaitable[None]] | None:
        """Hands the agent a text to remember; None where it has no `ingest`."""
        take = getattr(self._agent, "ingest", None)
        return None if take is None else partial(self._ingest, take)

    async def _ingest(self, take: Callable[[str], Any], text: str) -> None:
        await self._run(lambda: take(text), is_async=is_async(take))

    async def close(self) -> None:
        """Close the instance, cancel what it left running, and let go of its thread."""
        if self._closed:
            return
        self._closed = True
        close = getattr(self._agent, "close", None) if self._subject.per_session else None
        try:
            if callable(close):
                self._deadline_s = min(self._deadline_s, CLOSE_S)
                await self._run(close, is_async=is_async(close))
        finally:
            if self._loop is not None and self._tasks:
                self._loop.soon(self._tasks.cancel)
            if self._thread is not None:
                self._thread.stop()

    async def _run(self, call: Callable[[], Any], *, is_async: bool) -> Any:
        try:
            async with asyncio.timeout(self._deadline_s):
                return await (self._on_loop(call) if is_async else self._on_thread(call))
        except TimeoutError:
            raise SubjectError(f"no reply within {self._deadline_s:g} s", kind="timed_out") from None
        except ForeignError as error:
            raise _blame(error.cause) from error.cause

    async def _on_thread(self, call: Callable[[], Any]) -> Any:
        if self._subject.per_session and self._thread is None:
            self._thread = self._subject.threads.pin()
        result = await (self._thread or self._subject.threads).run(call)
        if inspect.iscoroutine(result):  # A plain function that returned a coroutine after all.
            return await self._on_loop(lambda: result)
        return result

    async def _on_loop(self, call: Callable[[], Any]) -> Any:
        loop = self._loop if self._loop is not None and self._subject.per_session else self._subject.loop()
        self._loop = loop
        try:
            result, self._left = await loop.run(call, self._tasks, sweep=not self._subject.per_session)
        except asyncio.CancelledError:
            with contextlib.suppress(asyncio.CancelledError):
                await self._subject.replace_if_stalled(loop)
            raise
        return result

    def _flagged(self, reply: Reply) -> Reply:
        flag = "background_tasks" if self._subject.per_session else "leaked_tasks"
        return replace(reply, flags=(*reply.flags, flag), metadata={**reply.metadata, flag: self._left})


def _blame(cause: BaseException) -> SubjectError:
    if isinstance(cause, SubjectError):
        return cause
    if isinstance(cause, asyncio.CancelledError):
        return SubjectError("the agent cancelled itself", kind="cancelled")
    kind = "exited" if isinstance(cause, SystemExit | KeyboardInterrupt) else "raised"
    return SubjectError(storable(f"the agent raised {type(cause).__name__}: {cause}")[:2000], kind=kind)
