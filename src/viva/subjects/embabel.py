"""An Embabel chat agent: the http subject with that agent's REST contract, its events and its object context."""

from __future__ import annotations

from typing import Any

from viva.core.data import Data, replace
from viva.core.errors import SubjectError
from viva.core.evidence import Observation
from viva.core.transcript import Event, Reply, ToolCall
from viva.ports.kit import Kit
from viva.ports.subject import Opening
from viva.subjects.exchange import body_of, shape_failure
from viva.subjects.http import HttpSession, HttpSubject
from viva.subjects.http_call import NO_KEY, OwnKey, escape
from viva.subjects.http_settings import HttpSettings, IngestCall, ObserveCall, ResponseMapping, SessionCall
from viva.subjects.json_body import JsonPath
from viva.subjects.reply_shape import ShapeError, text_at
from viva.wire.message import WireResponse

DEFAULT_URL = "http://localhost:8081"
DOMAIN_LABEL = "DomainNode"
OWN_FIELDS = ("history", "chatbot")
_CONTENT = JsonPath("message.content")


class EmbabelSettings(Data, frozen=True, forbid_unknown_fields=True):
    """Where the agent is, and who talks to whom."""

    url: str = ""
    """'' is VIVA_AGENT_URL, else http://localhost:8081."""
    path: str = "/api/v1/chat"
    api_key: str = ""
    """`env:NAME`; '' takes VIVA_AGENT_KEY, but only for an address that is not the suite's."""
    api_key_header: str = "X-API-KEY"
    user: str = "viva"
    chatbot: str = "default"
    model: str = ""
    """Sent with every message when the run gives none."""
    headers: dict[str, str] = {}
    ingest: IngestCall | None = None
    """Where texts to remember go: `url` of the knowledge service, or `path` below the agent's."""
    timeout_s: float | None = None
    max_bytes: int | None = None
    ca_file: str = ""
    insecure: bool = False


class EmbabelSubject(HttpSubject):
    """An Embabel agent behind its chat API."""

    Settings = EmbabelSettings  # type: ignore[assignment]
    name = "embabel"
    version = "1"

    def __init__(self, settings: EmbabelSettings, kit: Kit) -> None:
        super().__init__(http_settings(settings, kit), kit, EmbabelReply(), _own_key(settings, kit))
        self._model = settings.model or None

    async def open(self, opening: Opening) -> EmbabelSession:
        """Begin a session by the agent's own call."""
        session = EmbabelSession(self, opening if opening.model else replace(opening, model=self._model))
        assert self.begin is not None
        await session.begin(self.begin)
        return session


class EmbabelSession(HttpSession):
    """One conversation with an Embabel agent."""

    async def observe(self, observation: Observation) -> Any:
        """The object context, with defaults filled in and the entities named."""
        return object_context(await super().observe(observation))


class EmbabelReply:
    """Reads the agent's answer: only `message.content` is needed, everything else is tolerated missing."""

    def read(self, response: WireResponse) -> Reply:
        """Read one response. Raises SubjectError."""
        body = body_of(response, "reading the reply")
        try:
            text = text_at(body, _CONTENT)
        except ShapeError as error:
            raise shape_failure(error, response) from error
        events = tuple(typed_event(event) for event in _listed(body.get("events")))
        return Reply(
            text=text,
            events=events,
            tool_calls=_tool_calls(events),
            flags=() if text else ("empty",),
            metadata={key: body[key] for key in OWN_FIELDS if key in body},
        )


def http_settings(settings: EmbabelSettings, kit: Kit) -> HttpSettings:
    """The agent's REST contract, as settings of the http subject."""
    base = _address(settings, kit).rstrip("/") + "/" + settings.path.strip("/")
    names = {"user": escape(settings.user), "chatbot": escape(settings.chatbot)}
    return HttpSettings(
        base_url=base,
        path="messages",
        method="PUT",
        body={"sessionId": "{session}", "message": {"content": "{message}", "role": "user"}, "model": "{model}"},
        headers=settings.headers,
        api_key=settings.api_key,
        api_key_header=settings.api_key_header,
        response=ResponseMapping(text="message.content"),
        session=SessionCall(path="sessions", method="PUT", body=names, id="sessionId"),
        observe=ObserveCall(path="objectContexts/{session}"),
        ingest=settings.ingest,
        timeout_s=settings.timeout_s,
        max_bytes=settings.max_bytes,
        ca_file=settings.ca_file,
        insecure=settings.insecure,
    )


def _address(settings: EmbabelSettings, kit: Kit) -> str:
    return settings.url or kit.env("VIVA_AGENT_URL") or DEFAULT_URL


def _own_key(settings: EmbabelSettings, kit: Kit) -> OwnKey:
    if settings.api_key or settings.url:
        return NO_KEY
    return OwnKey(settings.api_key_header, kit.env("VIVA_AGENT_KEY") or "", _address(settings, kit))


def typed_event(raw: Any) -> Event:
    """Name an event by the keys it has; one of any other shape is kept as it came."""
    match raw:
        case {"systemPrompt": str()}:
            return Event(kind="system_prompt", data=raw)
        case {"content": str(), "summaryDirection": str() | None}:
            return Event(kind="graph_query", data=raw)
        case {"request": {"function": {"name": str()}}}:
            return Event(kind="function_call", data=raw)
        case {"output": str()}:
            return Event(kind="function_result", data=raw)
        case dict():
            return Event(kind="unknown", data=raw)
        case _:
            return Event(kind="unknown", data={"value": raw})


def _tool_calls(events: tuple[Event, ...]) -> tuple[ToolCall, ...]:
    """Function calls, each with the result that follows it before the next call."""
    calls: list[ToolCall] = []
    for event in events:
        if event.kind == "function_call":
            request = event.data["request"]
            arguments = request.get("arguments")
            named = arguments if isinstance(arguments, dict) else {} if arguments is None else {"": arguments}
            calls.append(ToolCall(name=request["function"]["name"], arguments=named))
        elif event.kind == "function_result" and calls and calls[-1].result is None:
            last = calls[-1]
            calls[-1] = ToolCall(name=last.name, arguments=last.arguments, result=event.data["output"])
    return tuple(calls)


def object_context(raw: Any) -> dict[str, Any]:
    """The agent's objects: every resource with its defaults, and `entities`, those of the domain."""
    if not isinstance(raw, dict):
        raise SubjectError("the object context is no object", kind="wrong_shape")
    resources = [_resource(entry) for entry in _listed(raw.get("resources"))]
    entities = [resource for resource in resources if DOMAIN_LABEL in resource["labels"]]
    return {
        **raw,
        "context": raw.get("context", ""),
        "resources": resources,
        "functions": _listed(raw.get("functions")),
        "entities": entities,
    }


def _resource(raw: Any) -> dict[str, Any]:
    if not isinstance(raw, dict) or "id" not in raw or "name" not in raw:
        raise SubjectError("a resource of the object context has no id or no name", kind="wrong_shape")
    filled = dict(raw)
    filled["description"] = raw["name"] if raw.get("description") is None else raw["description"]
    for key, empty in (("properties", {}), ("labels", []), ("aliases", [])):
        filled[key] = empty if raw.get(key) is None else raw[key]
    return filled


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
