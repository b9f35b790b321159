"""Recordings of conversations: what a replay reads."""

from __future__ import annotations

from typing import Any

import msgspec

from viva.core.data import Data, to_json, to_plain
from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Evidence, Observed
from viva.core.transcript import Reply, Transcript, Turn
from viva.core.trial import trial_key
from viva.subjects.json_body import read_json
from viva.subjects.returned import reply_of


class Recording(Data, frozen=True):
    """The replies of one conversation in order, and what was observed after it."""

    replies: tuple[Reply, ...] = ()
    state: dict[str, Observed] = {}
    session: str = ""


def read_recordings(raw: bytes, name: str) -> dict[str, Recording]:
    """Read a file: one conversation (a list of turns), or many by trial or case. Raises SuiteError."""
    value = _exported(_parse(raw, name))
    if isinstance(value, list) and value and all(_is_entry(entry) for entry in value):
        entries = [(_key(entry), entry) for entry in value]
    elif isinstance(value, dict) and not _is_entry(value):
        entries = [(str(key), entry) for key, entry in value.items()]
    else:
        entries = [(_key(value) if isinstance(value, dict) else "*", value)]
    recordings: dict[str, Recording] = {}
    for key, entry in entries:
        if key in recordings:
            raise SuiteError(f"{name}: {key!r} is recorded twice", hint="give each entry its trial")
        try:
            recordings[key] = recording_of(entry)
        except SubjectError as error:
            raise SuiteError(f"{name}: the recording of {key!r}: {error.message}") from error
    return recordings


def _exported(value: Any) -> Any:
    """The evidence of an exported run, which stands between lines of other kinds; anything else as it is."""
    if not isinstance(value, list) or not any(isinstance(line, dict) and "record" in line for line in value):
        return value
    return [line["evidence"] for line in value if isinstance(line, dict) and line.get("record") == "evidence"]


def recording_of(value: Any) -> Recording:
    """A recording from evidence, a transcript, or a list of turns or replies. Raises SubjectError."""
    match value:
        case Recording():
            return value
        case Evidence():
            return Recording(
                replies=tuple(_of_turn(turn) for turn in value.transcript.replies),
                state=value.state,
                session=value.session,
            )
        case Transcript():
            return Recording(replies=tuple(_of_turn(turn) for turn in value.replies))
        case dict():
            return _of_entry(value)
        case list() | tuple():
            return Recording(replies=_replies(value))
        case str():
            return Recording(replies=(reply_of(value),))
        case _:
            raise SubjectError(f"a {type(value).__name__} is no recording", kind="wrong_shape")


def _of_entry(entry: dict[str, Any]) -> Recording:
    transcript = entry.get("transcript")
    turns = transcript.get("turns", []) if isinstance(transcript, dict) else transcript
    turns = next((found for found in (turns, entry.get("turns"), entry.get("replies")) if found is not None), None)
    if turns is None and "text" in entry:
        turns = [entry]
    if not isinstance(turns, list | tuple):
        raise SubjectError("it has neither transcript, turns nor replies", kind="wrong_shape")
    state = entry.get("state") or {}
    if not isinstance(state, dict):
        raise SubjectError("its state is no mapping of observations", kind="wrong_shape")
    return Recording(
        replies=_replies(turns),
        state={str(key): _observed(seen) for key, seen in state.items()},
        session=str(entry.get("session") or ""),
    )


def _replies(turns: list[Any] | tuple[Any, ...]) -> tuple[Reply, ...]:
    """The agent's turns; in a list without roles every entry is one."""
    has_roles = any(isinstance(turn, Turn) or (isinstance(turn, dict) and "role" in turn) for turn in turns)
    return tuple(_reply(turn) for turn in turns if not has_roles or _role(turn) == "assistant")


def _role(turn: Any) -> str:
    return turn.role if isinstance(turn, Turn) else str(turn.get("role", "")) if isinstance(turn, dict) else ""


def _reply(turn: Any) -> Reply:
    if isinstance(turn, Turn):
        return _of_turn(turn)
    if not isinstance(turn, dict):
        return reply_of(turn)
    plain = to_plain(turn)
    if "text" not in plain and "content" in plain:
        plain["text"] = plain.pop("content")
    try:
        return _of_turn(msgspec.convert({"role": "assistant", **plain}, Turn))
    except msgspec.ValidationError:
        return reply_of({key: item for key, item in plain.items() if key != "role"})


def _of_turn(turn: Turn) -> Reply:
    recorded = {"recorded_latency_ms": turn.latency_ms} if turn.latency_ms is not None else {}
    return Reply(
        text=turn.text,
        data=turn.data,
        tool_calls=turn.tool_calls,
        events=turn.events,
        usage=turn.usage,
        first_token_ms=turn.first_token_ms,
        agent_ms=turn.agent_ms,
        raw=turn.raw,
        flags=turn.flags,
        metadata={**turn.metadata, **recorded},
    )


def _observed(seen: Any) -> Observed:
    if isinstance(seen, Observed):
        return seen
    if isinstance(seen, dict) and seen.keys() <= {"value", "error", "detail", "took_ms", "looks"}:
        try:
            return msgspec.convert(seen, Observed)
        except msgspec.ValidationError as error:
            raise SubjectError(f"an observation is malformed: {error}", kind="wrong_shape") from error
    return Observed(value=seen)


def _is_entry(value: Any) -> bool:
    return isinstance(value, dict) and ("trial" in value or "case" in value)


def _key(entry: dict[str, Any]) -> str:
    if entry.get("trial"):
        return str(entry["trial"])
    case = entry.get("case", "*")
    name = str(case.get("id", "*") if isinstance(case, dict) else case)
    variant = entry.get("variant") or "default"
    variant = variant.get("name", "default") if isinstance(variant, dict) else str(variant)
    repeat = entry.get("repeat")
    return trial_key(name, variant, repeat if isinstance(repeat, int) else 1)


def _parse(raw: bytes, name: str) -> Any:
    try:
        if name.endswith((".jsonl", ".ndjson")):
            return [read_json(line) for line in raw.splitlines() if line.strip()]
        return _parse_yaml(raw) if name.endswith((".yml", ".yaml")) else read_json(raw)
    except ValueError as error:
        raise SuiteError(f"{name} cannot be read as a recording: {error}") from error


def _parse_yaml(raw: bytes) -> Any:
    import yaml

    class Loader(yaml.SafeLoader):
        """Plain data without aliases, which could unpack a small file into a large one."""

        def compose_node(self, parent: Any, index: Any) -> Any:
            if self.check_event(yaml.AliasEvent):
                raise ValueError("aliases are not allowed")
            return super().compose_node(parent, index)

    try:
        value = yaml.load(raw, Loader)  # noqa: S506
        to_json(value)
        return value
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
