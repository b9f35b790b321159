"""Intervals, held against published tables."""

from __future__ import annotations

import random

import pytest

from viva.report.intervals import bootstrap_interval, t_interval, t_quantile, wilson_interval


@pytest.mark.parametrize(
    ("freedom", "table"),
    [
        (1, 12.706),
        (2, 4.303),
        (3, 3.182),
        (4, 2.776),
        (9, 2.262),
        (10, 2.228),
        (29, 2.045),
        (30, 2.042),
        (120, 1.980),
        (1000, 1.962),
        (100_000, 1.960),
    ],
)
def test_students_t_agrees_with_the_printed_table(freedom: int, table: float) -> None:
    assert t_quantile(freedom) == pytest.approx(table, abs=6e-4)


def test_students_t_has_no_step_where_the_approximation_takes_over() -> None:
    assert t_quantile(300) == pytest.approx(t_quantile(301), abs=5e-5)
    assert t_quantile(300) > t_quantile(301)


def test_the_t_interval_of_a_textbook_sample() -> None:
    # n = 4, mean 5, s = 2: 5 ± 3.182 · 2 / √4
    found = t_interval(5.0, 1.0, 3)
    assert (found.low, found.high) == (pytest.approx(1.8176, abs=1e-3), pytest.approx(8.1824, abs=1e-3))


def test_the_wilson_interval_agrees_with_the_published_example() -> None:
    found = wilson_interval(8, 10)
    assert found is not None
    assert (found.low, found.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))


def test_all_passed_is_not_certainty() -> None:
    found = wilson_interval(5, 5)
    assert found is not None
    assert found.high == 1.0
    assert 0.5 < found.low < 0.6


def test_no_trials_have_no_interval() -> None:
    assert wilson_interval(0, 0) is None
    assert bootstrap_interval([]) is None
    assert bootstrap_interval([0.5]) is None


def test_the_bootstrap_agrees_with_t_on_many_values_and_repeats_itself() -> None:
    draw = random.Random(7)
    values = [draw.gauss(0.6, 0.1) for _ in range(200)]
    found = bootstrap_interval(values, seed=1, rounds=2000)
    assert found is not None
    mean = sum(values) / 200
    stderr = (sum((v - mean) ** 2 for v in values) / 199 / 200) ** 0.5
    expected = t_interval(mean, stderr, 199)
    assert found.low == pytest.approx(expected.low, abs=0.003)
    assert found.high == pytest.approx(expected.high, abs=0.003)
    assert bootstrap_interval(values, seed=1, rounds=2000) == found
