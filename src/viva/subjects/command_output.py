"""What a command-line agent printed, as a reply."""

from __future__ import annotations

from typing import Any, Literal

from viva.core.data import Data
from viva.core.errors import SubjectError
from viva.core.transcript import Event, Reply, ToolCall
from viva.core.usage import Usage
from viva.subjects.json_body import MISSING, JsonPath, read_json
from viva.subjects.reply_shape import ShapeError, find_text, text_at, tool_calls_of, usage_of

OutputFormat = Literal["text", "json", "stream-json"]
WORDS = (JsonPath("result"), JsonPath("message"))
"""Where command-line agents put their last word, before the usual places are tried."""


class Printed(Data, frozen=True):
    """A reply, and the session the agent says it belongs to."""

    reply: Reply
    session: str = ""


def read_output(out: bytes, form: OutputFormat, path: str = "") -> Printed:
    """Read standard output. Raises SubjectError for what holds no reply."""
    if not out.strip():
        raise SubjectError("the program printed nothing", kind="empty_output")
    if form == "text":
        return Printed(reply=Reply(text=out.decode("utf-8", "backslashreplace").rstrip("\r\n")))
    values, strangers = _json_values(out, whole_first=form == "json")
    if not values:
        shown = out[:2048].decode("utf-8", "backslashreplace")
        raise SubjectError("the program printed no JSON", kind="not_json", body=shown)
    last = _last_word(values)
    if isinstance(last, dict) and last.get("is_error") is True:
        raise SubjectError(f"the agent reports an error: {_error_text(last)[:500]}", kind="agent_error")
    return Printed(reply=_reply(values, last, path, strangers, form), session=_session(values))


def _json_values(out: bytes, *, whole_first: bool) -> tuple[list[Any], int]:
    if whole_first:
        try:
            return [read_json(out)], 0
        except ValueError:
            pass
    values: list[Any] = []
    strangers = 0
    for line in out.splitlines():
        if not line.strip():
            continue
        try:
            values.append(read_json(line))
        except ValueError:
            strangers += 1
    return values, strangers


def _last_word(values: list[Any]) -> Any:
    """The last object that holds a result, else the last one that is a message, else the last value."""
    for value in reversed(values):
        if isinstance(value, dict) and ("result" in value or value.get("type") == "result"):
            return value
    for value in reversed(values):
        if isinstance(value, dict) and "message" in value and value.get("type") != "user":
            return value
    return values[-1]


def _reply(values: list[Any], last: Any, path: str, strangers: int, form: OutputFormat) -> Reply:
    calls = tuple(call for value in values for call in _tool_uses(value))
    try:
        text = _text(last, path)
    except ShapeError as error:
        raise error.blame() from error
    flags = (("empty",) if not text else ()) + (("non_json_lines",) if strangers else ())
    return Reply(
        text=text,
        data=last if form == "json" and isinstance(last, dict | list) else None,
        tool_calls=_with_results(calls, values),
        events=tuple(_event(value) for value in values if value is not last) if form == "stream-json" else (),
        usage=_usage(last),
        flags=flags,
    )


def _text(last: Any, path: str) -> str:
    if path:
        return text_at(last, JsonPath(path))
    for place in WORDS:
        if place.find(last) is not MISSING:
            return text_at(last, place)
    return find_text(last)


def _tool_uses(value: Any) -> tuple[ToolCall, ...]:
    parts = JsonPath("message.content").find(value)
    if isinstance(parts, list):
        return tool_calls_of([part for part in parts if isinstance(part, dict) and part.get("type") == "tool_use"])
    return tool_calls_of(value.get("tool_calls")) if isinstance(value, dict) else ()


def _with_results(calls: tuple[ToolCall, ...], values: list[Any]) -> tuple[ToolCall, ...]:
    results: dict[str, Any] = {}
    for value in values:
        parts = JsonPath("message.content").find(value)
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "tool_result":
                results[str(part.get("tool_use_id"))] = part.get("content")
    return tuple(
        ToolCall(name=call.name, arguments=call.arguments, id=call.id, result=results.get(call.id, call.result))
        for call in calls
    )


def _event(value: Any) -> Event:
    if not isinstance(value, dict):
        return Event(kind="unknown", data={"value": value})
    kind = value.get("type")
    return Event(kind=kind if isinstance(kind, str) else "unknown", data=value)


def _usage(last: Any) -> Usage | None:
    if not isinstance(last, dict):
        return None
    inner = last.get("usage")
    cost = {"total_cost_usd": last["total_cost_usd"]} if "total_cost_usd" in last else {}
    return usage_of({**inner, **cost} if isinstance(inner, dict) else cost)


def _session(values: list[Any]) -> str:
    for value in reversed(values):
        if isinstance(value, dict):
            found = value.get("session_id") or value.get("sessionId")
            if isinstance(found, str):
                return found
    return ""


def _error_text(last: dict[str, Any]) -> str:
    return str(last.get("result") or last.get("error") or last.get("subtype") or "no reason given")
