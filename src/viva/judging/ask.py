"""One question to a model, with one chance to repair the reply."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from viva.core.data import replace
from viva.core.errors import JudgeError, ModelError
from viva.core.faultpoint import fault
from viva.core.usage import NO_USAGE, Usage
from viva.ports.model import ChatMessage, Model, ModelReply, ModelRequest

T = TypeVar("T")
Read = Callable[[ModelReply], T]


@dataclass(frozen=True, slots=True)
class Asked(Generic[T]):
    """What came of a question: what was read, or the error; and what it cost either way."""

    found: T | None
    error: JudgeError | None = None
    usage: Usage = NO_USAGE
    flags: tuple[str, ...] = ()


async def ask(model: Model, request: ModelRequest, read: Read[T], repair: Callable[[str], str]) -> Asked[T]:
    """Ask, read strictly, and ask once more when the reply cannot be read.

    A provider that fails is `judge_unavailable`; one that would fail for every other call too (a wrong key, an
    exhausted quota) is not an answer about this trial, and its ModelError goes on to stop the run.
    """
    first, reply = await _try(model, request, read)
    if first.error is None or reply is None:
        return first
    second, _ = await _try(model, _again(request, reply, first.error, repair), read)
    return Asked(second.found, second.error, first.usage + second.usage, ("repaired",))


async def together(work: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines at once; when one raises, the others are cancelled before it is passed on."""
    if len(work) == 1:
        return [await work[0]]
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


async def _try(model: Model, request: ModelRequest, read: Read[T]) -> tuple[Asked[T], ModelReply | None]:
    try:
        reply = await _complete(model, request)
    except JudgeError as error:
        return Asked(None, error), None
    flags = ("cached",) if reply.cached else ()
    try:
        return Asked(read(reply), None, reply.usage, flags), reply
    except JudgeError as error:
        return Asked(None, error, reply.usage, flags), reply


async def _complete(model: Model, request: ModelRequest) -> ModelReply:
    fault("judging.call")
    try:
        return await model.complete(request)
    except ModelError as error:
        if error.fatal:
            raise
        raise JudgeError(f"{error.kind}: {error}", kind="judge_unavailable") from error


def _again(request: ModelRequest, reply: ModelReply, problem: JudgeError, repair: Callable[[str], str]) -> ModelRequest:
    if problem.kind == "judge_refused":
        # There is nothing to correct: the same question once more, and not from the cache.
        return replace(request, cache=False)
    said = (
        ChatMessage(role="assistant", text=reply.text[:20_000]),
        ChatMessage(role="user", text=repair(problem.message)),
    )
    # Another conversation: the key of the first question does not name it.
    return replace(request, messages=request.messages + said, key="")
