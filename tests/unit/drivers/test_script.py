"""script: fixed turns, waits, and expectations that are noted for the scorers."""

from __future__ import annotations

from typing import Any

import pytest

from viva.core.case import Case
from viva.core.errors import DriverError, SuiteError
from viva.core.transcript import Turn
from viva.drivers.script import Script
from viva.ports.driver import Stop
from viva.registry import Registry
from viva.testing.contracts import check_driver


class Talk:
    """Answers from a list, and remembers what was said and waited."""

    def __init__(self, replies: list[str | Turn], case: Case | None = None) -> None:
        self.case = case or Case(id="c")
        self.replies = list(replies)
        self.log: list[Any] = []

    async def say(self, text: str, data: Any = None, **_: Any) -> Turn:
        self.log.append(text if data is None else (text, data))
        reply = self.replies.pop(0)
        return reply if isinstance(reply, Turn) else Turn(role="assistant", text=reply)

    async def wait(self, seconds: float) -> None:
        self.log.append(seconds)


def script(*turns: Any, **settings: Any) -> Script:
    built: Script = Registry().build("drivers", "script", {"turns": list(turns), **settings}, None)
    return built


async def drive(driver: Script, talk: Talk) -> Stop:
    return await driver.drive(talk)  # type: ignore[arg-type]


async def test_lines_are_said_in_order_with_their_waits() -> None:
    talk = Talk(["a", "b", "c"])
    stop = await drive(script("one", {"say": "two", "wait_s": 1.5}, {"data": {"n": 1}}), talk)
    assert talk.log == ["one", 1.5, "two", ('{"n":1}', {"n": 1})]
    assert stop.because == "the script is at its end" and stop.notes == {}


@pytest.mark.parametrize(
    ("expect", "reply", "met"),
    [
        ("Paris", "It is Paris", True),
        ("Paris", "It is Lyon", False),
        ({"contains": "PARIS", "ignore_case": True}, "paris", True),
        ({"regex": r"\d{4}"}, "in 2026", True),
        ({"regex": r"^\d{4}$"}, "in 2026", False),
        ({"expression": "size(text) > 3"}, "long", True),
        ({"expression": "size(text) > 3 && turn == 2"}, "long", False),
        ({"contains": "a", "regex": "b"}, "a", False),
    ],
)
async def test_expectations_are_noted(expect: Any, reply: str, met: bool) -> None:
    stop = await drive(script({"say": "?", "expect": expect}), Talk([reply]))
    (note,) = stop.notes["expectations"]
    assert (note["turn"], note["met"]) == (1, met)
    assert note["expected"] and bool(note["reason"]) is not met


async def test_an_expectation_may_look_at_the_data_of_the_reply() -> None:
    driver = script({"say": "?", "expect": {"expression": "output.total == 12"}})
    stop = await drive(driver, Talk([Turn(role="assistant", text="", data={"total": 12})]))
    assert stop.notes["expectations"][0]["met"] is True


async def test_an_expectation_that_cannot_be_told_is_not_a_miss() -> None:
    driver = script({"say": "?", "expect": {"expression": "output.total == 12"}, "stop_on_miss": True}, "next")
    talk = Talk([Turn(role="assistant", text="", data={"sum": 12}), "b"])
    stop = await drive(driver, talk)
    (note,) = stop.notes["expectations"]
    assert note["met"] is None and note["error"] == "no_such_field" and "there are: sum" in note["reason"]
    assert talk.log == ["?", "next"]


@pytest.mark.parametrize("everywhere", [True, False])
async def test_a_miss_ends_the_script_where_it_says_so(everywhere: bool) -> None:
    first = {"say": "one", "expect": "yes", "stop_on_miss": not everywhere}
    talk = Talk(["no", "never"])
    stop = await drive(script(first, "two", stop_on_miss=everywhere), talk)
    assert talk.log == ["one"] and stop.because == "turn 1 was not answered as expected"
    assert stop.notes["expectations"][0]["met"] is False


async def test_without_turns_the_cases_input_is_said() -> None:
    talk = Talk(["a", "b"], Case(id="c", input=["one", "two"]))
    await drive(script(), talk)
    assert talk.log == ["one", "two"]
    with pytest.raises(DriverError, match="no turns to say"):
        await drive(script(), Talk([]))


@pytest.mark.parametrize(
    "turn",
    [
        {"say": ""},
        {"say": "x", "wait_s": -1},
        {"say": "x", "expect": {}},
        {"say": "x", "expect": {"regex": "("}},
        {"say": "x", "expect": {"expression": "txt == 1"}},
        {"sya": "x"},
    ],
)
def test_a_script_that_cannot_be_meant_is_refused_at_load(turn: dict[str, Any]) -> None:
    with pytest.raises(SuiteError):
        script(turn)


async def test_it_keeps_the_contract_of_drivers() -> None:
    await check_driver(script("one", {"say": "two", "expect": "ok"}), Case(id="c"))
