"""From an agent's answer over HTTP to a reply."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from viva.core.data import to_json
from viva.core.errors import SubjectError
from viva.core.transcript import Reply
from viva.core.usage import Usage
from viva.subjects.exchange import body_of, shape_failure
from viva.subjects.http_settings import ResponseMapping, StreamMapping
from viva.subjects.json_body import MISSING, JsonPath, read_json, readable
from viva.subjects.reply_shape import (
    DELTA_PATHS,
    ShapeError,
    events_of,
    find_text,
    text_at,
    text_of,
    tool_calls_of,
    usage_of,
)
from viva.wire.client import WireStream
from viva.wire.message import WireResponse

RAW_KEPT = 20_000
_DURATION = re.compile(r"dur=([0-9.]{1,15})")


class ReplyReader(Protocol):
    """Makes a reply of a response."""

    def read(self, response: WireResponse) -> Reply:
        """Read one response. Raises SubjectError."""
        ...


class MappedReply:
    """Reads replies by the suite's mapping."""

    def __init__(self, mapping: ResponseMapping) -> None:
        self._form = mapping.format
        self._has_text = mapping.text is not None
        self._text = None if mapping.text in (None, "auto") else JsonPath(mapping.text or "")
        self._data = JsonPath(mapping.data) if mapping.data else None
        self._tool_calls = JsonPath(mapping.tool_calls) if mapping.tool_calls else None
        self._events = JsonPath(mapping.events) if mapping.events else None
        self._usage = JsonPath(mapping.usage) if mapping.usage else None
        self._agent_ms = JsonPath(mapping.agent_ms) if mapping.agent_ms else None

    def read(self, response: WireResponse) -> Reply:
        """Read one response. Raises SubjectError for what is no reply."""
        body = body_of(response, "reading the reply", self._form)
        agent_ms = self._read_agent_ms(body, response.headers)
        if self._form == "text":
            return Reply(text=body, agent_ms=agent_ms, flags=() if body else ("empty",))
        calls = tool_calls_of(self._tool_calls.find(body)) if self._tool_calls else ()
        try:
            text = self._read_text(body)
        except ShapeError as error:
            # An agent that only calls tools sends null for its words.
            if error.kind != "null_content" or not calls:
                raise shape_failure(error, response, "response.text names the place of the text") from error
            text = ""
        data = self._read_data(body)
        return Reply(
            text=text,
            data=data,
            tool_calls=calls,
            events=events_of(self._events.find(body)) if self._events else (),
            usage=self.read_usage(body),
            agent_ms=agent_ms,
            raw=readable(response.body, RAW_KEPT) if self._data is not None else "",
            flags=() if text else ("empty",),
        )

    def read_usage(self, body: Any) -> Usage | None:
        """Usage where the mapping says it is."""
        return usage_of(self._usage.find(body)) if self._usage else None

    def _read_text(self, body: Any) -> str:
        if not self._has_text:
            return to_json(body if self._data is None else self._read_data(body)).decode()
        return find_text(body) if self._text is None else text_at(body, self._text)

    def _read_data(self, body: Any) -> Any:
        if self._data is None:
            return body if isinstance(body, dict | list) else None
        found = self._data.find(body)
        return None if found is MISSING else found

    def _read_agent_ms(self, body: Any, headers: Mapping[str, str]) -> float | None:
        found = self._agent_ms.find(body) if self._agent_ms else None
        if isinstance(found, int | float) and not isinstance(found, bool):
            return float(found)
        return server_timing_ms(headers.get("Server-Timing", ""))


def server_timing_ms(header: str) -> float | None:
    """The duration a Server-Timing header gives: its `total`, or its first."""
    if not header:
        return None
    entries = [entry.strip() for entry in header.split(",")]
    entries.sort(key=lambda entry: not entry.startswith("total"))
    for entry in entries:
        if (match := _DURATION.search(entry)) is not None and match.group(1).count(".") <= 1:
            return float(match.group(1)) if match.group(1) != "." else None
    return None


class StreamReader:
    """Collects the events of a stream into one reply."""

    def __init__(self, mapping: StreamMapping, reply: MappedReply) -> None:
        self._paths = DELTA_PATHS if mapping.text == "auto" else (JsonPath(mapping.text),)
        self._done = mapping.done
        self._reply = reply

    async def read(self, stream: WireStream, clock_ms: Callable[[], float]) -> Reply:
        """Read events until the done marker or the end; `clock_ms` gives the time since sending."""
        pieces: list[str] = []
        usage, first_token_ms = None, None
        async for event in stream.events():
            if event.data == self._done:
                break
            body = self._parse(event.data)
            piece = self._piece(body)
            usage = self._reply.read_usage(body) or usage
            if piece and first_token_ms is None:
                first_token_ms = clock_ms()
            pieces.append(piece)
        text = "".join(pieces)
        return Reply(text=text, usage=usage, first_token_ms=first_token_ms, flags=() if text else ("empty",))

    def _parse(self, data: str) -> Any:
        try:
            return read_json(data.encode("utf-8", "surrogatepass"))
        except ValueError:
            return data  # Some agents stream bare words.

    def _piece(self, body: Any) -> str:
        if isinstance(body, str):
            return body
        for path in self._paths:
            value = path.find(body)
            if value is MISSING or value is None:
                continue
            try:
                return text_of(value)
            except ShapeError:
                continue
        if isinstance(body, dict) and body.get("error"):
            raise SubjectError(f"the agent's stream reports an error: {str(body['error'])[:300]}", kind="agent_error")
        return ""
