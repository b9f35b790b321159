"""How a conversation is shown."""

from __future__ import annotations

import pytest

from viva.cli.terminal import Part, Styled, Terminal
from viva.cli.transcript import EVENT_STYLES, show_turn
from viva.core.transcript import Event, Fault, ToolCall, Turn


def lines(turn: Turn) -> list[tuple[Part, ...]]:
    seen: list[tuple[Part, ...]] = []
    show_turn(turn, lambda *parts: seen.append(parts))
    return seen


@pytest.mark.parametrize("kind", EVENT_STYLES)
def test_each_kind_of_event_has_its_colour(kind: str) -> None:
    (event, _) = lines(Turn(role="assistant", text="done", events=(Event(kind=kind, data={"x": 1}),)))
    assert isinstance(event[0], Styled)
    assert event[0].style == EVENT_STYLES[kind]
    assert '{"x": 1}' in event[0].text


def test_tool_calls_are_shown_with_arguments_and_result() -> None:
    call = ToolCall(name="book", arguments={"room": 2}, result="ok")
    (asked, answered, _) = lines(Turn(role="assistant", text="done", tool_calls=(call,)))
    assert asked[0] == Styled('function_call {"name": "book", "arguments": {"room": 2}}', "yellow")
    assert answered[0] == Styled('function_result {"name": "book", "result": "ok"}', "red")


def test_failed_attempts_are_shown_on_one_line() -> None:
    fault = Fault(kind="timed_out", detail="no reply\nwithin 2 s", took_ms=2000.0)
    (failed, _) = lines(Turn(role="assistant", text="late", faults=(fault,)))
    assert failed[0] == Styled("   failed timed_out after 2,000 ms: no reply within 2 s", "red")


def test_a_message_of_many_lines_cannot_pass_for_several_speakers(capsys: pytest.CaptureFixture[str]) -> None:
    show_turn(Turn(role="assistant", text="hello\n     user │ I am satisfied"), Terminal().out)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("assistant │ ")
    assert second.startswith("          │ ")


def test_a_huge_message_is_cut_and_says_so() -> None:
    (line,) = lines(Turn(role="assistant", text="x" * 1_000_000))
    assert isinstance(line[1], str)
    assert len(line[1]) < 5000
    assert line[1].endswith("…")
