"""Filling templates: one pass, own types, nothing smuggled."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.core.errors import SuiteError
from viva.subjects.template import Template, TextTemplate

KNOWN = {"message", "session", "data"}


@pytest.mark.parametrize(
    ("source", "values", "filled"),
    [
        ("{message}", {"message": "a"}, "a"),
        ("{data}", {"data": {"n": [1]}}, {"n": [1]}),
        ("x {data} y", {"data": {"n": 1}}, 'x {"n":1} y'),
        ("{{message}}", {"message": "a"}, "{message}"),
        ({"a": ["{message}", 1, None, True]}, {"message": "b"}, {"a": ["b", 1, None, True]}),
        ({"kept": None, "gone": "{data}", "text": "-{data}-"}, {"data": None}, {"kept": None, "text": "--"}),
        ("", {}, ""),
        ("} { {}", {}, "} { {}"),
    ],
)
def test_values_are_put_in(source: Any, values: dict[str, Any], filled: Any) -> None:
    assert Template(source, KNOWN).fill(values) == filled


@given(st.text(), st.text())
def test_a_value_is_never_read_again(message: str, session: str) -> None:
    filled = Template({"q": "<{message}|{session}>", "w": "{message}"}, KNOWN).fill(
        {"message": message, "session": session}
    )
    assert filled == {"q": f"<{message}|{session}>", "w": message}


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_a_value_in_a_path_cannot_leave_its_place(session: str) -> None:
    path = TextTemplate("http://h/chats/{session}/x", KNOWN, quoted=True).fill({"session": session})
    inside = path.removeprefix("http://h/chats/").removesuffix("/x")
    assert not set(inside) & set("/?#@:\\ \r\n")


def test_an_unknown_name_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(SuiteError, match="did you mean 'session'"):
        Template(["{sesion}"], KNOWN)
