"""The shapes agents put their words, tool calls and usage in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.core.errors import SubjectError
from viva.core.transcript import Event, ToolCall
from viva.core.usage import Usage
from viva.subjects.json_body import MISSING, JsonPath, read_json

DEEPEST = 4

TEXT_PATHS = tuple(
    JsonPath(path)
    for path in (
        "text",
        "message.content",
        "choices.0.message.content",
        "content",
        "message",
        "reply",
        "response",
        "answer",
        "output_text",
        "output",
        "result",
    )
)
"""Where words are looked for when the suite does not say."""

DELTA_PATHS = tuple(JsonPath(path) for path in ("delta", "choices.0.delta.content", "delta.text", "text", "content"))
"""Where a streamed piece is looked for when the suite does not say."""


class ShapeError(ValueError):
    """The agent's JSON is not shaped like a reply; `kind` names how."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind

    def blame(self) -> SubjectError:
        """The same as the agent's failure."""
        return SubjectError(str(self), kind=self.kind)


def find_text(body: Any) -> str:
    """The agent's words in a JSON body whose layout nobody described."""
    if isinstance(body, str):
        return body
    nothing: ShapeError | None = None
    for path in TEXT_PATHS:
        value = path.find(body)
        if value is MISSING:
            continue
        try:
            return text_of(value)
        except ShapeError as error:
            nothing = nothing or error
    if nothing is not None:
        raise nothing
    raise ShapeError("missing_field", f"there is no text in the reply: it has {describe(body)}")


def text_at(body: Any, path: JsonPath) -> str:
    """The agent's words at a place the suite names."""
    value = path.find(body)
    if value is MISSING:
        raise ShapeError("missing_field", f"there is no {path.text!r} in the reply: it has {describe(body)}")
    return text_of(value)


def text_of(value: Any, depth: int = 0) -> str:
    """Words from a text, a list of parts, or an object that holds either."""
    if isinstance(value, str):
        return value
    if value is None:
        raise ShapeError("null_content", "the text of the reply is null")
    if isinstance(value, list) and value and depth < DEEPEST:
        return "".join(_texts_of_parts(value, depth))
    if isinstance(value, dict) and depth < DEEPEST:
        for key in ("text", "content", "parts", "value"):
            if key in value:
                return text_of(value[key], depth + 1)
    raise ShapeError("wrong_shape", f"the text of the reply is {describe(value)}")


def _texts_of_parts(parts: list[Any], depth: int) -> list[str]:
    texts = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(part, dict) and ("text" in part or "content" in part):
            texts.append(text_of(part, depth + 1))
    if not texts:
        raise ShapeError("wrong_shape", "none of the parts of the reply holds text")
    return texts


def describe(value: Any) -> str:
    """What a value is, in a few words."""
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a text"
        case list():
            return f"a list of {len(value)}"
        case dict():
            keys = ", ".join(repr(str(key)[:40]) for key in list(value)[:8])
            return f"the fields {keys}" if keys else "an object without fields"
        case _:
            return f"a {type(value).__name__}"


def tool_calls_of(value: Any) -> tuple[ToolCall, ...]:
    """Tool calls in the shapes common APIs give them; entries that name no tool are left out."""
    entries = value if isinstance(value, list) else [value] if isinstance(value, dict) else []
    calls = (_tool_call(entry) for entry in entries if isinstance(entry, dict))
    return tuple(call for call in calls if call is not None)


def _tool_call(entry: dict[str, Any]) -> ToolCall | None:
    inner = entry["function"] if isinstance(entry.get("function"), dict) else entry
    name = _first(inner, "name", "tool", "tool_name", "toolName") or entry.get("function")
    if not isinstance(name, str) or not name:
        return None
    arguments = _first(inner, "arguments", "args", "input", "parameters")
    result = _first(entry, "result", "output")
    return ToolCall(name=name, arguments=_arguments(arguments), result=result, id=str(entry.get("id") or ""))


def _arguments(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = read_json(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            return {"": value}
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"": value}


def _first(entry: Mapping[str, Any], *keys: str) -> Any:
    return next((entry[key] for key in keys if entry.get(key) is not None), None)


def usage_of(value: Any) -> Usage | None:
    """Tokens and money as common APIs report them; None where there is nothing to count."""
    if not isinstance(value, dict):
        return None
    cost = _first(value, "cost_usd", "total_cost_usd", "cost")
    usage = Usage(
        calls=1,
        input_tokens=_count(_first(value, "input_tokens", "prompt_tokens", "inputTokens", "promptTokens")),
        output_tokens=_count(_first(value, "output_tokens", "completion_tokens", "outputTokens", "completionTokens")),
        cached_tokens=_count(_first(value, "cached_tokens", "cache_read_input_tokens")),
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) and cost >= 0 else None,
    )
    return usage if usage.tokens or usage.cost_usd is not None else None


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0


def events_of(value: Any) -> tuple[Event, ...]:
    """Events as the agent reports them, kept raw and named by their own `kind` or `type`."""
    if not isinstance(value, list):
        return ()
    return tuple(_event(entry) for entry in value)


def _event(entry: Any) -> Event:
    if not isinstance(entry, dict):
        return Event(kind="unknown", data={"value": entry})
    kind = _first(entry, "kind", "type", "event")
    return Event(kind=kind if isinstance(kind, str) else "unknown", data=entry)
