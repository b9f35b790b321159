"""Claims about the world: rows, pictures, probes."""

import pytest

from viva.core.case import Case
from viva.core.errors import SuiteError
from viva.core.evidence import Evidence, Observed
from viva.core.score import Score, ScoreError
from viva.core.transcript import Transcript, Turn
from viva.core.variant import Variant
from viva.scoring.checks.cypher import Cypher, QuerySettings
from viva.scoring.checks.probe import Probe, ProbeSettings
from viva.scoring.checks.rows import RowsSettings, compare, same
from viva.scoring.checks.sql import Sql, SqlSettings
from viva.scoring.checks.unchanged import Unchanged, UnchangedSettings

COUNT = "MATCH (r:Reminder) RETURN count(r) AS count"


def evidence(**seen):
    talk = Transcript(turns=(Turn(role="user", text="hi"), Turn(role="assistant", text="done")))
    return Evidence(trial="t", case=Case(id="c"), variant=Variant(), transcript=talk, **seen)


async def only(scorer, seen):
    found = await scorer.score(seen)
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("seen", "wanted", "equal"),
    [
        (1, 1, True), (1, "1", True), ("1", 1, True), (1, 1.0, True), (True, True, True), (True, "true", True),
        ("false", False, True), (None, None, True), ("Paris", "Paris", True), ([1, "a"], (1.0, "a"), True),
        (2, 1, False), (True, 1, False), (0, False, False), (None, 0, False), ("", None, False), ("x", 1, False),
        ("paris", "Paris", False), ([1], [1, 2], False), ({"a": 1}, {"a": "1"}, True), ("maybe", True, False),
    ],
)  # fmt: skip
def test_values_are_equal_as_a_person_means_it(seen, wanted, equal):
    assert same(seen, wanted) is equal


def test_a_table_may_come_in_any_order_unless_order_matters():
    rows = [{"a": 2}, {"a": 1}]
    table = ({"a": 1}, {"a": 2})
    assert compare(rows, RowsSettings(table=table))[0]
    assert not compare(rows, RowsSettings(table=table, ordered=True))[0]


def test_a_failed_table_shows_what_is_missing_and_what_is_extra():
    holds, reason = compare([{"a": 1}, {"a": 3}], RowsSettings(table=({"a": 1}, {"a": 2})))
    assert not holds
    assert "- a: 2" in reason
    assert "+ a: 3" in reason


@pytest.mark.parametrize("rows", [[], [{"n": 1}, {"n": 2}], [{"n": 1, "m": 2}]])
def test_zero_or_many_rows_or_columns_fail_with_the_reason(rows):
    holds, reason = compare(rows, RowsSettings(expected=1))
    assert not holds
    assert "expected one value" in reason


async def test_the_count_of_one_passes_against_the_integer_one():
    check = Cypher(QuerySettings(query=COUNT, expected=1), None)
    key = check.observations()[0].key
    score = await only(check, evidence(state={key: Observed(value=[{"count": 1}])}))
    assert isinstance(score, Score)
    assert score.passed


async def test_a_wrong_count_fails_and_says_both_numbers():
    check = Cypher(QuerySettings(query=COUNT, expected=1), None)
    score = await only(check, evidence(state={check.observations()[0].key: Observed(value=[{"count": 0}])}))
    assert score.passed is False
    assert score.reason == "expected 1, got 0"


async def test_a_broken_query_is_an_error_never_a_fail():
    check = Cypher(QuerySettings(query=COUNT, expected=1), None)
    seen = Observed(error="graph_unreachable", detail="no graph answers")
    score = await only(check, evidence(state={check.observations()[0].key: seen}))
    assert isinstance(score, ScoreError)
    assert score.kind == "graph_unreachable"


async def test_a_query_that_was_never_asked_is_an_error():
    score = await only(Cypher(QuerySettings(query=COUNT, expected=1), None), evidence())
    assert score.kind == "not_observed"


def test_a_null_may_be_expected():
    Cypher(QuerySettings(query="MATCH (n) RETURN n.x AS x", expected=None), None)


@pytest.mark.parametrize("settings", [{}, {"expected": 1, "empty": True}])
def test_exactly_one_expectation_is_asked_for(settings):
    with pytest.raises(SuiteError, match="exactly one expectation"):
        Cypher(QuerySettings(query=COUNT, **settings), None)


def test_a_writing_query_is_refused_when_the_suite_is_loaded():
    with pytest.raises(SuiteError, match="not read-only"):
        Cypher(QuerySettings(query="MATCH (n) DELETE n", expected=1), None)


def test_polling_ends_when_the_claim_holds():
    check = Cypher(QuerySettings(query=COUNT, at_least=2, poll_s=5), None)
    look = check.observations()[0]
    assert look.poll_s == 5
    assert not check.settled(look, Observed(value=[{"count": 1}]))
    assert not check.settled(look, Observed(error="graph_timeout"))
    assert check.settled(look, Observed(value=[{"count": 2}]))


async def test_sql_passes_its_values_as_parameters():
    check = Sql(SqlSettings(query="SELECT count(*) AS n FROM r WHERE t = ?", values=("x",), expected=1), None)
    look = check.observations()[0]
    assert look.source == "sql"
    assert look.request["parameters"] == ["x"]
    assert (await only(check, evidence(state={look.key: Observed(value=[{"n": 1}])}))).passed


def node(label, **properties):
    return {"labels": [label], "properties": properties}


async def test_only_what_was_meant_may_change_in_the_graph():
    before = Observed(value={"nodes": {"1": node("User", name="Ann")}, "links": {}})
    meant = {"nodes": {"1": node("User", name="Ann"), "2": node("Reminder")}, "links": {"9": {"type": "HAS"}}}
    more = {"nodes": {**meant["nodes"], "1": node("User", name="Bob"), "3": node("Spy")}, "links": meant["links"]}
    check = Unchanged(UnchangedSettings(labels=("Reminder",), relationships=("HAS",)), None)
    key = check.observations()[0].key
    fine = await only(check, evidence(before={key: before}, state={key: Observed(value=meant)}))
    assert fine.passed
    worse = await only(check, evidence(before={key: before}, state={key: Observed(value=more)}))
    assert worse.passed is False
    assert "+ (:Spy {})" in worse.reason
    assert "name: 'Ann'" in worse.reason


async def test_only_what_was_meant_may_change_in_the_state():
    before = Observed(value={"cart": {"items": [], "total": 0}, "user": "ann"})
    after = Observed(value={"cart": {"items": ["tea"], "total": 3}, "user": "bob"})
    check = Unchanged(UnchangedSettings(source="state", paths=("cart",)), None)
    score = await only(check, evidence(before={"state": before}, state={"state": after}))
    assert score.passed is False
    assert "user: 'ann' became 'bob'" in score.reason
    assert "cart" not in score.reason


async def test_a_probe_is_an_expression_over_what_the_call_returned():
    check = Probe(ProbeSettings(url="http://127.0.0.1/x", expression="size(value.mails) == 1"), None)
    key = check.observations()[0].key
    assert (await only(check, evidence(state={key: Observed(value={"mails": ["hi"]})}))).passed
    assert (await only(check, evidence(state={key: Observed(value={"mails": []})}))).passed is False
    broken = await only(check, evidence(state={key: Observed(value={"letters": []})}))
    assert broken.kind == "expression_error"
    assert "letters" in broken.detail
