"""What goes over the wire and comes back, and the one error of this room."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

WireKind = Literal["timed_out", "too_large", "connection", "dns", "tls", "redirect", "reset", "malformed"]


class WireRequest(msgspec.Struct, frozen=True):
    """One HTTP request with its deadline and its ceiling of bytes."""

    method: str
    url: str
    headers: Mapping[str, str] = {}
    body: bytes | None = None
    timeout_s: float = 120.0
    """For everything: connecting, sending, waiting, reading to the last byte, and every redirect."""
    max_bytes: int = 10_000_000
    """For the body, counted after decompression."""

    def __repr__(self) -> str:
        # Headers carry keys and bodies carry conversations: neither belongs into a traceback.
        return f"WireRequest({self.method} {without_credentials(self.url)})"


class WireResponse(msgspec.Struct, frozen=True):
    """A response read to its end; `headers` finds names in any case."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    took_ms: float
    first_byte_ms: float


class WireError(Exception):
    """There is no response, and why.

    `delivered` is False only when certainly nothing reached the server, so that sending again is safe.
    """

    def __init__(self, kind: WireKind, detail: str, *, delivered: bool) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind: WireKind = kind
        self.detail = detail
        self.delivered = delivered


def without_credentials(url: str) -> str:
    """The URL without user name, password, query and fragment, for messages."""
    scheme, mark, rest = url.partition("://")
    place = rest.split("?", 1)[0].split("#", 1)[0]
    host, slash, path = place.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}"
