"""How a Python agent is called, and what it may return."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
from subject_kit import SubjectKit, build, opening

from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Observation
from viva.core.transcript import Message, Reply, ToolCall
from viva.subjects.function import FunctionSubject


async def ask(
    target: Any, *texts: str, data: Any = None, arguments: dict[str, Any] | None = None, **more: Any
) -> Reply:
    subject = FunctionSubject.of(target, **(arguments or {}))
    session = await subject.open(opening(**more))
    reply = [await session.send(Message(text=text, data=data)) for text in texts][-1]
    await session.close()
    await subject.close()
    return reply


class Callable_:
    def __call__(self, question: str) -> str:
        return f"called {question}"


class Sending:
    def __init__(self, greeting: str = "hi") -> None:
        self.greeting = greeting

    async def send(self, text: str, history: list[Any]) -> str:
        return f"{self.greeting} {text} {len(history)}"


class Static:
    @staticmethod
    def send(text: str) -> str:
        return f"static {text}"


def by_message(message: Message, session: dict[str, Any]) -> str:
    session["n"] = session.get("n", 0) + 1
    return f"{message.text} {message.data} {session['n']}"


def keyword_only(*, text: str, model: str | None = None) -> str:
    return f"{text} {model}"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (lambda text: text.upper(), "B"),
        (lambda anything: anything, "b"),
        (lambda text, history: text + "".join(entry["role"][0] for entry in history), "bua"),
        (lambda messages: str(len(messages)), "3"),
        (by_message, "b {'n': 1} 2"),
        (lambda input: str(input), "{'n': 1}"),
        (lambda text, data, optional=7: f"{data} {optional}", "{'n': 1} 7"),
        (keyword_only, "b m"),
        (Callable_, "called b"),
        (Callable_(), "called b"),
        (Sending, "hi b 2"),
        (Sending("yo"), "yo b 2"),
        (Static, "static b"),
        (functools.partial(lambda greeting, text: f"{greeting} {text}", "hey"), "hey b"),
        (str.upper, "B"),
        (lambda *args: args[0], "b"),
    ],
)
async def test_an_agent_is_called_by_the_names_of_its_parameters(target: Any, said: str) -> None:
    reply = await ask(target, "a", "b", data={"n": 1}, model="m")
    assert reply.text == said


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (lambda: "x", "takes no message"),
        (lambda text, hystory: "x", "did you mean 'history'"),
        (type("Nothing", (), {}), "neither send"),
        (42, "is no agent"),
    ],
)
def test_an_agent_that_cannot_be_called_is_refused_when_built(target: Any, says: str) -> None:
    with pytest.raises(SuiteError, match=says):
        FunctionSubject.of(target)


@pytest.mark.parametrize(
    ("returned", "reply"),
    [
        ("words", Reply(text="words")),
        ("", Reply(text="", flags=("empty",))),
        (Reply(text="own", data=1), Reply(text="own", data=1)),
        ({"text": "a", "data": {"n": 1}}, Reply(text="a", data={"n": 1})),
        ({"text": "a", "total": 3}, Reply(text="a", data={"text": "a", "total": 3})),
        ({"total": 3}, Reply(text='{"total":3}', data={"total": 3})),
        ([1, 2], Reply(text="[1,2]", data=[1, 2])),
        (7, Reply(text="7", data=7)),
        (
            {"text": "a", "tool_calls": [{"name": "look", "arguments": {"x": 1}}]},
            Reply(text="a", tool_calls=(ToolCall(name="look", arguments={"x": 1}),)),
        ),
    ],
)
async def test_a_returned_value_becomes_a_reply(returned: Any, reply: Reply) -> None:
    assert await ask(lambda text: returned, "a") == reply


async def test_arguments_of_the_suite_reach_functions_and_classes() -> None:
    assert (await ask(lambda text, tone: f"{tone} {text}", "a", arguments={"tone": "kind"})).text == "kind a"
    assert (await ask(Sending, "a", arguments={"greeting": "servus"})).text == "servus a 0"


async def test_state_ingest_and_close_are_used_where_a_class_has_them() -> None:
    closed = []

    class Full:
        def __init__(self) -> None:
            self.texts: list[str] = []

        def send(self, text: str) -> str:
            return text

        async def ingest(self, text: str) -> None:
            self.texts.append(text)

        def observe(self, key: str) -> Any:
            return {key: self.texts}

        def close(self) -> None:
            closed.append(True)

    subject = FunctionSubject.of(Full)
    session = await subject.open(opening())
    await session.ingest("doc")
    assert await session.observe(Observation(key="memory")) == {"memory": ["doc"]}
    await session.close()
    await session.close()
    await subject.close()
    assert closed == [True]


async def test_what_an_agent_cannot_do_is_said() -> None:
    session = await FunctionSubject.of(lambda text: text).open(opening())
    with pytest.raises(SubjectError) as seen:
        await session.observe(Observation(key="state"))
    assert seen.value.kind == "not_observable"
    assert session.ingest is None


async def test_an_importable_agent_must_be_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pet_agent.py").write_text("def reply(text):\n    return 'woof ' + text\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SuiteError, match="not allowed"):
        build("function", {"target": "pet_agent:reply"})
    subject = build("function", {"target": "pet_agent:reply"}, SubjectKit(allow=("pet_agent",)))
    session = await subject.open(opening())
    assert (await session.send(Message(text="a"))).text == "woof a"
    assert subject.endpoint == "function:pet_agent:reply"
    await subject.close()
