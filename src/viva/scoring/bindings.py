"""What expressions may look at: the evidence as plain data, each name made only when an expression mentions it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from viva.core.data import to_plain
from viva.core.errors import ScorerError
from viva.core.evidence import Evidence
from viva.core.timing import Timing
from viva.core.transcript import ToolCall, Turn
from viva.scoring.reading import STATE, AbsentError, observed, reply_data, reply_text

OBJECT_CONTEXT = "objectContext"
OBSERVED = (STATE, OBJECT_CONTEXT)
"""Names whose value is an observation of the agent under the same key."""


def bind(evidence: Evidence, names: Iterable[str]) -> dict[str, Any]:
    """The values of the names an expression uses. Raises ScorerError where one could not be observed."""
    return {name: _MAKE[name](evidence) for name in names}


def bind_observed(key: str, value: Any) -> Any:
    """An observation as expressions see it."""
    return object_context(value) if key == OBJECT_CONTEXT else value


def _output(evidence: Evidence) -> Any:
    try:
        return reply_data(evidence)
    except AbsentError as absent:
        raise ScorerError(absent.reason, kind="no_output") from absent


def _turns(evidence: Evidence) -> list[dict[str, Any]]:
    return [_turn(turn) for turn in evidence.transcript.turns]


def _turn(turn: Turn) -> dict[str, Any]:
    """Every field is there, whatever its value: an expression must not fail on an agent that called no tool."""
    return {
        "role": turn.role,
        "text": turn.text,
        "data": turn.data,
        "tool_calls": [_tool_call(call) for call in turn.tool_calls],
        "events": [{"kind": event.kind, "data": event.data} for event in turn.events],
        "at_ms": turn.at_ms,
        "latency_ms": turn.latency_ms,
        "failures": len(turn.faults),
        "flags": list(turn.flags),
        "metadata": turn.metadata,
    }


def _tool_call(call: ToolCall) -> dict[str, Any]:
    return {"name": call.name, "arguments": call.arguments, "result": call.result, "id": call.id}


def _timing(evidence: Evidence) -> dict[str, Any]:
    return {field.name: getattr(evidence.timing, field.name) for field in _TIMING_FIELDS}


_TIMING_FIELDS = msgspec.structs.fields(Timing)


def _case(evidence: Evidence) -> dict[str, Any]:
    case = evidence.case
    return {
        "id": case.id,
        "input": case.input,
        "expected": case.expected,
        "context": case.context,
        "facts": list(case.facts),
        "tags": list(case.tags),
        "metadata": case.metadata,
    }


def object_context(value: Any) -> Any:
    """An Embabel agent's objects, with the defaults its own classes fill in and its computed `entities`."""
    if not isinstance(value, dict):
        return value
    resources = [_resource(item) for item in value.get("resources") or []]
    entities = value.get("entities")
    if entities is None:
        entities = [item for item in resources if "DomainNode" in _labels(item)]
    return {"context": None, "functions": [], **value, "resources": resources, "entities": entities}


def _resource(item: Any) -> Any:
    if not isinstance(item, dict):
        return item
    filled = {**item}
    for name, default in (("description", item.get("name")), ("properties", {}), ("labels", []), ("aliases", [])):
        if filled.get(name) is None:
            filled[name] = default
    return filled


def _labels(item: Any) -> Any:
    return item.get("labels", ()) if isinstance(item, dict) else ()


def _evaluation(evidence: Evidence) -> dict[str, Any]:
    """The binding of Embabel's assertions of the same name."""
    turns = evidence.transcript.turns
    return {
        "sessionId": evidence.session,
        "model": evidence.model,
        "job": _job(evidence),
        "transcript": [_message(turn) for turn in turns],
        "done": evidence.ending.kind == "completed",
        "failureCount": evidence.failures,
        "events": [event.data for turn in turns for event in turn.events],
        "functionCalls": [{"function": call.name, "args": call.arguments} for call in evidence.transcript.tool_calls],
    }


def _job(evidence: Evidence) -> dict[str, Any]:
    tasks = [
        {"task": task.text, "type": task.kind, "acceptanceCriteria": task.acceptance} for task in evidence.case.tasks
    ]
    return {"tasks": tasks, "facts": list(evidence.case.facts), "maxTurns": evidence.case.limits.turns}


def _message(turn: Turn) -> dict[str, Any]:
    return {
        "content": turn.text,
        "role": turn.role,
        "timeTaken": turn.latency_ms,
        "events": [event.data for event in turn.events],
    }


_MAKE: dict[str, Callable[[Evidence], Any]] = {
    "text": reply_text,
    "output": _output,
    STATE: lambda evidence: observed(evidence, STATE),
    "transcript": _turns,
    "tools": lambda evidence: [_tool_call(call) for call in evidence.transcript.tool_calls],
    "timing": _timing,
    "case": _case,
    "before": lambda evidence: {key: to_plain(seen.value) for key, seen in evidence.before.items() if not seen.error},
    "failures": lambda evidence: evidence.failures,
    OBJECT_CONTEXT: lambda evidence: object_context(observed(evidence, OBJECT_CONTEXT)),
    "evaluation": _evaluation,
}
BINDINGS = tuple(_MAKE)
