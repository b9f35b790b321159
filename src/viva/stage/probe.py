"""Looking at the world over HTTP: a GET (by default) whose JSON is the observation."""

from __future__ import annotations

from typing import Any

import msgspec

from viva.core.data import Data
from viva.core.errors import StageError
from viva.core.text import shorten, storable_data
from viva.ports.kit import Kit
from viva.wire.client import Wire, WireError, WireRequest


class HttpCall(Data, frozen=True):
    """One HTTP call of the stage."""

    url: str
    method: str = "GET"
    headers: dict[str, str] = {}
    """Values may be `env:NAME`."""
    body: Any = None
    timeout_s: float = 10.0
    max_bytes: int = 1_000_000
    expect: tuple[int, ...] = ()
    """Accepted status codes; by default any 2xx."""


async def call(wire: Wire, wanted: HttpCall, kit: Kit) -> Any:
    """Make the call; JSON becomes data, anything else text. Raises StageError."""
    headers = {
        name: kit.secret(value).reveal() if value.startswith("env:") else value
        for name, value in wanted.headers.items()
    }
    body = None
    if wanted.body is not None:
        body = wanted.body.encode() if isinstance(wanted.body, str) else msgspec.json.encode(wanted.body)
        headers.setdefault("Content-Type", "application/json")
    request = WireRequest(
        method=wanted.method, url=wanted.url, headers=headers, body=body, timeout_s=wanted.timeout_s,
        max_bytes=wanted.max_bytes,
    )  # fmt: skip
    try:
        response = await wire.call(request)
    except WireError as error:
        raise StageError(f"{wanted.method} {wanted.url}: {error.detail}", kind=f"http_{error.kind}") from error
    accepted = response.status in wanted.expect if wanted.expect else 200 <= response.status < 300
    if not accepted:
        said = shorten(response.body.decode("utf-8", "backslashreplace"), 200)
        raise StageError(f"{wanted.method} {wanted.url} answered {response.status}: {said}", kind="http_status")
    try:
        return storable_data(msgspec.json.decode(response.body)) if response.body else None
    except msgspec.DecodeError:
        return response.body.decode("utf-8", "backslashreplace")
