"""What is owed, and which part of a suite is asked for."""

import pytest
from engine_rig import cases, make_run

from viva.core.case import Case
from viva.core.data import replace
from viva.core.errors import SuiteError
from viva.core.ref import Ref
from viva.core.suite import Roles
from viva.core.variant import Variant
from viva.engine.plan import count_trials, matcher, plan, select, trial_keys

VARIANTS = (Variant(name="a"), Variant(name="b", model="small", settings={"url": "b"}, driver=Ref(name="script")))


def test_trials_come_case_by_case_variant_by_variant_repeat_by_repeat():
    some = [Case(id="x", variants=VARIANTS, repeats=2), Case(id="y")]
    keys = [trial.key for trial in plan(make_run(some), some)]
    assert keys == ["x@a", "x@a#2", "x@b", "x@b#2", "y"] == list(trial_keys(some))
    assert count_trials(some) == 5


def test_what_is_held_is_not_owed():
    some = cases(5)
    assert [trial.key for trial in plan(make_run(some), some, {"case-0001", "case-0003"})] == [
        "case-0000",
        "case-0002",
        "case-0004",
    ]


def test_a_variant_changes_subject_driver_and_model():
    some = [Case(id="x", variants=VARIANTS)]
    run = replace(make_run(some), subject=Ref(name="http", settings={"url": "a", "keep": 1}), roles=Roles(model="big"))
    first, second = plan(run, some)
    assert first.subject is run.subject and first.roles.model == "big" and first.driver.name == "once"
    assert second.subject.settings == {"url": "b", "keep": 1}
    assert second.roles.model == "small" and second.driver.name == "script"


def test_variants_of_a_case_share_the_seed_and_repeats_do_not():
    some = [Case(id="x", variants=VARIANTS, repeats=2)]
    seeds = {trial.key: trial.seed for trial in plan(make_run(some), some)}
    assert seeds["x@a"] == seeds["x@b"] != seeds["x@a#2"] == seeds["x@b#2"]


def test_the_plan_is_lazy():
    trials = plan(make_run(cases(1)), (case for case in iter(cases(3))))
    assert next(trials).key == "case-0000"


@pytest.mark.parametrize(
    ("expression", "chosen"),
    [
        ("fr", ["france"]),
        ("FRANCE", ["france"]),
        ("france or spain", ["france", "spain"]),
        ("a and not france", ["spain", "italy"]),
        ("not (spain or italy)", ["france"]),
        ("not not spain", ["spain"]),
    ],
)
def test_a_match_chooses_cases_by_their_id(expression, chosen):
    wanted = matcher(expression)
    assert [name for name in ("france", "spain", "italy") if wanted(name)] == chosen


@pytest.mark.parametrize("expression", ["and", "a or", "(a", "a)", "not", "a b"])
def test_a_wrong_match_is_refused(expression):
    with pytest.raises(SuiteError, match="filter"):
        matcher(expression)


def test_tags_and_limit_choose_a_part_and_nothing_left_is_an_error():
    some = [Case(id="a", tags=("x",)), Case(id="b", tags=("y",)), Case(id="c", tags=("x", "y"))]
    assert [case.id for case in select(some, tags=["x"])] == ["a", "c"]
    assert [case.id for case in select(some, limit=2)] == ["a", "b"]
    with pytest.raises(SuiteError, match=r"^no case matches 'zzz' "):
        select(some, match="zzz")
    with pytest.raises(SuiteError, match=r"^no case has the tag 'z' or 'w' "):
        select(some, tags=["z", "w"])
    with pytest.raises(SuiteError, match=r"^no case matches 'a' and has the tag 'y' "):
        select(some, "a", ["y"])
