"""A question is a conversation of length one: send the case's input, take one reply, stop."""

from __future__ import annotations

from typing import Any

from viva.core.data import Data, to_json
from viva.core.errors import DriverError
from viva.ports.driver import Conversation, Stop
from viva.ports.kit import Kit


class OnceSettings(Data, frozen=True):
    """There is nothing to set."""


class Once:
    """Sends the case's input: a text as it stands, anything else as data, with its JSON as text."""

    Settings = OnceSettings
    name = "once"
    version = "1"

    def __init__(self, settings: OnceSettings, kit: Kit) -> None:
        pass

    async def drive(self, conversation: Conversation) -> Stop:
        """Ask once."""
        given = conversation.case.input
        if given is None:
            raise DriverError(
                f"the case {conversation.case.id!r} has no input to send",
                kind="no_input",
                hint="give it an `input`, or choose another driver",
            )
        await conversation.say(*message(given))
        return Stop(because="one reply was asked for")


def message(given: Any) -> tuple[str, Any]:
    """What to send for an input: its text, and its data where it is more than a text."""
    return (given, None) if isinstance(given, str) else (to_json(given).decode(), given)
