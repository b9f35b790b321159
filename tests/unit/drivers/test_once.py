"""once: one message, one reply."""

from __future__ import annotations

from typing import Any

import pytest

from viva.core.case import Case
from viva.core.errors import DriverError
from viva.core.transcript import Turn
from viva.drivers.once import Once, OnceSettings
from viva.testing.contracts import check_driver


class Said:
    """Remembers what was said."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.said: list[tuple[str, Any]] = []

    async def say(self, text: str, data: Any = None, **_: Any) -> Turn:
        self.said.append((text, data))
        return Turn(role="assistant", text="ok")


@pytest.mark.parametrize(
    ("given", "text", "data"),
    [("Hi", "Hi", None), ("", "", None), ({"a": [1]}, '{"a":[1]}', {"a": [1]}), (["é"], '["é"]', ["é"]), (0, "0", 0)],
)
async def test_the_input_is_sent_as_text_or_as_data_with_its_json(given: Any, text: str, data: Any) -> None:
    conversation = Said(Case(id="c", input=given))
    stop = await Once(OnceSettings(), None).drive(conversation)  # type: ignore[arg-type]
    assert conversation.said == [(text, data)]
    assert stop.kind == "completed" and stop.because


async def test_a_case_without_input_is_a_drivers_error() -> None:
    with pytest.raises(DriverError, match="'c' has no input") as caught:
        await Once(OnceSettings(), None).drive(Said(Case(id="c")))  # type: ignore[arg-type]
    assert caught.value.kind == "no_input"


async def test_it_keeps_the_contract_of_drivers() -> None:
    await check_driver(Once(OnceSettings(), None), Case(id="c", input="Hi"))  # type: ignore[arg-type]
