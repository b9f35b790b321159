"""What an agent written in Python may return, and what becomes of it."""

from __future__ import annotations

from typing import Any

from viva.core.data import to_json, to_plain
from viva.core.errors import SubjectError
from viva.core.text import storable_data
from viva.core.transcript import Reply
from viva.subjects.reply_shape import ShapeError, events_of, text_of, tool_calls_of, usage_of

REPLY_KEYS = frozenset({"text", "data", "tool_calls", "events", "usage", "metadata", "agent_ms"})


def reply_of(value: Any) -> Reply:
    """A reply from a text, a mapping, plain data, or a Reply. Raises SubjectError for anything else."""
    if isinstance(value, str):
        return Reply(text=value) if value else Reply(text="", flags=("empty",))
    if isinstance(value, Reply):
        return value
    if value is None:
        raise SubjectError("the agent returned None", kind="null_content", hint="return a text, a dict or a Reply")
    plain = _plain(value)
    if isinstance(plain, dict) and "text" in plain:
        return _from_fields(plain)
    return Reply(text=to_json(plain).decode(), data=plain)


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):  # pydantic
        value = value.model_dump(mode="json")
    try:
        return storable_data(to_plain(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise SubjectError(
            f"the agent returned a {type(value).__name__} that is no plain data: {error}",
            kind="wrong_shape",
            hint="return a text, a dict or a Reply",
        ) from error


def _from_fields(fields: dict[str, Any]) -> Reply:
    calls = tool_calls_of(fields.get("tool_calls"))
    try:
        text = text_of(fields["text"])
    except ShapeError as error:
        if error.kind != "null_content" or not calls:
            raise error.blame() from error
        text = ""
    more = fields.keys() - REPLY_KEYS
    data = fields.get("data", fields if more else None)
    agent_ms = fields.get("agent_ms")
    metadata = fields.get("metadata")
    return Reply(
        text=text,
        data=data,
        tool_calls=calls,
        events=events_of(fields.get("events")),
        usage=usage_of(fields.get("usage")),
        agent_ms=float(agent_ms) if isinstance(agent_ms, int | float) else None,
        metadata=metadata if isinstance(metadata, dict) else {},
        flags=() if text else ("empty",),
    )
