"""A run as a whole: what is counted, and what is never counted."""

from __future__ import annotations

import tracemalloc
from collections.abc import AsyncIterator

import pytest

from viva.core.score import AnyScore, Outcome, Score, ScoreError, ScoreSkipped, TrialResult
from viva.core.threshold import Threshold
from viva.core.usage import Usage
from viva.report.summary import MOST_NAMES, OTHERS, Summariser, summarise, summarise_stream
from viva.report.thresholds import check_thresholds


def trial(
    case: str, outcome: Outcome, score: float | None, *, variant: str = "default", mean_ms: float | None = None
) -> TrialResult:
    return TrialResult(trial=case, case=case, outcome=outcome, score=score, variant=variant, mean_ms=mean_ms)


def test_an_error_is_in_no_mean_and_stands_beside_it() -> None:
    found = summarise(
        [
            (trial("a", "pass", 1.0), [Score(name="x", value=1.0)]),
            (trial("b", "fail", 0.0), [Score(name="x", value=0.0, passed=False)]),
            (trial("c", "error", None), [ScoreError(name="x", kind="judge_unreadable")]),
            (trial("d", "skipped", None), [ScoreSkipped(name="x")]),
        ]
    )
    assert (found.score.n, found.score.mean) == (2, 0.5)
    counts = found.outcomes
    assert (counts.n, counts.passed, counts.failed, counts.errors, counts.skipped) == (4, 1, 1, 1, 1)
    assert counts.pass_rate == 0.5
    assert counts.error_rate == pytest.approx(1 / 3)
    (x,) = found.scores
    assert (x.value.n, x.value.mean, x.errors) == (2, 0.5, 1)
    assert x.error_kinds == {"judge_unreadable": 1}
    assert found.error_kinds == {"error": 1}


def test_nothing_to_summarise_is_none_not_zero() -> None:
    found = summarise([])
    assert found.score.mean is None
    assert found.outcomes.pass_rate is None
    assert found.outcomes.error_rate is None
    assert found.outcomes.pass_interval is None
    assert found.latency_ms.p50 is None


def test_scores_are_grouped_by_name_section_and_variant() -> None:
    found = summarise(
        [
            (
                trial("a", "pass", 1.0, variant="withheld", mean_ms=100.0),
                [
                    Score(name="x", value=1.0, section="checks"),
                    Score(name="t", value=0.5, section="measures", raw=3000.0, unit="ms"),
                ],
            ),
            (
                trial("a", "pass", 0.5, variant="supplied", mean_ms=300.0),
                [Score(name="y", value=0.5, section="checks")],
            ),
        ]
    )
    assert {one.name: one.value.mean for one in found.scores} == {"x": 1.0, "t": 0.5, "y": 0.5}
    assert {one.name: one.value.mean for one in found.sections} == {"checks": 0.75, "measures": 0.5}
    assert {one.name: one.score.mean for one in found.variants} == {"withheld": 1.0, "supplied": 0.5}
    timing = next(one for one in found.scores if one.name == "t")
    assert (timing.raw.mean, timing.unit) == (3000.0, "ms")
    assert found.latency_ms.mean == 200.0


def test_usage_flags_and_failures_add_up() -> None:
    paid = TrialResult(
        trial="a",
        case="a",
        outcome="pass",
        usage={"judge": Usage(calls=2, cost_usd=0.5), "subject": Usage(calls=1)},
        flags=("leaked",),
        failures=2,
        turns=3,
    )
    found = summarise([(paid, [Score(name="x", value=1.0, flags=("unstable",))]), (paid, [])])
    assert found.usage["judge"] == Usage(calls=4, cost_usd=1.0)
    assert found.usage["subject"].cost_usd is None
    assert found.spent.cost_usd == 1.0
    assert found.flags == {"leaked": 2, "unstable": 1}
    assert (found.failures, found.turns) == (4, 6)


def test_a_failed_attempt_that_ended_the_trial_was_not_tried_again() -> None:
    def failing(outcome: Outcome, failures: int, error: str = "") -> TrialResult:
        return TrialResult(trial="a", case="a", outcome=outcome, failures=failures, error=error)

    scored = [Score(name="x", value=1.0)]
    found = summarise([(failing("pass", 2), scored), (failing("error", 3, "timed_out"), [])])
    assert (found.failures, found.retries) == (5, 4)
    in_scoring: list[AnyScore] = [ScoreError(name="x", kind="judge_refused")]
    assert summarise([(failing("error", 2, "judge_refused"), in_scoring)]).retries == 2
    assert summarise([(failing("error", 2, "user_refused"), [])]).retries == 2
    assert summarise([(failing("error", 0, "stage_error"), [])]).retries == 0


def test_an_unscaled_quantity_is_in_no_mean() -> None:
    turns = Score(name="turns", value=1.0, raw=3.0, unit="turns", flags=("unscaled",), section="measures")
    speed = Score(name="timing", value=0.5, raw=100.0, unit="ms", section="measures")
    found = summarise([(trial("a", "pass", 1.0), [turns, speed])])
    by_name = {one.name: one for one in found.scores}
    assert (by_name["turns"].value.mean, by_name["turns"].raw.mean, by_name["turns"].unscaled) == (None, 3.0, 1)
    (section,) = found.sections
    assert section.value.mean == 0.5
    (held,) = check_thresholds([Threshold(metric="turns", value=0.5)], found)
    assert not held.holds


def test_a_pitfall_is_known_as_one() -> None:
    bad, good = Score(name="lies", value=0.0, weight=-2.0), Score(name="helps", value=1.0)
    found = summarise([(trial("a", "pass", 1.0), [bad, good])])
    assert {one.name: one.pitfall for one in found.scores} == {"lies": True, "helps": False}
    assert [one.pitfall for one in found.sections] == [False]


async def test_a_stream_gives_the_same_summary() -> None:
    results: list[tuple[TrialResult, list[AnyScore]]] = [(trial("a", "pass", 1.0), [Score(name="x", value=1.0)])]

    async def stream() -> AsyncIterator[tuple[TrialResult, list[AnyScore]]]:
        for one in results:
            yield one

    assert await summarise_stream(stream()) == summarise(results)


def test_memory_does_not_grow_with_trials_nor_with_names() -> None:
    summariser = Summariser()

    def feed(first: int, last: int) -> None:
        for number in range(first, last):
            result = trial(f"case {number}", "pass", 0.5, mean_ms=1.0 + number % 977)
            summariser.add(result, [Score(name=f"score {number}", value=0.5)])

    feed(0, 10_000)
    tracemalloc.start()
    feed(10_000, 30_000)
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 100_000
    found = summariser.summary()
    assert len(found.scores) == MOST_NAMES + 1
    assert next(one for one in found.scores if one.name == OTHERS).value.n == 30_000 - MOST_NAMES


def test_run_thresholds_are_held_against_the_summary() -> None:
    summary = summarise(
        [
            (trial("a", "pass", 0.9), [Score(name="speed", value=0.5, raw=2000.0)]),
            (trial("b", "error", None), []),
        ]
    )
    wanted = {
        Threshold(metric="score", value=0.8): True,
        Threshold(metric="pass_rate", value=1.0): True,
        Threshold(metric="error_rate", comparator="<", value=0.1): False,
        Threshold(metric="speed", value=0.6): False,
        Threshold(metric="speed.raw", comparator="<=", value=2000.0): True,
    }
    results = check_thresholds(wanted, summary)
    assert {one.threshold: one.holds for one in results} == wanted


def test_a_threshold_on_nothing_does_not_hold() -> None:
    (result,) = check_thresholds([Threshold(metric="tone", comparator="<", value=1.0)], summarise([]))
    assert not result.holds
    assert str(result) == "tone < 1 does not hold: there is nothing to measure"
