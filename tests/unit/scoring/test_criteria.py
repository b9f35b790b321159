"""Criteria become scores: one each, or one rating for all; the arithmetic is never the judge's."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from judge_room import FakeKit, Says, always, criterion, evidence, verdict
from viva.core.case import Case
from viva.core.criterion import Criterion, Level
from viva.core.errors import ModelError, SuiteError
from viva.core.ref import Ref
from viva.core.score import Score, ScoreError, ScoreSkipped
from viva.core.threshold import Threshold
from viva.judging.panel import Panel
from viva.ports.model import ModelRequest
from viva.ports.scorer import FormulaFacts
from viva.registry import Registry, read_settings
from viva.scoring.criteria import Each, EachSettings, Holistic, HolisticSettings
from viva.scoring.formulas import FormulaSettings, Mean, PassRate, PassRateSettings, RarExplicit, RubricSettings

FIVE = tuple(Level(name=name, value=float(name)) for name in ("0", "0.25", "0.5", "0.75", "1"))


def case(*found: Criterion, **more: Any) -> Case:
    return Case(id="c", input="What is the capital of France?", criteria=found, **more)


def each(model: Any, **settings: Any) -> Each:
    return Each(EachSettings(**settings), FakeKit(model))


def says_met(*numbers: int) -> Says:
    """A judge for whom the criteria with these numbers are met."""
    met = {f"number {number} " for number in numbers}
    return Says(lambda request: verdict(request, "met" if any(one in told(request) for one in met) else "not_met"))


def told(request: ModelRequest) -> str:
    return request.messages[1].text.split("\n", 1)[0]


def rubric(*weights: float) -> tuple[Criterion, ...]:
    return tuple(
        Criterion(id=f"c{i}", text=f"Criterion number {i} holds.", weight=abs(weight), pitfall=weight < 0)
        for i, weight in enumerate(weights, start=1)
    )


async def test_each_criterion_is_one_score_with_its_own_weight_and_section() -> None:
    pitfall = criterion("Insults.", id="rude", pitfall=True, weight=2, section="tone")
    scores = await each(says_met()).score(evidence(case=case(criterion(weight=5, title="Capital"), pitfall)))
    assert [(s.name, s.weight, s.section) for s in scores] == [("c1", 5, "criteria"), ("rude", -2, "tone")]
    first, second = scores
    assert isinstance(first, Score)
    assert isinstance(second, Score)
    assert (first.value, first.passed) == (0.0, False)
    assert (second.value, second.passed) == (0.0, True)
    assert first.detail == {"criterion": "Names Paris.", "title": "Capital", "judge": "fake", "answer": "not_met"}
    assert first.usage is not None
    assert len(first.hash) == 16


async def test_a_pitfall_that_is_met_is_one_and_does_not_pass() -> None:
    [score] = await each(always("met")).score(evidence(case=case(criterion(pitfall=True))))
    assert isinstance(score, Score)
    assert (score.value, score.weight, score.passed) == (1.0, -1.0, False)


@pytest.mark.parametrize(("answer", "value", "passed"), [("0.5", 0.5, False), ("0.75", 0.75, True), ("1", 1.0, True)])
async def test_a_graded_criterion_has_the_value_of_its_level(answer: str, value: float, passed: bool) -> None:
    [score] = await each(always(answer)).score(evidence(case=case(criterion(levels=FIVE))))
    assert isinstance(score, Score)
    assert (score.value, score.passed) == (value, passed)


@pytest.mark.parametrize(("value", "passed"), [(0.6, False), (0.61, True)])
async def test_a_graded_criterion_passes_above_its_mark_not_at_it(value: float, passed: bool) -> None:
    levels = (Level(name="none", value=0.0), Level(name="some", value=value))
    [score] = await each(always("some")).score(evidence(case=case(criterion(levels=levels))))
    assert isinstance(score, Score)
    assert score.passed is passed


async def test_cannot_tell_is_an_error_unless_the_suite_says_otherwise() -> None:
    trial = evidence(case=case(criterion()))
    [score] = await each(always("cannot_tell")).score(trial)
    assert isinstance(score, ScoreError)
    assert score.kind == "cannot_tell"
    [counted] = await each(always("cannot_tell"), cannot_tell="not_met").score(trial)
    assert isinstance(counted, Score)
    assert (counted.value, counted.detail["answer"]) == (0.0, "cannot_tell")


async def test_a_judge_that_is_down_for_half_leaves_errors_and_the_formula_no_number() -> None:
    down = ModelError("down", kind="server_error")
    model = Says(lambda r: down if any(f"number {i} " in told(r) for i in (1, 3, 5, 7, 9, 11)) else verdict(r))
    scores = await each(model).score(evidence(case=case(*rubric(*[1] * 11))))
    assert [isinstance(score, Score) for score in scores].count(True) == 5
    assert {score.kind for score in scores if isinstance(score, ScoreError)} == {"judge_unavailable"}
    combined = RarExplicit(RubricSettings()).combine(scores, FormulaFacts())
    assert combined.value is None
    assert "5 of 11" in combined.reason


async def test_an_agent_that_never_answered_is_not_judged() -> None:
    model = always("met")
    scores = await each(model).score(evidence(None, case=case(criterion())))
    assert isinstance(scores[0], ScoreError)
    assert (scores[0].kind, model.requests) == ("no_reply", [])


async def test_flags_of_the_verdict_are_on_the_score() -> None:
    [score] = await each(always("met", reason="")).score(evidence(case=case(criterion())))
    assert isinstance(score, Score)
    assert (score.value, score.flags) == (1.0, ("reason_empty",))


def test_settings_are_read_from_a_suite() -> None:
    made = Registry().build("scorers", "each", {"repeats": 3, "batch": 2, "panel": ["a", "b"]}, FakeKit(always("met")))
    assert isinstance(made.judge, Panel)
    assert made.judge.judges[0].settings.repeats == 3
    with pytest.raises(SuiteError, match="did you mean 'repeats'"):
        read_settings(EachSettings, {"repeat": 3}, "each")


def test_the_hash_changes_with_settings_and_templates() -> None:
    plain = each(always("met")).hash
    assert each(always("met"), repeats=3).hash != plain
    own = FakeKit(always("met"), templates={"each": "{{ criterion }} {{ transcript }}"})
    assert Each(EachSettings(), own).hash != plain


class TestControls:
    async def test_a_null_answer_is_judged_in_so_many_trials_and_shown_beside_the_scores(self) -> None:
        scorer = each(always("met"), controls=2)
        trial = evidence(case=case(*rubric(1, 1, -1)))
        rounds = [await scorer.score(trial) for _ in range(3)]
        assert [len(scores) for scores in rounds] == [4, 4, 3]
        control = rounds[0][-1]
        assert isinstance(control, Score)
        assert (control.name, control.value, control.section) == ("judge_false_positives", 1.0, "controls")
        assert control.detail == {"asked": 2, "false_positives": 2, "errors": 0}

    @pytest.mark.parametrize(
        "formula", [Mean(FormulaSettings()), PassRate(PassRateSettings()), RarExplicit(RubricSettings())]
    )
    async def test_no_formula_counts_it(self, formula: Any) -> None:
        trial = evidence(case=case(*rubric(1, 1)))
        plain = await each(says_met(1)).score(trial)
        controlled = await each(says_met(1), controls=1).score(trial)
        assert len(controlled) == 3
        assert formula.combine(controlled, FormulaFacts()) == formula.combine(plain, FormulaFacts())

    async def test_a_judge_that_fails_on_it_is_reported_and_costs_no_score(self) -> None:
        model = Says(lambda r: verdict(r) if '"text":"Paris."' in r.messages[1].text else "?")
        scores = await each(model, controls=1).score(evidence("Paris.", case=case(*rubric(1))))
        assert [type(score) for score in scores] == [Score, ScoreSkipped]


class TestHolistic:
    async def test_one_rating_from_1_to_10_is_one_score(self) -> None:
        model = always("7")
        criteria = (criterion(weight=9, category="Essential"), criterion("Insults.", id="p", pitfall=True))
        [score] = await Holistic(HolisticSettings(), FakeKit(model)).score(evidence(case=case(*criteria)))
        assert isinstance(score, Score)
        assert (score.name, score.raw, score.unit) == ("holistic", 7.0, "1–10")
        assert score.value == pytest.approx(6 / 9)
        assert len(model.requests) == 1
        prompt = model.requests[0].messages[1].text
        assert '{"kind":"pitfall","text":"Insults."}' in prompt
        assert "9" not in prompt.split("criteria ")[1].split(">>>")[0].replace(model.requests[0].nonce, "")

    @pytest.mark.parametrize("answer", ["0", "11", 0, 11, 7.5, True, "high", "7/10"])
    async def test_a_rating_off_the_scale_is_an_error(self, answer: Any) -> None:
        [score] = await Holistic(HolisticSettings(), FakeKit(always(answer))).score(evidence(case=case(criterion())))
        assert isinstance(score, ScoreError)
        assert score.kind == "judge_off_menu"

    def test_it_has_no_batches(self) -> None:
        with pytest.raises(SuiteError):
            Holistic(HolisticSettings(batch=3), FakeKit(always("7")))


class TestStoppingEarly:
    def trial(self, weights: tuple[float, ...], threshold: float) -> Any:
        return evidence(
            case=case(*rubric(*weights), formula=Ref(name="rar_explicit@1"), thresholds=(Threshold(value=threshold),))
        )

    async def test_a_decided_pass_leaves_the_rest_unjudged(self) -> None:
        model = says_met(1, 2)
        scores = await each(model, stop_early=True).score(self.trial((5, 5, 1, 1), 0.8))
        assert [type(score) for score in scores] == [Score, Score, ScoreSkipped, ScoreSkipped]
        assert len(model.requests) == 2
        assert isinstance(scores[2], ScoreSkipped)
        assert "score >= 0.8 is decided" in scores[2].reason

    async def test_a_decided_fail_leaves_the_rest_unjudged(self) -> None:
        model = says_met()
        scores = await each(model, stop_early=True).score(self.trial((5, 1, 1, 1, 1, 1), 0.8))
        assert len(model.requests) == 1
        assert isinstance(scores[0], Score)

    async def test_a_pitfall_that_could_still_matter_is_judged(self) -> None:
        model = says_met(1, 2)
        await each(model, stop_early=True).score(self.trial((5, 5, -4), 0.8))
        assert len(model.requests) == 3

    async def test_after_an_error_everything_is_judged(self) -> None:
        model = Says(lambda r: ModelError("down") if "number 1 " in told(r) else verdict(r))
        scores = await each(model, stop_early=True).score(self.trial((5, 5, 5, 1, 1, 1), 0.3))
        assert [type(score) for score in scores] == [ScoreError] + [Score] * 5

    async def test_another_formula_judges_everything(self) -> None:
        model = says_met()
        trial = evidence(case=case(*rubric(5, 1, 1), thresholds=(Threshold(value=0.8),)))
        scores = await each(model, stop_early=True).score(trial)
        assert all(isinstance(score, Score) for score in scores)

    async def test_it_never_changes_the_outcome(self) -> None:
        dice = random.Random(7)
        saved = 0
        for _ in range(150):
            weights = tuple(dice.choice((1, 2, 3, 5, -1, -2)) for _ in range(dice.randint(1, 6)))
            met = [number for number in range(1, len(weights) + 1) if dice.random() < 0.5]
            threshold = dice.choice((0.25, 0.5, 0.8, 1.0))
            trial = self.trial(weights, threshold)
            all_of, some = (
                await each(says_met(*met)).score(trial),
                await each(says_met(*met), stop_early=True).score(trial),
            )
            full, early = (
                RarExplicit(RubricSettings()).combine(scores, FormulaFacts()).value for scores in (all_of, some)
            )
            assert full is not None
            assert early is not None
            assert (full >= threshold) == (early >= threshold), (weights, met, threshold)
            saved += sum(isinstance(score, ScoreSkipped) for score in some)
        assert saved > 100

    async def test_no_order_of_verdicts_is_decided_wrongly(self) -> None:
        weights = (3.0, 2.0, 2.0, -1.0)
        for met in itertools.chain.from_iterable(itertools.combinations((1, 2, 3, 4), n) for n in range(5)):
            trial = self.trial(weights, 5 / 7)
            scores = await each(says_met(*met), stop_early=True).score(trial)
            value = RarExplicit(RubricSettings()).combine(scores, FormulaFacts()).value
            truth = max(0.0, sum(w for i, w in enumerate(weights, 1) if i in met) / 7)
            assert value is not None
            assert (value >= 5 / 7) == (truth >= 5 / 7)
