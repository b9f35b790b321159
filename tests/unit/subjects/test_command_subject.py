"""A command-line agent: arguments in, text, JSON or a stream of JSON out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from subject_kit import SubjectKit, build, opening

from viva.core.errors import SubjectError, SuiteError
from viva.core.transcript import Message
from viva.subjects.command_output import read_output

ECHO = "import json, sys, os; print(json.dumps({'argv': sys.argv[1:], 'stdin': sys.stdin.read(), 'cwd': os.getcwd()}))"


async def session_of(tmp_path: Path, script: str = ECHO, **settings: Any) -> Any:
    (tmp_path / "agent.py").write_text(script)
    argv = ["python", str(tmp_path / "agent.py"), *settings.pop("args", [])]
    subject = build("command", {"argv": argv, **settings}, SubjectKit(folder=tmp_path))
    return await subject.open(opening(model="m1"))


async def echo(tmp_path: Path, text: str, **settings: Any) -> dict[str, Any]:
    session = await session_of(tmp_path, **settings)
    reply = await session.send(Message(text=text))
    await session.close()
    seen: dict[str, Any] = json.loads(reply.text)
    return seen


async def test_a_message_goes_in_by_standard_input_or_as_an_argument(tmp_path: Path) -> None:
    assert (await echo(tmp_path, "hello; rm -rf / $(x)"))["stdin"] == "hello; rm -rf / $(x)"
    seen = await echo(tmp_path, "hi {model} `x`", args=["--model={model}", "-p", "{message}"])
    assert (seen["argv"], seen["stdin"]) == (["--model=m1", "-p", "hi {model} `x`"], "")


async def test_a_message_that_begins_with_a_dash_is_no_option(tmp_path: Path) -> None:
    session = await session_of(tmp_path, args=["-p", "{message}"])
    reply = await session.send(Message(text="--version"))
    assert json.loads(reply.text)["argv"] == ["-p", " --version"]
    assert reply.flags == ("dash_guarded",)
    assert (await echo(tmp_path, "--version", args=["--", "{message}"]))["argv"] == ["--", "--version"]
    assert (await echo(tmp_path, "-v", args=["--prompt={message}"]))["argv"] == ["--prompt=-v"]


async def test_the_program_runs_in_the_suite_folder_a_folder_below_or_a_fresh_one(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    assert (await echo(tmp_path, "a"))["cwd"] == str(tmp_path)
    assert (await echo(tmp_path, "a", cwd="below"))["cwd"] == str(tmp_path / "below")
    fresh = Path((await echo(tmp_path, "a", cwd="temp"))["cwd"])
    assert fresh != tmp_path
    assert not fresh.exists()


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"cwd": ".."}, "not below"),
        ({"cwd": "/etc"}, "not below"),
        ({"cwd": "missing"}, "no folder"),
        ({"argv": []}, "no argv"),
        ({"input": "argument"}, "no {message}"),
        ({"argv": ["x", "{mesage}"]}, "did you mean 'message'"),
    ],
)
def test_a_wrong_description_is_refused_when_built(tmp_path: Path, settings: dict[str, Any], says: str) -> None:
    with pytest.raises(SuiteError, match=says):
        build("command", {"argv": ["python", "-V"], **settings}, SubjectKit(folder=tmp_path))


async def test_a_session_the_agent_names_is_resumed(tmp_path: Path) -> None:
    script = "import json, sys; print(json.dumps({'result': ' '.join(sys.argv[1:]), 'session_id': 'abc'}))"
    session = await session_of(tmp_path, script, args=["-p"], resume=["--resume", "{session}"], output="json")
    assert [(await session.send(Message(text="a"))).text for _ in range(2)] == ["-p", "-p --resume abc"]
    assert session.id == "abc"


async def test_history_goes_in_as_json(tmp_path: Path) -> None:
    script = "import json, sys; told = json.load(sys.stdin); print(len(told['history']), told['message'])"
    session = await session_of(tmp_path, script, input="json")
    assert [(await session.send(Message(text=text))).text for text in "ab"] == ["0 a", "2 b"]


STREAM = [
    {"type": "system", "subtype": "init", "session_id": "s9"},
    {"type": "assistant", "message": {"content": [{"type": "text", "text": "Looking"}]}},
    {
        "type": "assistant",
        "message": {"content": [{"type": "tool_use", "id": "t1", "name": "Read", "input": {"path": "a"}}]},
    },
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "text"}]}},
    {
        "type": "result",
        "result": "Paris",
        "session_id": "s9",
        "total_cost_usd": 0.02,
        "usage": {"input_tokens": 10, "output_tokens": 3},
    },
]


def lines(*values: Any) -> bytes:
    return b"\n".join(value if isinstance(value, bytes) else json.dumps(value).encode() for value in values)


def test_a_stream_of_json_gives_the_result_tools_usage_and_session() -> None:
    printed = read_output(lines(*STREAM), "stream-json")
    reply = printed.reply
    assert (reply.text, printed.session) == ("Paris", "s9")
    assert [(call.name, call.arguments, call.result) for call in reply.tool_calls] == [("Read", {"path": "a"}, "text")]
    assert [event.kind for event in reply.events] == ["system", "assistant", "assistant", "user"]
    assert reply.usage is not None
    assert (reply.usage.tokens, reply.usage.cost_usd) == (13, 0.02)


@pytest.mark.parametrize(
    ("out", "text", "flags"),
    [
        (lines({"result": "A"}), "A", ()),
        (lines({"message": "B"}), "B", ()),
        (lines({"result": "A", "message": "B"}), "A", ()),
        (lines(b"warming up", {"message": {"content": [{"type": "text", "text": "C"}]}}), "C", ("non_json_lines",)),
        (lines({"message": "first"}, {"message": "last"}), "last", ()),
        (lines({"result": "kept"}, {"note": "bye"}), "kept", ()),
        (lines({"result": ""}), "", ("empty",)),
        (b'{\n  "text": "pretty"\n}', "pretty", ()),
    ],
)
def test_the_last_word_in_json_is_the_reply(out: bytes, text: str, flags: tuple[str, ...]) -> None:
    reply = read_output(out, "json").reply
    assert (reply.text, reply.flags) == (text, flags)


@pytest.mark.parametrize(
    ("out", "kind"),
    [
        (b"", "empty_output"),
        (b"\n \n", "empty_output"),
        (b"Segmentation fault", "not_json"),
        (lines({"result": None}), "null_content"),
        (lines({"total": 5}), "missing_field"),
        (lines({"type": "result", "is_error": True, "result": "overloaded"}), "agent_error"),
    ],
)
def test_output_without_a_reply_is_named(out: bytes, kind: str) -> None:
    with pytest.raises(SubjectError) as caught:
        read_output(out, "json")
    assert caught.value.kind == kind


def test_a_path_names_the_place_of_the_text() -> None:
    assert read_output(lines({"a": [{"b": "here"}]}), "json", "a.0.b").reply.text == "here"


def test_json_output_is_data_for_field_checks() -> None:
    assert read_output(lines({"result": "A", "total": 3}), "json").reply.data == {"result": "A", "total": 3}
