"""A threshold on a number that will not be there, or that says nothing, is told before anything is run."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from viva.config import metrics
from viva.config.load import load_suite, load_text
from viva.core.errors import SuiteError
from viva.core.suite import Suite
from viva.registry import BUILT_IN, Registry

RICH = """\
suite: x
checks:
- {contains: Paris}
- {contains: Paris}
- {regex: "^[A-Z]", label: capital letter}
- equals
- {json_schema: answer.json}
criteria: [Names Paris, {id: tone, text: Is kind}]
measures: [fuzzy, {timing: {target_ms: 3000}}, qa, {completion: {}, label: done}]
"""


def read(thresholds: str, rest: str = RICH, cases: str = "cases: [{id: france}]\n", **options: Any) -> Suite:
    return load_text(f"{rest}thresholds:\n- {thresholds}\n{cases}", "s.yml", **options)


@pytest.mark.parametrize(
    "metric",
    ["score", "contains: Paris", "contains: Paris (2)", "capital letter", "equals", "names-paris", "tone", "fuzzy",
     "fuzzy.raw", "timing", "timing.raw", "qa.f1", "qa.groundedness", "qa.f1.raw", "done/completion.completed",
     "json_schema: answer", "json_schema"],
)  # fmt: skip
def test_a_threshold_may_look_at_every_number_of_a_trial(metric: str) -> None:
    for line in (f'"{metric} >= 0.5"', f'{{metric: "{metric}", value: 0.5, run: true}}'):
        assert read(line).cases


@pytest.mark.parametrize(
    ("metric", "meant"),
    [
        ("scroe", "score"),
        ("contains: Pairs", "contains: Paris"),
        ("contains: Paris (3)", "contains: Paris (2)"),
        ("capital leter", "capital letter"),
        ("regex: ^[A-Z]", ""),
        ("names-pariss", "names-paris"),
        ("timeing", "timing"),
        ("fuzzy.rwa", "fuzzy"),
        ("penalty", ""),
        ("completion.completed", ""),
        ("contains", ""),
    ],
)
@pytest.mark.parametrize("run", [False, True])
def test_an_unknown_number_is_refused_with_the_nearest(metric: str, meant: str, run: bool) -> None:
    with pytest.raises(SuiteError, match=r"looks at a number the (case 'france'|run) will not have") as error:
        read(f'{{metric: "{metric}", value: 0.5, run: {str(run).lower()}}}')
    assert error.value.where == "s.yml:11"
    assert f"did you mean '{meant}'?" in error.value.hint if meant else "known: " in error.value.hint


FORMULAS = [
    ("weighted", ["checks", "criteria", "measures", "penalty"], ["tasks", "rounded"]),
    ("{weighted: {weights: {checks: 1, tasks: 2, criteria: 0}}}", ["checks", "penalty"], ["criteria", "tasks"]),
    ("embabel", ["penalty", "rounded"], ["tasks", "assertions", "checks"]),
    ("pass_rate", ["passed", "scores"], ["penalty"]),
    ("rar_explicit", ["raw", "positive", "satisfied"], ["rating"]),
    ("mean", [], ["penalty", "raw", "checks"]),
]


@pytest.mark.parametrize(("formula", "good", "bad"), FORMULAS)
def test_parts_of_a_formula_are_numbers_of_a_trial(formula: str, good: list[str], bad: list[str]) -> None:
    rest = f"{RICH}formula: {formula}\n"
    for metric in good:
        assert read(f"{metric} >= 0.5", rest).cases
    for metric in bad:
        with pytest.raises(SuiteError, match="will not have"):
            read(f"{metric} >= 0.5", rest)
    for metric in good:  # A run has means of scores, not of parts.
        with pytest.raises(SuiteError, match="the run will not have"):
            read(f"{{metric: {metric}, value: 0.5, run: true}}", rest)


def test_all_criteria_in_one_rating_have_one_number() -> None:
    rest = "suite: x\ncriteria: [Names Paris]\njudging: holistic\n"
    assert read("holistic >= 0.5", rest).cases
    with pytest.raises(SuiteError, match="will not have"):
        read("names-paris >= 0.5", rest)
    assert read("rating >= 7", f"{rest}formula: rar_holistic\n").cases


def test_the_case_that_lacks_the_number_is_named() -> None:
    cases = "cases:\n- {id: has, measures: [fuzzy]}\n- {id: lacks}\n"
    with pytest.raises(SuiteError, match="the case 'lacks' will not have") as error:
        read("fuzzy >= 0.5", "suite: x\nchecks: [equals]\n", cases)
    assert error.value.where == "s.yml:4"
    run = "{metric: fuzzy, value: 0.5, run: true}"
    assert read(run, "suite: x\nchecks: [equals]\n", cases).thresholds


def test_a_threshold_of_a_case_is_told_at_its_own_line() -> None:
    with pytest.raises(SuiteError, match="the case 'a'") as error:
        load_text("suite: x\nchecks: [equals]\ncases:\n- id: a\n  thresholds:\n  - fuzzy > 0.5\n", "s.yml")
    assert error.value.where == "s.yml:6"


def test_names_of_plug_ins_cannot_be_known(registry: Registry) -> None:
    for rest in ("suite: x\nmeasures: [fuzzy]\n", "suite: x\nformula: weighted\n", "suite: x\ncriteria: [a]\n"):
        assert read("anything >= 0.5", rest, registry=registry).cases


def test_jobs_are_held_to_the_same() -> None:
    job = "minTaskScore: 0.5\nminAverageScore: 0.6\nseeds: [{text: a}]\nfacts: [f]\n" + (
        "tasks: [{task: t, acceptanceCriteria: done}]\n"
    )
    for metric in ("task-1", "tasks", "penalty", "rounded"):
        assert load_text(f'{job}thresholds: ["{metric} >= 0.5"]\n', "job.yml").cases
    with pytest.raises(SuiteError, match="will not have") as error:
        load_text(f'{job}thresholds: ["task-2 >= 0.5"]\n', "job.yml")
    assert error.value.where == "job.yml:6"


@pytest.mark.parametrize(
    ("threshold", "words", "hint"),
    [
        ("score >= 8", "can never hold", "for 8 of 10 write `score >= 0.8`"),
        ("score > 1", "can never hold", "from 0 to 1"),
        ("score < 0", "can never hold", "from 0 to 1"),
        ("score == 1.5", "can never hold", "`score == 0.15`"),
        ("pass_rate >= 90", "can never hold", "for 90 of 100 write `pass_rate >= 0.9`"),
        ("error_rate < 0", "can never hold", "from 0 to 1"),
        ("score >= 0", "always holds", "leave it out"),
        ("score > -1", "always holds", "leave it out"),
        ("score != 2", "always holds", "leave it out"),
        ("pass_rate <= 1", "always holds", "leave it out"),
        ("error_rate <= 100", "always holds", "leave it out"),
        ("fuzzy >= 80", "can never hold", "fuzzy.raw"),
        ("tone >= 4", "can never hold", "tone.raw"),
    ],
)
def test_a_threshold_that_says_nothing_is_refused(threshold: str, words: str, hint: str) -> None:
    with pytest.raises(SuiteError, match=words) as error:
        read(threshold)
    assert hint in error.value.hint
    assert error.value.where == "s.yml:11"


@pytest.mark.parametrize(
    "threshold",
    ["score >= 1", "score > 0", "score <= 0", "score == 0", "score != 1", "pass_rate == 1", "error_rate <= 0",
     "error_rate == 0", "score < 1", "fuzzy.raw >= 80", "fuzzy >= 0"],
)  # fmt: skip
def test_a_threshold_at_the_end_of_the_scale_says_something(threshold: str) -> None:
    assert read(threshold).cases


def test_the_parts_of_every_built_in_formula_are_listed() -> None:
    assert set(metrics.PARTS) == {name.partition("@")[0] for name in BUILT_IN["formulas"]}
    assert set(metrics.SEVERAL) <= set(BUILT_IN["scorers"])


def test_looking_costs_little_where_cases_share_what_they_ask(tmp_path: Path) -> None:
    rows = b"".join(msgspec.json.encode({"input": f"q{n}"}) + b"\n" for n in range(20_000))
    (tmp_path / "cases.jsonl").write_bytes(rows)
    (tmp_path / "s.yml").write_text(
        "suite: x\nmeasures: [fuzzy, {timing: 3000}]\nthresholds: [score >= 0.5, fuzzy.raw >= 80, timing.raw < 3000]\n"
        "dataset: {file: cases.jsonl}\n"
    )
    began = time.perf_counter()
    suite = load_suite(tmp_path / "s.yml")
    assert len(suite.cases) == 20_000
    assert time.perf_counter() - began < 5
