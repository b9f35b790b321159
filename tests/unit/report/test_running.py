"""One-pass means and quantiles, held against the two-pass definitions."""

from __future__ import annotations

import random
import statistics

import pytest

from viva.core.timing import percentile
from viva.report.running import EXACT_QUANTILES, RunningMean, RunningQuantiles, estimate


def test_the_mean_of_nothing_is_none_and_of_one_value_has_no_interval() -> None:
    assert estimate([]).mean is None
    one = estimate([0.5])
    assert (one.n, one.mean, one.stderr, one.interval) == (1, 0.5, None, None)


def test_independent_values_get_the_ordinary_standard_error() -> None:
    values = [0.1, 0.4, 0.4, 0.9, 1.0]
    found = estimate(values)
    assert found.mean == pytest.approx(statistics.mean(values))
    assert found.stderr == pytest.approx(statistics.stdev(values) / 5**0.5)
    assert (found.lowest, found.highest) == (0.1, 1.0)
    assert found.interval is not None
    assert found.interval.high - found.interval.low == pytest.approx(2 * 2.7764 * found.stderr, rel=1e-4)


def test_repeats_of_a_case_do_not_pass_for_independent_evidence() -> None:
    once, thrice = RunningMean(), RunningMean()
    for case, value in {"a": 0.0, "b": 1.0, "c": 1.0, "d": 0.0}.items():
        once.add(value, case)
        for _ in range(3):
            thrice.add(value, case)
    assert thrice.estimate().n == 12
    assert thrice.estimate().stderr == pytest.approx(once.estimate().stderr)


def test_one_case_repeated_is_judged_by_its_repeats() -> None:
    running = RunningMean()
    for value in (0.0, 1.0, 1.0):
        running.add(value, "only")
    assert running.estimate().stderr == pytest.approx(statistics.stdev([0.0, 1.0, 1.0]) / 3**0.5)


def test_a_share_is_worth_its_cases_not_its_repeats() -> None:
    alone, repeated = RunningMean(), RunningMean()
    for case, passed in enumerate((1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0, 1.0)):
        alone.add(passed, case)
        for _ in range(5):
            repeated.add(passed, case)
    one, five = alone.share_interval(), repeated.share_interval()
    assert one is not None and five is not None
    assert one.low == pytest.approx(0.4902, abs=1e-3)
    assert (five.low, five.high) == (pytest.approx(one.low, abs=0.03), pytest.approx(one.high, abs=0.03))


def test_a_share_of_all_is_no_certainty() -> None:
    running = RunningMean()
    for _ in range(100):
        running.add(1.0, "one case")
    found = running.share_interval()
    assert found is not None
    assert found.low < 0.25


def test_equal_values_have_no_spread_however_many() -> None:
    running = RunningMean()
    for number in range(20_000):
        running.add(0.1, number)
    found = running.estimate()
    assert found.mean == pytest.approx(0.1)
    assert found.stderr == pytest.approx(0.0, abs=1e-8)


def test_few_quantiles_are_exact() -> None:
    running = RunningQuantiles()
    for value in (30.0, 10.0, 20.0, 40.0):
        running.add(value)
    found = running.quantiles()
    assert (found.n, found.mean, found.p50, found.max) == (4, 25.0, 25.0, 40.0)
    assert found.p95 == pytest.approx(38.5)


def test_many_quantiles_are_within_one_per_cent() -> None:
    draw = random.Random(3)
    values = [draw.lognormvariate(5, 1) for _ in range(3 * EXACT_QUANTILES)]
    running = RunningQuantiles()
    for value in values:
        running.add(value)
    found, ordered = running.quantiles(), sorted(values)
    assert found.p50 == pytest.approx(percentile(ordered, 0.5), rel=0.011)
    assert found.p95 == pytest.approx(percentile(ordered, 0.95), rel=0.011)
    assert found.max == ordered[-1]
    assert found.mean == pytest.approx(statistics.mean(values))


def test_no_values_have_no_quantiles() -> None:
    assert RunningQuantiles().quantiles().p50 is None
