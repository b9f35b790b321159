"""equals, regex, contains, json_schema: pass, fail with a reason, or an error with a name."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viva.core.errors import SuiteError
from viva.core.evidence import Evidence
from viva.core.score import Score, ScoreError
from viva.core.transcript import Turn

Build = Callable[..., Any]
Answered = Callable[..., Evidence]


async def only(scorer: Any, evidence: Evidence) -> Score | ScoreError:
    (score,) = await scorer.score(evidence)
    return score


@pytest.mark.parametrize(
    ("expected", "text", "settings", "passes"),
    [
        ("Paris", "Paris", {}, True),
        ("Paris", "paris", {}, False),
        ("Paris", " Paris", {}, False),
        ("Paris", " paris!\n", {"normalised": True}, True),
        ("New York", "new   york.", {"normalised": True}, True),
        ("É", "é", {"normalised": True}, True),
        ("Rejected", "Approved", {}, False),
        ("Rejected", "Approved", {"normalised": True}, False),
        ("policies/001.pdf", "policies/002.pdf", {"normalised": True}, False),
        ("", "", {}, True),
    ],
)
async def test_equals_is_exact_unless_normalised(
    build_scorer: Build, answered: Answered, expected: str, text: str, settings: dict[str, Any], passes: bool
) -> None:
    score = await only(build_scorer("equals", **settings), answered(text, expected=expected))
    assert isinstance(score, Score) and score.passed is passes and score.value == float(passes)
    assert passes or "expected" in score.reason


async def test_equals_compares_data_with_data(build_scorer: Build, answered: Answered) -> None:
    scorer = build_scorer("equals", value={"a": [1, True]})
    assert (await only(scorer, answered("x", {"a": [1.0, True]}))).passed is True
    assert (await only(scorer, answered("x", {"a": [1, 1]}))).passed is False
    assert (await only(scorer, answered('{"a": [1, true]}'))).passed is True
    missed = await only(scorer, answered("prose"))
    assert missed.passed is False and missed.detail["outcome"] == "not_json"


async def test_nothing_to_compare_with_is_an_error_and_not_a_pass(build_scorer: Build, answered: Answered) -> None:
    for name in ("equals", "fuzzy", "token_f1"):
        score = await only(build_scorer(name), answered("Paris"))
        assert isinstance(score, ScoreError) and score.kind == "no_expected"


@pytest.mark.parametrize(
    ("settings", "text", "passes"),
    [
        ({"text": "Paris"}, "It is Paris.", True),
        ({"text": "paris"}, "It is Paris.", False),
        ({"text": "PARIS", "ignore_case": True}, "It is Paris.", True),
        ({"text": ("Paris", "France")}, "Paris, France", True),
        ({"text": ("Paris", "France")}, "Paris", False),
        ({"any": ("Lyon", "Paris")}, "Paris", True),
        ({"any": ("Lyon", "Nice")}, "Paris", False),
        ({"all": ("a", "b")}, "ab", True),
        ({"none": ("sorry",)}, "Paris", True),
        ({"none": ("sorry",)}, "sorry, Paris", False),
        ({"text": "Paris", "none": ("Lyon",)}, "Paris and Lyon", False),
    ],
)
async def test_contains(
    build_scorer: Build, answered: Answered, settings: dict[str, Any], text: str, passes: bool
) -> None:
    score = await only(build_scorer("contains", **settings), answered(text))
    assert isinstance(score, Score) and score.passed is passes
    assert passes or score.reason


@pytest.mark.parametrize(
    ("settings", "passes"),
    [
        ({"pattern": r"\bParis\b"}, True),
        ({"pattern": "^paris"}, False),
        ({"pattern": "^it.*paris\\.$", "ignore_case": True}, True),
        ({"pattern": "Paris", "whole": True}, False),
        ({"pattern": "Lyon", "absent": True}, True),
        ({"pattern": "Paris", "absent": True}, False),
    ],
)
async def test_regex(build_scorer: Build, answered: Answered, settings: dict[str, Any], passes: bool) -> None:
    assert (await only(build_scorer("regex", **settings), answered("It is Paris."))).passed is passes


async def test_a_search_that_costs_too_much_is_an_error_and_not_a_fail(build_scorer: Build, answered: Answered) -> None:
    score = await only(build_scorer("regex", pattern="x"), answered("y" * 1_000_001))
    assert isinstance(score, ScoreError) and score.kind == "too_large"


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("regex", {"pattern": "("}),
        ("regex", {"pattern": "(?=a)"}),
        ("regex", {}),
        ("contains", {}),
        ("contains", {"text": ""}),
        ("contains", {"txet": "a"}),
        ("json_schema", {}),
        ("json_schema", {"schema": {"type": "nonsense"}}),
        ("json_schema", {"schema": {"pattern": "(?=a)"}}),
        ("json_schema", {"schema": {"properties": {"a": {"pattern": "("}}}}),
        ("timing", {}),
        ("timing", {"target_ms": 0}),
        ("timing", {"target_ms": -1}),
        ("field", {}),
        ("field", {"path": "a", "jq": ".a"}),
        ("field", {"path": "a[", "present": True}),
        ("field", {"path": "a", "matches": "("}),
        ("field", {"path": "a", "tolerance": -1}),
        ("expression", {}),
        ("expression", {"source": "stat == 1"}),
        ("expression", {"source": "fun x()", "language": "kotlin"}),
        ("tools", {}),
        ("cost", {"at_most": -1}),
    ],
)
def test_what_cannot_be_meant_is_the_authors_error_at_load(
    build_scorer: Build, name: str, settings: dict[str, Any]
) -> None:
    with pytest.raises(SuiteError):
        build_scorer(name, **settings)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("equals", {"value": "x"}),
        ("regex", {"pattern": "x", "absent": True}),
        ("contains", {"none": ("x",)}),
        ("json_schema", {"schema": {}}),
        ("field", {"path": "a", "absent": True}),
        ("field", {"jq": ".a", "equals": None}),
        ("expression", {"source": "true"}),
        ("tools", {"not_called": "x"}),
        ("expectations", {}),
        ("fuzzy", {"value": "x"}),
        ("token_f1", {"value": "x"}),
        ("timing", {"target_ms": 1}),
        ("turns", {}),
        ("cost", {}),
    ],
)
async def test_an_agent_that_never_answered_has_no_score(
    build_scorer: Build, answered: Answered, name: str, settings: dict[str, Any]
) -> None:
    score = await only(build_scorer(name, **settings), answered(turns=(Turn(role="user", text="?"),)))
    assert isinstance(score, ScoreError) and score.kind == "no_reply"


async def test_json_schema_names_the_field_that_is_wrong(build_scorer: Build, answered: Answered) -> None:
    schema = {"type": "object", "required": ["total"], "properties": {"total": {"type": "number"}}}
    scorer = build_scorer("json_schema", schema=schema)
    assert (await only(scorer, answered("", {"total": 1}))).passed is True
    assert (await only(scorer, answered('```json\n{"total": 1}\n```'))).passed is True
    wrong = await only(scorer, answered("", {"total": "1"}))
    assert wrong.passed is False and "total" in wrong.reason
    assert (await only(scorer, answered("", {}))).passed is False
    assert (await only(scorer, answered("no json"))).detail["outcome"] == "not_json"


async def test_json_schema_reads_its_file_and_hashes_what_is_in_it(
    build_scorer: Build, answered: Answered, tmp_path: Path
) -> None:
    hashes = []
    for kind in ("number", "string"):
        (tmp_path / "s.json").write_text(json.dumps({"type": kind}))
        scorer = build_scorer("json_schema", schema="s.json", path="a")
        hashes.append(scorer.hash)
    assert (await only(scorer, answered("", {"a": "x"}))).passed is True
    assert hashes[0] != hashes[1]


async def test_json_schema_uses_bounded_patterns_and_follows_no_reference_outside(
    build_scorer: Build, answered: Answered
) -> None:
    slow = build_scorer("json_schema", schema={"type": "string", "pattern": "^(a+)+$"})
    assert (await only(slow, answered(json.dumps("a" * 50_000 + "b")))).passed is False
    names = build_scorer("json_schema", schema={"patternProperties": {"^x": {"type": "number"}}})
    assert (await only(names, answered("", {"x1": "a"}))).passed is False
    outside = build_scorer("json_schema", schema={"$ref": "http://127.0.0.1:9/schema.json"})
    assert (await only(outside, answered("", {"a": 1}))).kind == "schema_error"


async def test_json_schema_that_refers_to_itself_without_end_is_an_error(
    build_scorer: Build, answered: Answered
) -> None:
    loop = build_scorer("json_schema", schema={"$ref": "#"})
    assert (await only(loop, answered("", {}))).kind in ("too_deep", "too_costly")
    doubling: dict[str, Any] = {"$defs": {"d0": {"type": "object"}}, "$ref": "#/$defs/d30"}
    for level in range(30):
        both = [{"$ref": f"#/$defs/d{level}"}, {"$ref": f"#/$defs/d{level}"}]
        doubling["$defs"][f"d{level + 1}"] = {"allOf": both}
    assert (await only(build_scorer("json_schema", schema=doubling), answered("", {}))).kind == "too_costly"


async def test_scores_are_signed_and_labelled(build_scorer: Build, answered: Answered) -> None:
    scorer = build_scorer("contains", text="Paris")
    score = await only(scorer, answered("Paris"))
    assert (score.name, score.scorer, score.section) == ("contains: Paris", "contains@1", "checks")
    assert score.hash == scorer.hash != build_scorer("contains", text="Lyon").hash
