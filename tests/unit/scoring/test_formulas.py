"""Formulas: worked values, bounds, and what errors, gaps and pitfalls do to a number."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viva.core.data import replace
from viva.core.errors import SuiteError
from viva.core.score import AnyScore, Combined, Score, ScoreError, ScoreSkipped
from viva.ports.scorer import FormulaFacts
from viva.registry import BUILT_IN, Registry
from viva.scoring.formulas import round_half_even

FORMULAS = sorted(BUILT_IN["formulas"])


def combine(formula: str, scores: list[AnyScore], failures: int = 0, **given: Any) -> Combined:
    built = Registry().build("formulas", formula, given, None)
    return built.combine(scores, FormulaFacts(failures=failures))


def check(value: float, weight: float = 1.0, section: str = "checks", **more: Any) -> Score:
    return Score(name=f"{section}-{value}-{weight}", value=value, weight=weight, section=section, **more)


def error(section: str = "checks", weight: float = 1.0) -> ScoreError:
    return ScoreError(name="broken", kind="judge_unreadable", section=section, weight=weight)


WORKED = [
    # timing, tasks, (weight, pass) …, failures -> overall, rounded
    (1.0, [1, 1], [(2, 1), (3, 1)], 0, 1.0, 1.0),
    (0.75, [0.9, 0.7], [(2, 1), (3, 0)], 0, 0.5642857142857, 0.56),
    (0.75, [0.9, 0.7], [(2, 1), (3, 0)], 1, 0.2642857142857, 0.26),
    (0.75, [0.9, 0.7], [(2, 1), (3, 0)], 2, 0.0642857142857, 0.06),
    (0.5, [0], [(1, 0)], 1, 0.0, 0.0),
    (1.0, [0.5, 0.5, 0.8], [(1, 1), (1, 0), (2, 1)], 3, 0.2428571428571, 0.24),
]


@pytest.mark.parametrize(("timing", "tasks", "assertions", "failures", "overall", "rounded"), WORKED)
def test_embabel_gives_its_worked_values(
    timing: float, tasks: list[float], assertions: list[Any], failures: int, overall: float, rounded: float
) -> None:
    scores: list[AnyScore] = [check(timing, section="timing")]
    scores += [check(value, section="tasks") for value in tasks]
    scores += [check(passed, weight, "assertions") for weight, passed in assertions]
    made = combine("embabel@1", scores, failures)
    assert made.value == pytest.approx(overall, abs=1e-9)
    assert made.parts["rounded"] == rounded
    assert made.parts["penalty"] == pytest.approx(min(0.3 * failures, 0.5))


@pytest.mark.parametrize(("failures", "penalty"), [(0, 0.0), (1, 0.3), (2, 0.5), (5, 0.5)])
def test_the_penalty_for_failures_has_a_ceiling(failures: int, penalty: float) -> None:
    made = combine("embabel@1", [check(1.0, section="tasks")], failures)
    assert made.parts["penalty"] == penalty and made.value == pytest.approx(1 - penalty)


def test_a_missing_dimension_gives_its_weight_to_the_others_and_is_named() -> None:
    made = combine("embabel@1", [check(0.5, section="timing"), check(1.0, section="tasks")])
    assert made.value == pytest.approx((0.5 + 2) / 3)
    assert made.missing == ("assertions",)
    only = combine("embabel@1", [check(0.4, section="assertions")])
    assert (only.value, only.missing) == (0.4, ("timing", "tasks"))


def test_assertions_without_weight_are_no_dimension_and_duplicates_are_fine() -> None:
    tasks = [check(1.0, section="tasks")]
    zero = combine("embabel@1", [*tasks, check(0.0, 0.0, "assertions")])
    assert (zero.value, zero.missing) == (1.0, ("timing", "assertions"))
    twice = combine("embabel@1", [*tasks, *[check(0.5, 1.0, "assertions")] * 2])
    assert twice.value == pytest.approx((2 + 2) / 6)


def test_tone_counts_only_when_it_is_given_a_weight() -> None:
    scores: list[AnyScore] = [check(1.0, section="tasks"), check(0.0, section="tone")]
    assert combine("embabel@1", scores).value == 1.0
    weights = {"timing": 1.0, "tasks": 2.0, "assertions": 4.0, "tone": 2.0}
    assert combine("embabel@1", scores, weights=weights).value == 0.5


@pytest.mark.parametrize(("value", "rounded"), [(0.125, 0.12), (0.135, 0.14), (0.295, 0.3), (0.285, 0.28), (1.0, 1.0)])
def test_two_decimals_half_to_even(value: float, rounded: float) -> None:
    assert round_half_even(value) == rounded


RUBRICS = [
    ([5, 4, 3, 2, -2], [1, 1, 1, 1, 0], 1.0, 14),
    ([5, 4, 3, 2, -2], [1, 1, 1, 1, 1], 12 / 14, 12),
    ([5, 4, 3, 2, -2], [0, 0, 0, 0, 1], 0.0, -2),
    ([5, 5, 3, -1], [1, 0, 1, 1], 7 / 13, 7),
    ([-1, -2], [0, 0], 1.0, 0),
    ([-1, -2], [1, 0], 2 / 3, -1),
    ([-1, -2], [1, 1], 0.0, -3),
    ([5, 0], [1, 1], 1.0, 5),
    ([5, 0], [1, 0], 1.0, 5),
]


@pytest.mark.parametrize(("weights", "met", "value", "raw"), RUBRICS)
def test_rar_explicit_gives_its_worked_values(weights: list[int], met: list[int], value: float, raw: float) -> None:
    scores = [check(float(is_met), float(weight), "criteria") for weight, is_met in zip(weights, met, strict=True)]
    made = combine("rar_explicit@1", scores)
    assert made.value == pytest.approx(value, abs=1e-9) and made.parts["raw"] == raw


def test_an_empty_rubric_has_no_score() -> None:
    assert combine("rar_explicit@1", []).value is None
    assert combine("rar_explicit@1", [check(1.0, 0.0, "criteria")]).value is None


def test_rar_explicit_looks_at_criteria_alone() -> None:
    scores: list[AnyScore] = [check(1.0, 5.0, "criteria"), check(0.0), error()]
    assert combine("rar_explicit@1", scores).value == 1.0


def test_criteria_skipped_by_early_stopping_count_at_their_worst() -> None:
    skipped = [ScoreSkipped(name="s", weight=weight, section="criteria") for weight in (2.0, -1.0)]
    made = combine("rar_explicit@1", [check(1.0, 6.0, "criteria"), *skipped])
    assert made.value == pytest.approx(5 / 8) and made.parts["at_best"] == 1.0
    assert made.reason.startswith("1 of 3 judged")


def test_rar_holistic_is_the_one_rating() -> None:
    rating = replace(check(0.75, section="criteria"), scorer="holistic@1", raw=4.0)
    made = combine("rar_holistic@1", [rating, check(0.0)])
    assert (made.value, made.parts) == (0.75, {"rating": 4.0})
    assert combine("rar_holistic@1", [check(1.0, section="criteria")]).value is None


def test_mean_is_by_weight_and_a_pitfall_counts_against() -> None:
    assert combine("mean@1", [check(1.0, 3.0), check(0.0, 1.0)]).value == 0.75
    assert combine("mean@1", [check(1.0), check(1.0, -1.0)]).value == 0.5
    assert combine("mean@1", [check(1.0), check(0.0, -1.0)]).value == 1.0
    assert combine("mean@1", [check(1.0, 0.0)]) == Combined(value=None, reason="all weights are 0")


def test_unscaled_quantities_and_skipped_scores_do_not_count() -> None:
    unscaled = replace(check(1.0, section="measures"), flags=("unscaled",))
    assert combine("mean@1", [check(0.0), unscaled, ScoreSkipped(name="x")]).value == 0.0
    assert combine("mean@1", [unscaled]) == Combined(value=None, reason="no scores")


def test_pass_rate_counts_what_passed() -> None:
    scores = [check(0.2, passed=True), check(0.9, passed=False), check(0.7), check(0.4)]
    made = combine("pass_rate@1", scores)
    assert (made.value, made.parts) == (0.5, {"passed": 2.0, "scores": 4.0})
    assert combine("pass_rate@1", scores, at_least=0.8).value == 0.25


def test_weighted_sections_with_a_penalty() -> None:
    scores = [check(1.0, section="checks"), check(0.5, section="criteria"), check(0.0, section="measures")]
    weights = {"checks": 1.0, "criteria": 3.0}
    assert combine("weighted@1", scores, weights=weights).value == pytest.approx(2.5 / 4)
    assert combine("weighted@1", scores).value == 0.5
    fined = combine("weighted@1", scores, 2, weights=weights, failure_penalty=0.1)
    assert fined.value == pytest.approx(2.5 / 4 - 0.2)
    assert combine("weighted@1", scores, 100, weights=weights, failure_penalty=0.1).value == pytest.approx(0.125)


@pytest.mark.parametrize(
    ("formula", "given"),
    [
        ("weighted@1", {"weights": {"checks": -1.0}}),
        ("weighted@1", {"weights": {"checks": 0.0}}),
        ("weighted@1", {"failure_penalty": -0.1}),
        ("embabel@1", {"most_penalty": -1.0}),
        ("mean@1", {"require": {"at_least": 0.0}}),
        ("mean@1", {"require": {"at_least": 1.1}}),
        ("mean@1", {"require": "most"}),
    ],
)
def test_what_cannot_be_meant_is_refused(formula: str, given: dict[str, Any]) -> None:
    with pytest.raises(SuiteError):
        combine(formula, [], **given)


def test_errors_leave_no_score_and_say_how_many_were_judged() -> None:
    scores: list[AnyScore] = [check(1.0, section="criteria")] * 5 + [error("criteria")] * 6
    for formula in ("mean@1", "rar_explicit@1", "pass_rate@1", "weighted@1"):
        made = combine(formula, scores)
        assert (made.value, made.reason) == (None, "5 of 11 judged")


def test_a_share_without_errors_may_be_enough_and_is_said() -> None:
    scores: list[AnyScore] = [check(1.0)] * 8 + [error()] * 2
    made = combine("mean@1", scores, require={"at_least": 0.8})
    assert (made.value, made.reason) == (1.0, "8 of 10 judged")
    assert combine("mean@1", scores, require={"at_least": 0.81}).value is None
    assert combine("mean@1", [error()], require={"at_least": 0.01}).value is None


def test_an_error_in_a_section_that_does_not_count_changes_nothing() -> None:
    scores: list[AnyScore] = [check(1.0, section="tasks"), error("tone")]
    assert combine("embabel@1", scores).value == 1.0


@pytest.mark.parametrize("formula", FORMULAS)
def test_nothing_is_made_of_nothing(formula: str) -> None:
    assert combine(formula, []) == Combined(value=None, reason="no scores")


SECTIONS = st.sampled_from(["checks", "criteria", "measures", "timing", "tasks", "assertions"])
VALUES = st.floats(0, 1)
WEIGHTS = st.one_of(st.floats(-10, 10), st.integers(-5, 5).map(float))
SCORES = st.builds(check, VALUES, WEIGHTS, SECTIONS, scorer=st.sampled_from(["holistic@1", "each@1"]))


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(FORMULAS), st.lists(SCORES, max_size=8), st.integers(0, 9), st.randoms())
def test_a_formula_stays_in_bounds_and_does_not_depend_on_order(
    formula: str, scores: list[Score], failures: int, random: Any
) -> None:
    made = combine(formula, list(scores), failures)
    if made.value is None:
        assert made.reason
        return
    assert 0.0 <= made.value <= 1.0
    assert not any(math.isnan(part) for part in made.parts.values())
    shuffled = list(scores)
    random.shuffle(shuffled)
    assert combine(formula, list(shuffled), failures).value == pytest.approx(made.value, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([name for name in FORMULAS if name != "rar_holistic@1"]),
    st.lists(SCORES, min_size=1, max_size=8),
    st.data(),
)
def test_a_better_verdict_never_lowers_the_score(formula: str, scores: list[Score], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(scores) - 1))
    better = 0.0 if scores[at].weight < 0 else 1.0
    improved = [*scores[:at], replace(scores[at], value=better), *scores[at + 1 :]]
    before, after = combine(formula, list(scores)).value, combine(formula, list(improved)).value
    if before is not None and after is not None:
        assert after >= before - 1e-12


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(0.1, 10), st.booleans()), min_size=1, max_size=8))
def test_a_rubric_of_pitfalls_alone_starts_at_1_and_loses_each_ones_share(pitfalls: list[tuple[float, bool]]) -> None:
    scores = [check(float(met), -weight, "criteria") for weight, met in pitfalls]
    value = combine("rar_explicit@1", scores).value
    lost = sum(weight for weight, met in pitfalls if met) / sum(weight for weight, _ in pitfalls)
    assert value == pytest.approx(1 - lost, abs=1e-9)
