"""Seeds: what an agent should already know when the conversation begins."""

from __future__ import annotations

from typing import Any, Literal

from viva.core.data import Data
from viva.core.errors import StageError, SubjectError
from viva.core.transcript import Message, Role
from viva.ports.kit import Kit
from viva.stage.ground import Ground


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

    async def plant(self, ground: Ground) -> dict[str, Any]:
        """Ingest the text in a session of its own."""
        session = await ground.open_session(ground.opening)
        try:
            ingest = getattr(session, "ingest", None)
            if ingest is None:
                return self._unsupported()
            await ingest(self._settings.text)
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

    async def plant(self, ground: Ground) -> dict[str, Any]:
        """Hold the conversation and keep the replies."""
        session = await ground.open_session(ground.opening)
        replies: list[str] = []
        try:
            for line in self._lines:
                reply = await session.send(Message(text=line.content))
                replies.append(reply.text)
        except SubjectError as error:
            raise StageError(
                f"seeding stopped at line {len(replies) + 1} of {len(self._lines)}: {error}", kind="seed_failed"
            ) from error
        finally:
            await session.close()
        return {"kind": "conversation", "lines": len(self._lines), "replies": replies}
