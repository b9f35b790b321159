"""tools and expectations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from viva.core.evidence import Evidence
from viva.core.score import Score, ScoreError
from viva.core.transcript import ToolCall, Turn

Build = Callable[..., Any]
Answered = Callable[..., Evidence]

CALLS = (
    ToolCall(name="search", arguments={"q": "milk", "limit": 5}),
    ToolCall(name="search", arguments={"q": "bread", "limit": 5}),
    ToolCall(name="buy", arguments={"item": {"sku": "m1", "n": 1}}),
)


async def only(scorer: Any, evidence: Evidence) -> Score | ScoreError:
    (score,) = await scorer.score(evidence)
    return score


@pytest.mark.parametrize(
    ("settings", "passes"),
    [
        ({"called": "search"}, True),
        ({"called": ["search", "buy"]}, True),
        ({"called": ["search", "pay"]}, False),
        ({"called": {"name": "search", "arguments": {"q": "milk"}}}, True),
        ({"called": {"name": "search", "arguments": {"q": "milk"}, "exact": True}}, False),
        ({"called": {"name": "search", "arguments": {"q": "milk", "limit": 5}, "exact": True}}, True),
        ({"called": {"name": "search", "arguments": {"q": "eggs"}}}, False),
        ({"called": {"name": "buy", "arguments": {"item": {"sku": "m1"}}}}, True),
        ({"called": {"name": "search", "count": 2}}, True),
        ({"called": {"name": "search", "count": 1}}, False),
        ({"called": {"name": "search", "at_most": 1}}, False),
        ({"called": {"name": "pay", "at_most": 1}}, True),
        ({"called": {"name": "search", "at_least": 3}}, False),
        ({"not_called": "pay"}, True),
        ({"not_called": ["pay", "buy"]}, False),
        ({"not_called": {"name": "search", "arguments": {"q": "eggs"}}}, True),
        ({"order": ["search", "buy"]}, True),
        ({"order": ["search", "search", "buy"]}, True),
        ({"order": ["buy", "search"]}, False),
        ({"order": [{"name": "search", "arguments": {"q": "bread"}}, "buy"]}, True),
        ({"only": ["search", "buy"]}, True),
        ({"only": ["search"]}, False),
        ({"only": []}, False),
    ],
)
async def test_tool_calls_are_compared(
    build_scorer: Build, answered: Answered, settings: dict[str, Any], passes: bool
) -> None:
    score = await only(build_scorer("tools", **settings), answered("done", reply={"tool_calls": CALLS}))
    assert isinstance(score, Score) and score.passed is passes, score
    assert passes or "calls made" in score.reason


async def test_calls_of_every_turn_count(build_scorer: Build, answered: Answered) -> None:
    turns = tuple(Turn(role="assistant", text="", tool_calls=(call,)) for call in CALLS)
    assert (await only(build_scorer("tools", order=["search", "buy"]), answered(turns=turns))).passed is True


async def test_no_tool_at_all_is_what_an_empty_list_asks_for(build_scorer: Build, answered: Answered) -> None:
    assert (await only(build_scorer("tools", only=[]), answered("hi"))).passed is True


async def test_expectations_are_the_share_that_was_met(build_scorer: Build, answered: Answered) -> None:
    notes = [{"turn": 1, "expected": "a", "met": True}, {"turn": 2, "expected": "b", "met": False, "reason": "lacks b"}]
    score = await only(build_scorer("expectations"), answered("x", notes={"expectations": notes}))
    assert (score.value, score.passed) == (0.5, False) and "turn 2: lacks b" in score.reason
    half = await only(build_scorer("expectations", at_least=0.5), answered("x", notes={"expectations": notes}))
    assert half.passed is True


async def test_an_expectation_that_could_not_be_looked_at_is_an_error(build_scorer: Build, answered: Answered) -> None:
    notes = [{"turn": 1, "met": None, "reason": "no field 'a'"}]
    assert (await only(build_scorer("expectations"), answered("x", notes={"expectations": notes}))).kind == (
        "expression_error"
    )
    assert (await only(build_scorer("expectations"), answered("x"))).kind == "no_expectations"
