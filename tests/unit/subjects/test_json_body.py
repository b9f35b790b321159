"""JSON of any soundness, and paths into it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.core.data import to_json
from viva.core.errors import SuiteError
from viva.subjects.json_body import MISSING, JsonPath, read_json, write_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_sound_json_is_read_as_it_is(value: Any) -> None:
    assert read_json(json.dumps(value).encode()) == value


@given(st.binary())
def test_any_bytes_are_json_that_can_be_stored_or_a_value_error(body: bytes) -> None:
    try:
        value = read_json(body)
    except ValueError:
        return
    to_json(value)


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_can_be_sent(text: str) -> None:
    json.loads(write_json({"message": text}))


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("a.0.b", 1),
        ("a.-1.b", 2),
        ("a.5.b", MISSING),
        ("a.x", MISSING),
        ("a.0.b.c", MISSING),
        ("n", None),
        ("7", "seven"),
        ("dot\\.ted", "dots"),
        ("nothing", MISSING),
    ],
)
def test_a_path_finds_what_is_there_and_tells_null_from_missing(path: str, found: Any) -> None:
    data = {"a": [{"b": 1}, {"b": 2}], "n": None, "7": "seven", "dot.ted": "dots"}
    assert JsonPath(path).find(data) == found


@pytest.mark.parametrize("path", [".", "a.", ".a", "a..b"])
def test_a_path_with_an_empty_step_is_refused(path: str) -> None:
    with pytest.raises(SuiteError):
        JsonPath(path)
