"""Why a trial ended as it did: the score that says so, by name, with what it says."""

from __future__ import annotations

from viva.core.score import AnyScore, Outcome, Score, ScoreError, TrialResult
from viva.core.text import one_line
from viva.report.why import why

CARET = ScoreError(
    name="expression: total",
    kind="expression_error",
    detail="1:12: no field 'resorces'; did you mean 'resources'?\n  size(state.resorces) == 1\n             ^",
)


def trial(outcome: Outcome, reason: str = "", error: str = "") -> TrialResult:
    return TrialResult(trial="a", case="a", outcome=outcome, reason=reason, error=error)


def test_an_error_names_the_score_and_what_is_wrong_with_it() -> None:
    scores: list[AnyScore] = [Score(name="x", value=1.0, passed=True), CARET, ScoreError(name="tone", kind="timed_out")]
    said = why(trial("error", "1 of 3 judged", "expression_error"), scores)
    assert said == (
        "expression_error: expression: total: 1:12: no field 'resorces'; did you mean 'resources'? "
        "in: size(state.resorces) == 1 (and 1 more error)"
    )


def test_an_error_before_any_score_says_what_happened() -> None:
    assert why(trial("error", "no reply within 2 s", "timed_out"), []) == "timed_out: no reply within 2 s"


def test_a_failure_names_the_first_score_that_failed_and_how_many_more() -> None:
    scores = [
        Score(name="user", value=0.0, passed=False, reason="not counted", weight=0.0),
        Score(name="total", value=0.0, passed=False, reason="expected 12,\n got 13"),
        Score(name="tone", value=0.0, passed=False),
    ]
    assert why(trial("fail", "failed: total, tone"), scores) == "total: expected 12, got 13 (and 1 more failed)"
    assert why(trial("fail", "failed: tone"), scores[2:]) == "tone"


def test_a_threshold_that_was_missed_comes_before_the_score_to_look_at() -> None:
    below = trial("fail", "below: score >= 0.8 (it is 0.5)")
    failed = Score(name="total", value=0.0, passed=False, reason="got 13")
    assert why(below, [failed]) == "below: score >= 0.8 (it is 0.5); total: got 13"
    assert why(below, [Score(name="timing", value=0.5)]) == "below: score >= 0.8 (it is 0.5)"


def test_only_criteria_are_judged() -> None:
    check, criterion = Score(name="a", value=1.0), Score(name="b", value=1.0, section="criteria")
    assert why(trial("pass", "5 of 11 judged"), [check, criterion]) == "5 of 11 scored"
    assert why(trial("pass", "5 of 11 judged"), [criterion]) == "5 of 11 judged"


def test_a_caret_on_one_line_would_point_nowhere() -> None:
    assert one_line("plain") == "plain"
    assert one_line("wrong\n  a + b\n    ^\nsee the manual") == "wrong in: a + b see the manual"
    assert one_line("first\nsecond ^ third") == "first second ^ third"
