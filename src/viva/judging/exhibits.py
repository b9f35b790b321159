"""What the judge is shown of the evidence. Everything here is untrusted and reaches a prompt only through the fence.

Each exhibit is a function from the evidence to plain data, or None when there is nothing to show. Adding a line to
`EXHIBITS` is the only way for a part of the evidence to reach a judge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from viva.core.data import to_plain
from viva.core.evidence import Evidence, Observed
from viva.core.transcript import ToolCall, Turn
from viva.judging.fence import enclose, encode, was_cut
from viva.judging.suspicion import is_suspicious


def question(evidence: Evidence) -> Any:
    """What the case puts to the agent, where the transcript does not begin with it anyway."""
    asked = evidence.case.input
    first = next((turn.text for turn in evidence.transcript.turns if turn.role == "user"), None)
    return None if asked is None or asked == first else to_plain(asked)


def facts(evidence: Evidence) -> Any:
    """Facts that are true in this case."""
    return list(evidence.case.facts) or None


def reference(evidence: Evidence) -> Any:
    """The reference answer."""
    return to_plain(evidence.case.expected)


def context(evidence: Evidence) -> Any:
    """The documents the agent had to work from."""
    return to_plain(evidence.case.context)


def transcript(evidence: Evidence) -> Any:
    """The conversation, turn by turn, with the tools the agent says it called."""
    return [_turn(turn) for turn in evidence.transcript.turns]


def state(evidence: Evidence) -> Any:
    """What was observed after the conversation: the agent's state, rows of queries, probes."""
    return {key: _observed(seen) for key, seen in evidence.state.items()} or None


def ending(evidence: Evidence) -> Any:
    """Why the conversation ended, where it did not simply end."""
    end = evidence.ending
    if end.kind == "completed" and end.ok:
        return None
    said = {"kind": end.kind, "by": end.by, "because": end.because, "body": end.body}
    return {key: value for key, value in said.items() if value}


EXHIBITS: dict[str, Callable[[Evidence], Any]] = {
    "question": question,
    "facts": facts,
    "reference": reference,
    "context": context,
    "transcript": transcript,
    "state": state,
    "ending": ending,
}
BY_THE_AGENT = ("transcript", "state", "ending")


class Exhibits:
    """The exhibits of one piece of evidence, each encoded once and fenced anew for every call."""

    def __init__(self, evidence: Evidence, names: Iterable[str], values: dict[str, Any] | None = None) -> None:
        self._encoded: dict[str, str] = {}
        self._spoken: list[str] = []
        shown = values or {}
        for name in names:
            if name in shown:
                self._add(name, to_plain(shown[name]))
            elif name in EXHIBITS:
                self._add(name, EXHIBITS[name](evidence))

    def _add(self, name: str, value: Any) -> None:
        self._encoded[name] = "" if value is None else encode(value)
        if name == "transcript":
            value = [turn for turn in value if turn["role"] != "user"]
        if name in BY_THE_AGENT or name not in EXHIBITS:
            self._spoken.extend(_words(value))

    @property
    def flags(self) -> tuple[str, ...]:
        """What a reader of the verdict should know: something was cut, something looks like an injection."""
        flags: tuple[str, ...] = ()
        if any(was_cut(encoded) for encoded in self._encoded.values()):
            flags += ("evidence_truncated",)
        if is_suspicious("\n".join(self._spoken)):
            flags += ("injection_suspected",)
        return flags

    @cached_property
    def digest(self) -> bytes:
        """Of everything shown: the same exhibits, the same digest."""
        shown = "".join([f"{name} {len(text)}\n{text}\n" for name, text in sorted(self._encoded.items())])
        return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).digest()

    def fenced(self, nonce: str) -> dict[str, str]:
        """Every exhibit between the lines of its fence; '' for one with nothing to show."""
        return {name: enclose(name, encoded, nonce) if encoded else "" for name, encoded in self._encoded.items()}


def _turn(turn: Turn) -> dict[str, Any]:
    shown: dict[str, Any] = {"role": turn.role, "text": turn.text}
    if turn.data is not None:
        shown["data"] = to_plain(turn.data)
    if turn.tool_calls:
        shown["tool_calls"] = [_tool_call(call) for call in turn.tool_calls]
    if turn.faults:
        shown["failed_attempts"] = [{"kind": fault.kind, "detail": fault.detail} for fault in turn.faults]
    return shown


def _tool_call(call: ToolCall) -> dict[str, Any]:
    shown: dict[str, Any] = {"name": call.name, "arguments": to_plain(call.arguments)}
    if call.result is not None:
        shown["result"] = to_plain(call.result)
    return shown


def _observed(seen: Observed) -> Any:
    return {"could_not_look": seen.error, "detail": seen.detail} if seen.error else to_plain(seen.value)


def _words(value: Any) -> list[str]:
    """The texts in plain data, keys included."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [word for key, item in value.items() for word in (str(key), *_words(item))]
    if isinstance(value, list | tuple):
        return [word for item in value for word in _words(item)]
    return []
