"""Recorded conversations are said again, in order, without an agent."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from subject_kit import SubjectKit, build, opening

from viva.core.case import Case
from viva.core.data import to_json
from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.transcript import Message, ToolCall, Transcript, Turn
from viva.core.variant import DEFAULT_VARIANT, Variant
from viva.subjects.replay import ReplaySubject

TURNS = (
    Turn(role="user", text="Q1"),
    Turn(role="assistant", text="A1", latency_ms=120.0, tool_calls=(ToolCall(name="look"),)),
    Turn(role="user", text="Q2"),
    Turn(role="assistant", text="A2", data={"total": 3}),
)
EVIDENCE = Evidence(
    trial="france",
    case=Case(id="france"),
    variant=DEFAULT_VARIANT,
    transcript=Transcript(turns=TURNS),
    state={"state": Observed(value={"n": [1]}), "graph": Observed(error="timed_out", detail="too slow")},
    session="s1",
)


def replay(tmp_path: Path, name: str, text: str | bytes) -> Any:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return build("replay", {"file": name}, SubjectKit(folder=tmp_path))


async def replies(subject: Any, count: int, **more: Any) -> list[str]:
    session = await subject.open(opening(**more))
    return [(await session.send(Message(text="?"))).text for _ in range(count)]


@pytest.mark.parametrize("form", ["object", "jsonl", "loader", "async loader"])
async def test_stored_evidence_is_said_again(tmp_path: Path, form: str) -> None:
    async def load(key: str) -> Any:
        return {"france": EVIDENCE}.get(key)

    subject = {
        "object": lambda: ReplaySubject.of({"france": EVIDENCE}),
        "jsonl": lambda: replay(tmp_path, "run.jsonl", to_json(EVIDENCE) + b"\n"),
        "loader": lambda: ReplaySubject.of(lambda key: EVIDENCE if key == "france" else None),
        "async loader": lambda: ReplaySubject.of(load),
    }[form]()
    session = await subject.open(opening())
    first, second = await session.send(Message(text="?")), await session.send(Message(text="?"))
    assert (first.text, first.tool_calls[0].name, first.metadata) == ("A1", "look", {"recorded_latency_ms": 120.0})
    assert (second.text, second.data) == ("A2", {"total": 3})
    assert session.id == "s1"
    assert await session.observe(Observation(key="state")) == {"n": [1]}
    with pytest.raises(SubjectError) as failed:
        await session.observe(Observation(key="graph"))
    assert failed.value.kind == "timed_out"
    with pytest.raises(SubjectError) as out:
        await session.send(Message(text="?"))
    assert (out.value.kind, out.value.retryable) == ("replay_exhausted", False)


async def test_variants_and_repeats_have_recordings_of_their_own(tmp_path: Path) -> None:
    rows = [
        {"case": "france", "replies": ["plain"]},
        {"case": "france", "variant": "withheld", "replies": ["withheld"]},
        {"trial": "france@withheld#2", "replies": ["second"]},
    ]
    subject = replay(tmp_path, "r.json", json.dumps(rows))
    withheld = Variant(name="withheld")
    assert await replies(subject, 1) == ["plain"]
    assert await replies(subject, 1, trial="france@withheld", variant=withheld) == ["withheld"]
    assert await replies(subject, 1, trial="france@withheld#2", variant=withheld) == ["second"]
    assert await replies(subject, 1, trial="france@other#3", variant=Variant(name="other")) == ["plain"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.yaml", "- {role: user, content: Q}\n- {role: assistant, content: A1}\n- {role: assistant, text: A2}\n"),
        ("t.json", '["A1", {"text": "A2"}]'),
        ("t.json", '{"france": ["A1", "A2"], "spain": ["B"]}'),
        (
            "t.json",
            '{"case": "*", "turns": [{"role": "assistant", "text": "A1"}, {"role": "assistant", "text": "A2"}]}',
        ),
        ("t.jsonl", '{"role": "assistant", "content": "A1"}\n\n{"role": "assistant", "content": [{"text": "A2"}]}\n'),
    ],
)
async def test_transcript_files_of_several_forms_are_read(tmp_path: Path, name: str, text: str) -> None:
    assert await replies(replay(tmp_path, name, text), 2) == ["A1", "A2"]


async def test_a_trial_that_was_not_recorded_is_named(tmp_path: Path) -> None:
    subject = replay(tmp_path, "t.json", '{"spain": ["B"]}')
    with pytest.raises(SubjectError) as caught:
        await subject.open(opening())
    assert caught.value.kind == "replay_missing"


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("t.json", "{", "cannot be read"),
        ("t.yaml", "a: [", "cannot be read"),
        ("t.yaml", "a: &x [1]\nb: *x\n", "aliases"),
        ("t.json", '{"france": 5}', "no recording"),
        ("t.json", '{"france": {"x": 1}}', "neither transcript"),
        ("t.json", '[{"case": "a", "replies": []}, {"case": "a", "replies": []}]', "twice"),
    ],
)
def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, name: str, text: str, says: str) -> None:
    with pytest.raises(SuiteError, match=says):
        replay(tmp_path, name, text)


async def test_one_recording_serves_many_trials_unchanged(tmp_path: Path) -> None:
    subject = ReplaySubject.of({"*": EVIDENCE})
    first = await subject.open(opening(case="a"))
    (await first.observe(Observation(key="state")))["n"].clear()
    second = await subject.open(opening(case="b"))
    assert await second.observe(Observation(key="state")) == {"n": [1]}
