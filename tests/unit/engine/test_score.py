"""Evidence to verdict: errors stay errors, thresholds decide, labels and weights are the suite's."""

import asyncio

import pytest
from engine_rig import Contains, Mean

from viva.core.case import Case
from viva.core.check import Check
from viva.core.clock import SystemClock
from viva.core.data import replace
from viva.core.evidence import Ending
from viva.core.score import Combined, Score, ScoreError
from viva.core.threshold import Threshold
from viva.engine.ask import Labelled, gather_scores
from viva.engine.parts import Scoring
from viva.engine.score import score_evidence
from viva.testing.contracts import sample_evidence

EVIDENCE = sample_evidence()


def gives(*scores):
    return Contains(lambda evidence: list(scores))


async def verdict(*scorers, thresholds=(), formula=None, ending=None):
    evidence = replace(EVIDENCE, case=Case(id="sample", expected="Paris", thresholds=thresholds))
    if ending is not None:
        evidence = replace(evidence, ending=ending)
    return await score_evidence(evidence, Scoring(tuple(scorers), formula or Mean()), SystemClock())


async def test_a_failed_check_fails_the_trial_and_is_named():
    result, scores = await verdict(
        gives(Score(name="a", value=1, passed=True)), gives(Score(name="b", value=0, passed=False))
    )
    assert (result.outcome, result.reason, result.score) == ("fail", "failed: b", 0.5)
    assert [score.scorer for score in scores] == ["contains@1", "contains@1"]


@pytest.mark.parametrize(("value", "outcome"), [(0.5, "pass"), (0.49, "fail")])
async def test_without_an_opinion_half_of_the_points_are_needed(value, outcome):
    assert (await verdict(gives(Score(name="a", value=value))))[0].outcome == outcome


async def test_thresholds_decide_where_there_are_any():
    failing = gives(Score(name="a", value=0.8, raw=3.0, passed=False))
    held = (Threshold(value=0.7), Threshold(metric="a", value=0.8), Threshold(metric="a.raw", value=2, comparator=">"))
    assert (await verdict(failing, thresholds=held))[0].outcome == "pass"
    assert (await verdict(failing, thresholds=(Threshold(value=0.9),)))[0].outcome == "fail"
    lost = (await verdict(failing, thresholds=(Threshold(metric="nobody", value=0),)))[0]
    assert (lost.outcome, lost.error) == ("error", "missing_score")


async def test_a_missing_score_is_an_error_of_the_trial_and_no_number():
    result, _ = await verdict(gives(Score(name="a", value=1.0)), gives(ScoreError(name="b", kind="judge_refused")))
    assert (result.outcome, result.score, result.error, result.missing) == ("error", None, "judge_refused", ("b",))


@pytest.mark.parametrize("value", [float("nan"), 1.7, -3, "high", None])
async def test_no_number_outside_the_scale_gets_through(value):
    result, scores = await verdict(Contains(lambda evidence: [Score(name="a", value=value)]))
    assert result.outcome == "error" and [score.outcome for score in scores] == ["error"]


async def test_a_formula_that_fails_is_an_error():
    class Broken(Mean):
        def combine(self, scores, facts):
            raise ZeroDivisionError("no")

    assert (await verdict(gives(Score(name="a", value=1.0)), formula=Broken()))[0].outcome == "error"


async def test_a_formula_sees_whether_the_conversation_completed():
    seen = []

    class Asks(Mean):
        def combine(self, scores, facts):
            seen.append(facts)
            return Combined(value=1.0)

    await verdict(gives(Score(name="a", value=1.0)), formula=Asks(), ending=Ending(kind="turn_limit"))
    assert seen[0].completed is False and seen[0].turns == 1


async def test_nothing_asked_is_skipped_and_failures_keep_their_kind():
    assert (await verdict())[0].outcome == "skipped"
    failed, scores = await verdict(gives(Score(name="a", value=1.0)), ending=Ending(kind="timed_out", ok=False))
    assert (failed.outcome, failed.error, failed.score, scores) == ("error", "timed_out", None, [])


async def test_the_suites_label_weight_and_section_are_put_on_the_answer():
    spec = Check(scorer="contains", label="total", weight=3.0, section="money")
    [score] = await Labelled(gives(Score(name="x", value=1.0)), spec).score(EVIDENCE)
    assert (score.name, score.weight, score.section) == ("total", 3.0, "money")
    both = await Labelled(gives(Score(name="x", value=1.0, weight=2.0), Score(name="y", value=1.0)), spec).score(
        EVIDENCE
    )
    assert [(score.name, score.weight) for score in both] == [("total/x", 6.0), ("total/y", 3.0)]


async def test_the_error_of_a_labelled_scorer_carries_its_label_and_weight():
    def crash(evidence):
        raise RuntimeError("no")

    scorer = Labelled(Contains(crash), Check(scorer="contains", label="total", weight=3.0))
    [error] = await gather_scores(EVIDENCE, [scorer], SystemClock())
    assert (error.name, error.kind, error.weight) == ("total", "scorer_error", 3.0)


class Slow(Contains):
    live = most_live = 0

    async def score(self, evidence):
        Slow.live += 1
        Slow.most_live = max(Slow.most_live, Slow.live)
        await asyncio.sleep(0.01)
        Slow.live -= 1
        return [Score(name=self.label, value=1.0)]


async def test_scorers_that_wait_run_side_by_side_and_answers_keep_their_order():
    scorers = [gives(Score(name="first", value=1.0)), *(Slow() for _ in range(5)), gives(Score(name="last", value=1.0))]
    for _ in range(2):  # That a type of scorer waits is learned from its first answer.
        scores = await gather_scores(EVIDENCE, scorers, SystemClock())
    assert [score.name for score in scores] == ["first", *["contains"] * 5, "last"]
    assert Slow.most_live == 5


async def test_cancelling_the_scoring_cancels_its_scorers():
    task = asyncio.create_task(gather_scores(EVIDENCE, [Slow(), Slow()], SystemClock()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.sleep(0)
    Slow.live = 0
