"""fuzzy, token_f1, timing, turns, cost: a value in [0, 1], the raw one beside it, or an error with a name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viva.core.evidence import Evidence
from viva.core.score import Score, ScoreError, ScoreSkipped
from viva.core.timing import Timing
from viva.core.transcript import Fault, Turn
from viva.core.usage import Usage
from viva.scoring.measures.text import token_f1

Build = Callable[..., Any]
Answered = Callable[..., Evidence]


async def only(scorer: Any, evidence: Evidence) -> Score | ScoreError:
    (score,) = await scorer.score(evidence)
    return score


def indel_ratio(a: str, b: str) -> float:
    """By its definition: 100 · 2·LCS / (len a + len b)."""
    if not a and not b:
        return 100.0
    row = [0] * (len(b) + 1)
    for left in a:
        before = 0
        for at, right in enumerate(b, start=1):
            before, row[at] = row[at], before + 1 if left == right else max(row[at], row[at - 1])
    return 100.0 * 2 * row[-1] / (len(a) + len(b))


@pytest.mark.parametrize(
    ("text", "expected", "raw"),
    [
        ("", "", 100.0),
        ("", "x", 0.0),
        ("x", "", 0.0),
        ("Approved", "Rejected", 25.0),
        ("True", "False", 22.2222222),
        ("policies_ocr/002.pdf", "policies_ocr/001.pdf", 95.0),
        ("same", "same", 100.0),
        ("abc", "ABC", 0.0),
    ],
)
async def test_fuzzy_keeps_its_own_scale(
    build_scorer: Build, answered: Answered, text: str, expected: str, raw: float
) -> None:
    score = await only(build_scorer("fuzzy", value=expected), answered(text))
    assert score.raw == pytest.approx(raw, abs=1e-6) and score.value == pytest.approx(raw / 100, abs=1e-8)
    assert score.unit == "0–100" and score.passed is None and score.section == "measures"


@settings(max_examples=100, deadline=None)
@given(st.text("abcé ", max_size=20), st.text("abcé ", max_size=20))
def test_fuzzy_is_the_indel_ratio_by_its_definition(a: str, b: str) -> None:
    from rapidfuzz.fuzz import ratio

    assert ratio(a, b) == pytest.approx(indel_ratio(a, b), abs=1e-6)


async def test_a_fuzzy_threshold_passes_from_its_value_on(build_scorer: Build, answered: Answered) -> None:
    at_95 = build_scorer("fuzzy", at_least=95.0, value="policies_ocr/001.pdf")
    assert (await only(at_95, answered("policies_ocr/002.pdf"))).passed is True
    above = build_scorer("fuzzy", at_least=95.1, value="policies_ocr/001.pdf")
    assert (await only(above, answered("policies_ocr/002.pdf"))).passed is False


async def test_a_measure_of_a_field_that_is_missing_is_the_worst_and_says_so(
    build_scorer: Build, answered: Answered
) -> None:
    score = await only(build_scorer("fuzzy", path="a.b", value=""), answered("", {"a": {}}))
    assert (score.value, score.flags) == (0.0, ("missing",)) and "is missing" in score.reason
    assert (await only(build_scorer("fuzzy", path="a.b", value="x"), answered("", {"a": {"b": "x"}}))).raw == 100.0


async def test_texts_too_long_to_compare_are_an_error(build_scorer: Build, answered: Answered) -> None:
    assert (await only(build_scorer("fuzzy", value="x"), answered("y" * 100_001))).kind == "too_large"


@pytest.mark.parametrize(
    ("found", "wanted", "f1"),
    [
        ("The cat sat.", "a cat SAT", 1.0),
        ("cat", "dog", 0.0),
        ("", "", 1.0),
        ("the", "a", 1.0),
        ("", "dog", 0.0),
        ("cat sat", "cat", 2 / 3),
        ("cat cat", "cat", 2 / 3),
        ("one two three four", "three four five six", 0.5),
    ],
)
def test_token_f1(found: str, wanted: str, f1: float) -> None:
    assert token_f1(found, wanted) == pytest.approx(f1)


@pytest.mark.parametrize(
    ("target", "mean", "value"),
    [(3000, 1500, 1.0), (3000, 4000, 0.75), (3000, 6000, 0.5), (3000, 3000, 1.0), (1, 0, 1.0)],
)
async def test_timing_is_target_over_mean_at_most_1(
    build_scorer: Build, answered: Answered, target: float, mean: float, value: float
) -> None:
    evidence = answered("x", timing=Timing(responses=1, mean_ms=float(mean)))
    score = await only(build_scorer("timing", target_ms=target), evidence)
    assert score.value == pytest.approx(value, abs=1e-9)
    assert (score.raw, score.unit, score.passed) == (mean, "ms", None)


async def test_timing_counts_the_successful_attempt_alone(build_scorer: Build, answered: Answered) -> None:
    retried = {"latency_ms": 100.0, "total_ms": 5000.0, "faults": (Fault(kind="x", took_ms=4900.0),)}
    assert (await only(build_scorer("timing", target_ms=100), answered("x", reply=retried))).value == 1.0


async def test_timing_of_another_time_and_with_a_limit(build_scorer: Build, answered: Answered) -> None:
    evidence = answered("x", timing=Timing(responses=9, mean_ms=10.0, p95_ms=200.0, max_ms=400.0))
    p95 = await only(build_scorer("timing", target_ms=100, of="p95", at_most_ms=150), evidence)
    assert (p95.value, p95.raw, p95.passed) == (0.5, 200.0, False)
    assert (await only(build_scorer("timing", target_ms=100), answered("x", timing=Timing()))).kind == "no_reply"


async def test_turns_are_pairs(build_scorer: Build, answered: Answered) -> None:
    turns = tuple(Turn(role=role, text="x") for role in ("user", "assistant") * 3)
    bare = await only(build_scorer("turns"), answered(turns=turns))
    assert (bare.raw, bare.unit, bare.passed, bare.flags) == (3, "turns", None, ("unscaled",))
    assert (await only(build_scorer("turns", at_most=3), answered(turns=turns))).passed is True
    assert (await only(build_scorer("turns", at_most=2), answered(turns=turns))).value == 0.0
    assert (await only(build_scorer("turns", target=1.5), answered(turns=turns))).value == 0.5


async def test_an_unknown_cost_is_an_error_and_never_0(build_scorer: Build, answered: Answered) -> None:
    known = {"subject": Usage(calls=1, cost_usd=0.02), "user": Usage(calls=2, cost_usd=0.01)}
    score = await only(build_scorer("cost", at_most=0.03), answered("x", usage=known))
    assert (score.raw, score.unit, score.passed) == (pytest.approx(0.03), "USD", True)
    subject = await only(build_scorer("cost", of="subject", target=0.01), answered("x", usage=known))
    assert (subject.raw, subject.value) == (0.02, 0.5)
    partly = known | {"user": Usage(calls=2, input_tokens=5)}
    for usage in (partly, {}, {"subject": Usage(calls=1)}):
        unknown = await only(build_scorer("cost", at_most=1.0), answered("x", usage=usage))
        assert isinstance(unknown, ScoreError) and unknown.kind == "cost_unknown"


async def test_an_unknown_cost_nobody_holds_against_a_limit_is_left_out(
    build_scorer: Build, answered: Answered
) -> None:
    for usage in ({}, {"subject": Usage(calls=1)}):
        (skipped,) = await build_scorer("cost").score(answered("x", usage=usage))
        assert isinstance(skipped, ScoreSkipped)
        assert (skipped.reason, skipped.section) == ("the price is not known", "measures")
    known = await only(build_scorer("cost"), answered("x", usage={"subject": Usage(calls=1, cost_usd=0.02)}))
    assert (known.raw, known.flags) == (0.02, ("unscaled",))
