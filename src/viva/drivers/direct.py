"""Puts each task's text to the agent as it stands: no model, no greeting, no sign-off."""

from __future__ import annotations

from viva.core.data import Data
from viva.core.errors import DriverError
from viva.ports.driver import Conversation, Stop
from viva.ports.kit import Kit


class DirectSettings(Data, frozen=True):
    """Direct mode has nothing to set."""


class Direct:
    """One turn per task, in order."""

    Settings = DirectSettings
    name = "direct"
    version = "1"

    def __init__(self, settings: DirectSettings, kit: Kit) -> None:
        pass

    async def drive(self, conversation: Conversation) -> Stop:
        """Send every task verbatim."""
        tasks = conversation.case.tasks
        if not tasks:
            raise DriverError("the case has no tasks to put", kind="no_tasks", hint="give it `tasks`, or use `once`")
        for number, task in enumerate(tasks, start=1):
            await conversation.say(task.text, metadata={"task": number})
        return Stop(because="every task was put")
