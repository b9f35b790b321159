"""The same cases under two variants."""

from __future__ import annotations

import pytest

from viva.core.score import TrialResult
from viva.report.paired import CaseLift, paired_lift


def result(case: str, variant: str, score: float | None, repeat: int = 1) -> TrialResult:
    outcome = "error" if score is None else "pass"
    return TrialResult(trial=case, case=case, variant=variant, outcome=outcome, score=score, repeat=repeat)


def table(rows: dict[str, tuple[float | None, float | None]]) -> list[TrialResult]:
    return [
        one
        for case, (before, after) in rows.items()
        for one in (result(case, "withheld", before), result(case, "supplied", after))
    ]


def test_a_paired_difference_is_found_where_separate_means_would_hide_it() -> None:
    # The textbook paired sample: differences 0.1, 0.2, 0.1, 0.2; mean 0.15, s = 0.0577, t(3) = 3.182.
    rows = table({"a": (0.1, 0.2), "b": (0.7, 0.9), "c": (0.3, 0.4), "d": (0.5, 0.7)})
    lift = paired_lift(rows, "withheld", "supplied")
    assert lift.lift.mean == pytest.approx(0.15)
    assert lift.interval is not None
    assert lift.interval.low == pytest.approx(0.15 - 3.1824 * 0.057735 / 2, abs=1e-4)
    assert lift.interval.high == pytest.approx(0.15 + 3.1824 * 0.057735 / 2, abs=1e-4)
    assert lift.clear
    assert lift.both == pytest.approx((0.4 + 0.55) / 2)


def test_repeats_are_averaged_before_cases_are_compared() -> None:
    rows = [result("a", "withheld", 0.0), result("a", "withheld", 1.0, 2), result("a", "supplied", 1.0)]
    lift = paired_lift(rows, "withheld", "supplied")
    assert lift.cases == (CaseLift(case="a", before=0.5, after=1.0),)
    assert lift.lift.mean == 0.5
    assert lift.interval is None
    assert not lift.clear


def test_a_case_without_both_scores_is_named_and_counted_nowhere() -> None:
    lift = paired_lift(table({"a": (0.2, 0.4), "b": (None, 1.0), "c": (None, None)}), "withheld", "supplied")
    assert [case.case for case in lift.cases] == ["a"]
    assert lift.unpaired == ("b", "c")
    assert lift.after.mean == pytest.approx(0.4)


def test_nothing_paired_is_no_lift() -> None:
    lift = paired_lift([], "withheld", "supplied")
    assert lift.lift.mean is None
    assert lift.both is None


def test_the_bootstrap_is_there_when_asked_for() -> None:
    rows = table({str(n): (n / 40, n / 40 + 0.1 + (n % 3) / 100) for n in range(20)})
    lift = paired_lift(rows, "withheld", "supplied", method="bootstrap", seed=5)
    assert lift.interval is not None
    assert lift.interval.method == "bootstrap"
    assert 0.1 < lift.interval.low < lift.interval.high < 0.12
