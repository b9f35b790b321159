"""Seeds: what an agent should already know when the conversation begins."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from viva.core.data import Data, replace
from viva.core.errors import StageError, SubjectError
from viva.core.transcript import Message, Role
from viva.ports.kit import Kit
from viva.ports.subject import Session
from viva.stage.ground import Ground

T = TypeVar("T")


class TextSettings(Data, frozen=True):
    """A document to remember."""

    text: str
    if_unsupported: Literal["error", "skip"] = "error"


class TextSeed:
    """Hands a text to the agent's ingest call."""

    Settings = TextSettings
    shorthand = "text"

    def __init__(self, settings: TextSettings, kit: Kit) -> None:
        self._settings = settings
        self._kit = kit

    async def plant(self, ground: Ground) -> dict[str, Any]:
        """Ingest the text in a session of its own."""
        session = await _open(ground)
        try:
            ingest = getattr(session, "ingest", None)
            if ingest is None:
                return self._unsupported()
            await _patiently(lambda: ingest(self._settings.text), ground, self._kit)
            return {"kind": "text", "characters": len(self._settings.text)}
        except SubjectError as error:
            raise StageError(f"seeding a text failed: {error}", kind="seed_failed") from error
        finally:
            await session.close()

    def _unsupported(self) -> dict[str, Any]:
        if self._settings.if_unsupported == "skip":
            return {"kind": "text", "skipped": "the subject has no ingest call"}
        raise StageError(
            "this subject cannot take a text seed: it has no ingest call",
            kind="seed_unsupported",
            hint="configure `ingest` on the subject, or set `if_unsupported: skip`",
        )


class Line(Data, frozen=True):
    """One line of an earlier conversation."""

    content: str
    role: Role = "user"


class ConversationSettings(Data, frozen=True):
    """An earlier conversation, held again."""

    lines: tuple[Line, ...]


class ConversationSeed:
    """Replays the user's lines live, in a session of their own; the agent gives its own answers."""

    Settings = ConversationSettings
    shorthand = "lines"

    def __init__(self, settings: ConversationSettings, kit: Kit) -> None:
        self._lines = [line for line in settings.lines if line.role == "user"]
        self._kit = kit

    async def plant(self, ground: Ground) -> dict[str, Any]:
        """Hold the conversation and keep the replies."""
        session = await _open(ground)
        replies: list[str] = []
        try:
            for line in self._lines:
                message = Message(text=line.content)
                reply = await _patiently(lambda said=message: session.send(said), ground, self._kit)  # type: ignore[misc]
                replies.append(reply.text)
        except SubjectError as error:
            raise StageError(
                f"seeding stopped at line {len(replies) + 1} of {len(self._lines)}: {error}", kind="seed_failed"
            ) from error
        finally:
            await session.close()
        return {"kind": "conversation", "lines": len(self._lines), "replies": replies}


async def _open(ground: Ground) -> Session:
    """A session that is no trial's, and says so."""
    try:
        return await ground.open_session(replace(ground.opening, purpose="seed"))
    except SubjectError as error:
        raise StageError(f"no session to seed: {error}", kind=error.kind) from error


async def _patiently(act: Callable[[], Awaitable[T]], ground: Ground, kit: Kit) -> T:
    """Try again as the case's `retry` says, where that is safe."""
    retry = ground.trial.case.retry
    failed = 0
    while True:
        try:
            return await act()
        except SubjectError as error:
            failed += 1
            if not error.retryable or failed >= retry.attempts:
                raise
            await kit.clock.sleep(max(retry.wait_s(failed), error.wait_s or 0.0))
