"""Reading what a simulated user decided to say."""

from __future__ import annotations

import json
import re
from typing import Any

from viva.core.data import Data
from viva.core.errors import DriverError

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "message": {"type": "string"},
        "task": {"type": "integer"},
        "stop": {"type": "boolean"},
        "because": {"type": "string"},
    },
    "required": ["message", "task", "stop", "because"],
    "additionalProperties": False,
}

_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*?)\n?```\Z", re.DOTALL)


class Decision(Data, frozen=True):
    """What the simulated user says next, or why it stops."""

    message: str
    stop: bool = False
    because: str = ""
    task: int = 0


def read_decision(text: str) -> Decision:
    """Read a decision: the JSON object asked for, or plain words, which are the message itself."""
    text = text.strip()
    fenced = _FENCED.match(text)
    if fenced:
        text = fenced.group(1).strip()
    if not text.startswith(("{", "[")):
        return Decision(message=text)
    try:
        found = json.loads(text)
    except ValueError as error:
        raise DriverError("the simulated user's reply is broken JSON", kind="user_unreadable") from error
    if not isinstance(found, dict) or not isinstance(found.get("message"), str):
        raise DriverError("the simulated user's reply has no message", kind="user_unreadable")
    stop, task = found.get("stop", False), found.get("task", 0)
    if not isinstance(stop, bool):
        raise DriverError(f"the simulated user's stop is {stop!r}, neither true nor false", kind="user_unreadable")
    because = found.get("because")
    return Decision(
        message=found["message"].strip(),
        stop=stop,
        because=because if isinstance(because, str) else "",
        task=task if isinstance(task, int) and not isinstance(task, bool) else 0,
    )
