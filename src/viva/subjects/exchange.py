"""One HTTP exchange with an agent: a request out, sound JSON or a named failure back."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Literal

from viva.core.clock import Clock
from viva.core.errors import SubjectError
from viva.subjects.failure import BODY_SHOWN, status_failure, wire_failure
from viva.subjects.json_body import read_json, readable
from viva.subjects.reply_shape import ShapeError
from viva.wire.client import Wire, WireStream
from viva.wire.message import WireError, WireRequest, WireResponse

BodyFormat = Literal["json", "text"]


class Exchange:
    """The connection of a subject to its agent; shared by all sessions."""

    def __init__(self, clock: Clock, verify: bool | str = True) -> None:
        self._clock = clock
        self._wire = Wire(verify=verify)

    async def call(self, request: WireRequest, doing: str, *, idempotent: bool = False) -> WireResponse:
        """Send a request; a status that is no success is a failure."""
        try:
            response = await self._wire.call(request)
        except WireError as error:
            raise wire_failure(error, doing, idempotent=idempotent) from error
        if not 200 <= response.status < 300:
            raise status_failure(response.status, response.headers, response.body, doing, self._clock.now())
        return response

    @asynccontextmanager
    async def stream(self, request: WireRequest, doing: str) -> AsyncIterator[WireStream]:
        """Send a request and read its answer as it arrives."""
        try:
            async with self._wire.stream(request) as stream:
                if not 200 <= stream.status < 300:
                    body = await stream.body()
                    raise status_failure(stream.status, stream.headers, body, doing, self._clock.now())
                yield stream
        except WireError as error:
            raise wire_failure(error, doing) from error

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()


def body_of(response: WireResponse, doing: str, form: BodyFormat = "json") -> Any:
    """What the agent answered: JSON data, or its text."""
    kind = response.headers.get("Content-Type", "").lower()
    body = response.body
    if "html" in kind or body[:1] == b"<":
        raise _not_the_format(f"{doing}: the answer is a web page, not the agent's format", response)
    if form == "text":
        return body.decode("utf-8", "backslashreplace")
    if not body.strip():
        raise SubjectError(f"{doing}: the answer has no body", kind="empty_body", status=response.status)
    try:
        return read_json(body)
    except ValueError as error:
        if kind and "json" not in kind:
            raise _not_the_format(f"{doing}: the answer is {kind[:60]!r}, not the agent's format", response) from error
        raise SubjectError(
            f"{doing}: the answer is no valid JSON: {str(error)[:200]}",
            kind="invalid_json",
            status=response.status,
            body=readable(body, BODY_SHOWN),
        ) from error


def shape_failure(error: ShapeError, response: WireResponse, hint: str = "") -> SubjectError:
    """The agent's JSON is sound but holds no reply."""
    return SubjectError(
        f"reading the reply: {error}",
        kind=error.kind,
        status=response.status,
        body=readable(response.body, BODY_SHOWN),
        hint=hint,
    )


def _not_the_format(message: str, response: WireResponse) -> SubjectError:
    return SubjectError(
        message,
        kind="not_json",
        status=response.status,
        body=readable(response.body, BODY_SHOWN),
        hint="a login page or a proxy may answer in the agent's place: check the url",
    )
