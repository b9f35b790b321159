"""field: dotted paths and jq, every comparison, and a name for what is missing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.core.errors import SuiteError
from viva.core.evidence import Evidence, Observed
from viva.core.score import Score, ScoreError
from viva.scoring.checks.jq import JqWorker, check_program
from viva.scoring.path import follow, parse_path
from viva.scoring.reading import AbsentError

Build = Callable[..., Any]
Answered = Callable[..., Evidence]

ORDER = {
    "total": 12.1,
    "paid": True,
    "name": "Ada Lovelace",
    "items": [{"sku": "a", "n": 2}, {"sku": "b", "n": 1}],
    "note": None,
    "x.y": {"z": 1},
}


async def only(scorer: Any, evidence: Evidence) -> Score | ScoreError:
    (score,) = await scorer.score(evidence)
    return score


@pytest.mark.parametrize(
    ("settings", "passes"),
    [
        ({"path": "total", "equals": 12.1}, True),
        ({"path": "total", "equals": "12.1"}, True),
        ({"path": "total", "equals": 12}, False),
        ({"path": "total", "equals": 12, "tolerance": 0.1}, True),
        ({"path": "total", "equals": 12, "tolerance": 0.05}, False),
        ({"path": "total", "equals": 12, "relative": 0.01}, True),
        ({"path": "total", "at_least": 12, "at_most": 13}, True),
        ({"path": "total", "at_most": 12}, False),
        ({"path": "name", "at_least": 1}, False),
        ({"path": "paid", "equals": True}, True),
        ({"path": "paid", "equals": "True"}, True),
        ({"path": "paid", "equals": "true"}, True),
        ({"path": "paid", "equals": 1}, False),
        ({"path": "paid", "equals": "False"}, False),
        ({"path": "note", "equals": None}, True),
        ({"path": "note", "equals": ""}, False),
        ({"path": "note", "present": True}, True),
        ({"path": "name", "not_equals": "Bob"}, True),
        ({"path": "name", "not_equals": "Ada Lovelace"}, False),
        ({"path": "name", "fuzzy": 90, "equals": "Ada Lovelac"}, True),
        ({"path": "name", "fuzzy": 99, "equals": "Ada Lovelac"}, False),
        ({"path": "name", "one_of": ["Bob", "Ada Lovelace"]}, True),
        ({"path": "name", "one_of": ["Bob"]}, False),
        ({"path": "name", "matches": "^Ada"}, True),
        ({"path": "name", "matches": "^ada"}, False),
        ({"path": "items[0].sku", "equals": "a"}, True),
        ({"path": "items.1.sku", "equals": "b"}, True),
        ({"path": "items[-1].sku", "equals": "b"}, True),
        ({"path": '["x.y"].z', "equals": 1}, True),
        ({"path": "items", "equals": [{"sku": "a", "n": 2}, {"sku": "b", "n": 1}]}, True),
        ({"path": "gone", "absent": True}, True),
        ({"path": "gone", "present": False}, True),
        ({"path": "name", "absent": True}, False),
        ({"path": "gone", "present": True}, False),
        ({"path": "gone", "not_equals": "x"}, False),
    ],
)
async def test_a_field_is_compared(
    build_scorer: Build, answered: Answered, settings: dict[str, Any], passes: bool
) -> None:
    score = await only(build_scorer("field", **settings), answered("", ORDER))
    assert isinstance(score, Score) and score.passed is passes, score
    assert passes or score.reason


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("totl", "there are: total, paid, name, items, note, x.y; did you mean 'total'?"),
        ("items[5].sku", "the list has 2 items"),
        ("items.first", "is a list; use an index"),
        ("total.x", "'total' is float"),
        ("note.x", "'note' is null"),
        ("items[0].prce", "in 'items[0]'; there are: sku, n"),
    ],
)
async def test_a_missing_field_is_a_named_outcome(
    build_scorer: Build, answered: Answered, path: str, said: str
) -> None:
    score = await only(build_scorer("field", path=path, equals=""), answered("", ORDER))
    assert isinstance(score, Score) and score.passed is False
    assert score.detail == {"outcome": "missing"}
    assert "is missing" in score.reason and said in score.reason


async def test_without_a_comparison_the_cases_expected_counts(build_scorer: Build, answered: Answered) -> None:
    scorer = build_scorer("field", path="name")
    assert (await only(scorer, answered("", ORDER, expected="Ada Lovelace"))).passed is True
    assert (await only(scorer, answered("", ORDER, expected="Bob"))).passed is False
    assert (await only(scorer, answered("", ORDER))).kind == "no_expected"


async def test_the_field_may_be_in_the_text_or_the_state(build_scorer: Build, answered: Answered) -> None:
    text = build_scorer("field", path="a", of="text", equals=1)
    assert (await only(text, answered('{"a": 1}', {"a": 2}))).passed is True
    assert (await only(text, answered("sorry", {"a": 1}))).detail["outcome"] == "not_json"
    state = build_scorer("field", path="a", of="state", equals=1)
    assert [look.key for look in state.observations()] == ["state"]
    assert (await only(state, answered("x", state={"state": Observed(value={"a": 1})}))).passed is True


async def test_a_failed_observation_is_an_error_and_never_a_fail(build_scorer: Build, answered: Answered) -> None:
    scorer = build_scorer("field", path="a", of="state", absent=True)
    broken = await only(scorer, answered("x", state={"state": Observed(error="timed_out", detail="no answer")}))
    assert isinstance(broken, ScoreError) and broken.kind == "observation_failed" and "timed_out" in broken.detail
    assert (await only(scorer, answered("x"))).kind == "not_observed"


async def test_prose_in_place_of_data_does_not_prove_that_a_field_is_absent(
    build_scorer: Build, answered: Answered
) -> None:
    score = await only(build_scorer("field", path="a", absent=True), answered("I am sorry, I crashed"))
    assert score.passed is False and score.detail["outcome"] == "not_json"


DECISION = {
    "Determination": "Approved",
    "DetailedAnalysis": {
        "PolicyCriteriaAssessment": [{"Assessment": "Fully Met"}, {"Assessment": "Not Met"}],
        "MissingInformation": [],
    },
}


@pytest.mark.parametrize(
    ("program", "wanted"),
    [
        (".Determination", "Approved"),
        ('.DetailedAnalysis.PolicyCriteriaAssessment | map(.Assessment) | any(. != "Fully Met")', "True"),
        ('[.DetailedAnalysis.PolicyCriteriaAssessment[] | select(.Assessment == "Not Met")] | length', 1),
        ('all(.DetailedAnalysis.PolicyCriteriaAssessment[]; .Assessment == "Fully Met")', False),
        (".DetailedAnalysis.MissingInformation", []),
    ],
)
async def test_a_jq_program_finds_the_field(build_scorer: Build, answered: Answered, program: str, wanted: Any) -> None:
    score = await only(build_scorer("field", jq=program, equals=wanted), answered("", DECISION))
    assert isinstance(score, Score) and score.passed is True, score


async def test_jq_that_cannot_be_applied_is_an_error_and_not_an_empty_text(
    build_scorer: Build, answered: Answered
) -> None:
    score = await only(build_scorer("field", jq=".gone[]", equals=""), answered("", DECISION))
    assert isinstance(score, ScoreError) and score.kind == "jq_error" and "iterate over null" in score.detail
    assert (await only(build_scorer("field", jq="empty", equals=""), answered("", {}))).kind == "jq_empty"
    assert (await only(build_scorer("field", jq=".a", absent=True), answered("prose"))).passed is False


@pytest.mark.parametrize(
    "program",
    ["env.HOME", "$ENV.HOME", '. as $x | $ENV', 'import "a" as a; .', 'include "a"; .', "input", "[inputs]", "debug",
     "halt", "input_filename", "(", "nosuchfunction", "." * 3000],
)  # fmt: skip
def test_a_jq_program_cannot_ask_for_more_than_the_data(program: str) -> None:
    with pytest.raises(SuiteError):
        check_program(program)


def test_fields_that_are_called_like_forbidden_words_are_fine() -> None:
    for program in (".env", ".a.input", '."env"', '.["env"]', '{"env": 1}'):
        check_program(program)


def test_a_jq_program_that_never_ends_is_ended_and_the_next_one_works() -> None:
    worker = JqWorker()
    try:
        assert worker.first(".a", {"a": 1}) == 1
        began = time.monotonic()
        with pytest.raises(Exception, match="jq") as caught:
            worker.first("def f: f; f", {})
        assert caught.value.kind in ("jq_timed_out", "jq_died")  # type: ignore[attr-defined]
        assert time.monotonic() - began < 20
        assert worker.first("[.[] | . + 1]", [1, 2]) == [2, 3]
    finally:
        worker.close()


@given(st.recursive(st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=3), inner)))
def test_every_leaf_can_be_reached_by_its_path(data: Any) -> None:
    for path, leaf in leaves(data):
        assert follow(data, parse_path(path)) == leaf


def leaves(data: Any, path: str = "") -> Any:
    if isinstance(data, dict):
        for key, item in data.items():
            import json

            yield from leaves(item, f"{path}[{json.dumps(key)}]")
    elif isinstance(data, list):
        for index, item in enumerate(data):
            yield from leaves(item, f"{path}[{index}]")
    else:
        yield path, data


@pytest.mark.parametrize("path", ["a..b", "a[", "a]", "a['b']", 'a["b', "[x]", "a" * 501])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(SuiteError):
        parse_path(path)


def test_a_path_into_hostile_data_ends_in_an_absence() -> None:
    for data in (None, 1, "text", [], {}, [[]], {"a": "b"}):
        with pytest.raises(AbsentError):
            follow(data, parse_path("a.b.c"))
