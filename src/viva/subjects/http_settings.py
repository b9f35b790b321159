"""How a suite describes an agent behind HTTP."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from viva.core.data import Data

DEFAULT_BODY = {"message": "{message}", "session": "{session}", "data": "{data}", "model": "{model}"}
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]


class Call(Data, frozen=True, forbid_unknown_fields=True):
    """One further call to the agent. `path` is relative to `base_url` (or to the host of `url`)."""

    path: str = ""
    url: str = ""
    method: Method = "POST"
    headers: dict[str, str] = {}
    body: Any = None
    timeout_s: float | None = None


class SessionCall(Call, frozen=True, forbid_unknown_fields=True):
    """The call that begins a session, and where its answer holds the session's id."""

    id: str = ""
    """A path; '' looks for sessionId, session_id, session, id."""


class ObserveCall(Call, frozen=True, forbid_unknown_fields=True):
    """The call that shows the agent's state, and where its answer holds it ('' is all of it)."""

    method: Method = "GET"
    value: str = ""


class IngestCall(Call, frozen=True, forbid_unknown_fields=True):
    """The call that hands the agent a text to remember, as `{text}`."""

    body: Any = msgspec.field(default_factory=lambda: {"text": "{text}"})


class CloseCall(Call, frozen=True, forbid_unknown_fields=True):
    """The call that ends a session."""

    method: Method = "DELETE"


class ResponseMapping(Data, frozen=True, forbid_unknown_fields=True):
    """Where a reply's parts lie in the agent's JSON: dotted paths with list indices."""

    format: Literal["json", "text"] = "json"
    text: str | None = "auto"
    """`auto` looks in the usual places; null is for agents that answer with data alone."""
    data: str = ""
    """'' is the whole answer."""
    tool_calls: str = ""
    events: str = ""
    usage: str = "usage"
    agent_ms: str = ""
    session: str = ""
    """Where the agent names the session to use from now on."""


class StreamMapping(Data, frozen=True, forbid_unknown_fields=True):
    """How a stream of server-sent events becomes one reply."""

    text: str = "auto"
    done: str = "[DONE]"


class HttpSettings(Data, frozen=True, forbid_unknown_fields=True):
    """An agent behind HTTP; the fields at the top describe the call that sends a message."""

    url: str = ""
    """Of the message call, in full; or `base_url` with `path`."""
    base_url: str = ""
    path: str = ""
    method: Method = "POST"
    headers: dict[str, str] = {}
    """Sent with every call; `env:NAME` as a value reads a secret."""
    body: Any = msgspec.field(default_factory=lambda: dict(DEFAULT_BODY))
    """A template; by default message, session, data and model, each where it has a value."""
    api_key: str = ""
    """`env:NAME`."""
    api_key_header: str = "Authorization"
    """`Authorization` sends `Bearer KEY`; any other header sends the key alone."""
    response: ResponseMapping = ResponseMapping()
    stream: Literal["sse"] | StreamMapping | None = None
    session: SessionCall | None = None
    observe: ObserveCall | None = None
    ingest: IngestCall | None = None
    close: CloseCall | None = None
    timeout_s: float | None = None
    """Of one call; never more than the trial's `turn_seconds`."""
    max_bytes: int | None = None
    """Of one answer; never more than the trial's `bytes`."""
    ca_file: str = ""
    insecure: bool = False
    """Do not check the server's certificate."""
