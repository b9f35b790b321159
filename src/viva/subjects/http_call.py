"""A described call, checked and compiled once, turned into requests often."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from viva.core.errors import SuiteError
from viva.core.limits import Limits
from viva.ports.kit import Kit
from viva.ports.subject import Opening
from viva.subjects.http_settings import Call, HttpSettings
from viva.subjects.json_body import write_json
from viva.subjects.template import Template, TextTemplate, Values
from viva.wire.message import WireRequest

SESSION_VALUES = frozenset({"session", "model", "run", "trial", "case", "variant", "seed"})
_SECRET = re.compile(r"(?:[A-Za-z]+ )?env:[A-Za-z_][A-Za-z0-9_]*")
MESSAGE_VALUES = SESSION_VALUES | {"message", "data", "history", "messages"}


class CallPlan:
    """One call of the agent's API."""

    def __init__(self, call: Call, url: str, headers: Mapping[str, str], known: frozenset[str]) -> None:
        check_url(url)
        self.method = call.method
        self._url = TextTemplate(url, known, quoted=True)
        self._headers = {name: TextTemplate(value, known) for name, value in headers.items()}
        self._fixed = None if any(h.names for h in self._headers.values()) else self._fill_headers({})
        self._body = None if call.body is None else Template(call.body, known)
        self._timeout_s = call.timeout_s

    @property
    def names(self) -> set[str]:
        """The values its body asks for."""
        return set() if self._body is None else self._body.names

    def request(self, values: Values, limits: Limits, settings: HttpSettings) -> WireRequest:
        """The request, with values put in and limits set."""
        timeout_s, most_s = self._timeout_s or settings.timeout_s, limits.turn_seconds
        max_bytes, most_bytes = settings.max_bytes, limits.bytes
        return WireRequest(
            self.method,
            self._url.fill(values),
            self._fixed if self._fixed is not None else self._fill_headers(values),
            None if self._body is None else write_json(self._body.fill(values)),
            most_s if timeout_s is None else min(timeout_s, most_s),
            most_bytes if max_bytes is None else min(max_bytes, most_bytes),
        )

    def _fill_headers(self, values: Values) -> dict[str, str]:
        return {name: template.fill(values) for name, template in self._headers.items()}


class OwnKey:
    """A key of the user's own, not of the suite: it is sent to one place only, whatever else the suite names."""

    def __init__(self, header: str = "", key: str = "", place: str = "") -> None:
        self._headers = {header: escape(key)} if key else {}
        self._place = place

    def for_url(self, url: str) -> dict[str, str]:
        """The header, if the address is the key's own place."""
        return self._headers if self._headers and endpoint_of(url) == endpoint_of(self._place) else {}


NO_KEY = OwnKey()


def plan_message(settings: HttpSettings, headers: Mapping[str, str], own_key: OwnKey) -> CallPlan:
    """The call that sends a message."""
    call = Call(method=settings.method, body=settings.body, path=settings.path, url=settings.url)
    url = call_url(call, settings)
    return CallPlan(call, url, {**own_key.for_url(url), **headers}, MESSAGE_VALUES)


def plan_call(
    call: Call | None, settings: HttpSettings, headers: Mapping[str, str], kit: Kit, own_key: OwnKey, *more: str
) -> CallPlan | None:
    """A further call, where the suite describes one; `more` are values it alone may use."""
    if call is None:
        return None
    own = {**headers, **{name: resolve(value, kit) for name, value in call.headers.items()}}
    url = call_url(call, settings)
    return CallPlan(call, url, {**own_key.for_url(url), **own}, SESSION_VALUES | set(more))


def call_url(call: Call, settings: HttpSettings) -> str:
    """The address of a call: its own, or its path below the agent's, with a single slash between."""
    if call.url:
        return call.url
    base = settings.base_url or _origin(settings.url)
    if not base:
        raise SuiteError("the http subject has no address", hint="set url, or base_url and path")
    return f"{base.rstrip('/')}/{call.path.lstrip('/')}" if call.path else base


def shared_headers(settings: HttpSettings, kit: Kit) -> dict[str, str]:
    """Headers of every call, with keys read from the environment."""
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if settings.api_key:
        key = kit.secret(settings.api_key).reveal()
        name = settings.api_key_header
        headers[name] = escape(f"Bearer {key}" if name.lower() == "authorization" else key)
    for name, value in settings.headers.items():
        headers[name] = resolve(value, kit)
    return headers


def resolve(value: str, kit: Kit) -> str:
    """A header's value: `env:NAME` and `Bearer env:NAME` are read as secrets, anything else is a template."""
    return escape(kit.secret(value).reveal()) if is_secret(value) else value


def is_secret(value: str) -> bool:
    """Whether a value points at a secret."""
    return _SECRET.fullmatch(value) is not None


def escape(text: str) -> str:
    """Protect a value from being read as a template."""
    return text.replace("{", "{{").replace("}", "}}")


def check_url(url: str) -> None:
    """Refuse what is no web address before anything is sent."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or "{" in parts.netloc:
        raise SuiteError(f"{url!r} is no http address", hint="write it like http://127.0.0.1:8081/chat")


def endpoint_of(url: str) -> str:
    """What concurrency is counted against: scheme, host and port."""
    return _origin(url)


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" if parts.netloc else ""


def path_values(opening: Opening, session: str) -> dict[str, Any]:
    """The values every call of a session may use."""
    return {
        "session": session,
        "model": opening.model,
        "run": opening.run,
        "trial": opening.trial,
        "case": opening.case.id,
        "variant": opening.variant.name,
        "seed": opening.seed,
    }
