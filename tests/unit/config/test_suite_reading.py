"""The native format: defaults, overrides, shorthands, and what each mistake is told."""

from __future__ import annotations

from typing import Any

import pytest

from viva.config.build import suite as build
from viva.config.load import load_suite, load_text, unchanged
from viva.core.check import Check
from viva.core.criterion import Criterion
from viva.core.errors import SuiteError
from viva.core.limits import Limits, Retry, RunLimits
from viva.core.ref import Ref
from viva.core.suite import Roles
from viva.core.threshold import Threshold
from viva.core.variant import Variant
from viva.registry import Registry

FULL = """\
# yaml-language-server: $schema=.viva/suite.schema.json
suite: capitals
description: About capitals.
subject: {http: {url: "http://127.0.0.1:8081/chat", session: {path: /new}}}
driver: once
roles: {judge: scripted:rules.yml}
repeats: 3
variants:
  - {name: withheld, facts: withheld}
  - {name: other, settings: {url: "http://127.0.0.1:9/x"}, model: m}
limits: {seconds: 60, turns: null}
run_limits: {cost_usd: 1.5, trials: 10}
retry: {attempts: 2}
concurrency: 4
stage: {graph: embedded, setups: [{cypher: "CREATE (n)"}], settle: {probe: {cypher: "RETURN 1"}, wait_s: 1}}
judging: each
formula: weighted
thresholds:
  ["score >= 0.8", pass_rate > 0.9, {metric: contains.raw, comparator: "<", value: 3}, {value: 0.5, run: true}]
checks:
  - contains: Paris
    weight: 2
    label: city
    section: facts
criteria:
  - Names Paris
  - {text: Invents a city, pitfall: true, weight: 3, title: Honesty, category: truth}
measures: [fuzzy]
seed: 7
tags: geo
metadata: {owner: me}
cases:
  - id: france
    input: What is the capital of France?
    expected: Paris
    tags: [europe]
  - input: {structured: true}
    facts: [I am Bob]
    tasks: [Find it, {text: Is it big?, kind: question, acceptance: says so}]
    context: [doc]
    checks: [{contains: {text: a, times: 2}}]
    measures: {only: []}
    criteria: {only: [{id: own, text: Own, levels: [{name: bad, value: 0}, {name: good, value: 1}]}]}
    limits: {turns: 5}
    retry: {backoff_s: 0}
    repeats: 1
    formula: mean@1
    judging: holistic
    thresholds: [score > 0.1]
    variants: [{name: only}]
    stage: {undo: false}
  - id: 7
    turns: [Hello, Goodbye]
"""


def test_defaults_of_the_suite_reach_every_case(load: Any) -> None:
    suite = load(FULL)
    france = suite.cases[0]
    assert (suite.name, suite.description, suite.concurrency, suite.seed) == ("capitals", "About capitals.", 4, 7)
    assert suite.subject.settings == {"url": "http://127.0.0.1:8081/chat", "session": {"path": "/new"}}
    assert suite.roles == Roles(judge="scripted:rules.yml")
    assert suite.limits == RunLimits(cost_usd=1.5, trials=10)
    assert suite.metadata == {"owner": "me"}
    assert suite.thresholds == (
        Threshold(value=0.9, metric="pass_rate", comparator=">", scope="run"),
        Threshold(value=0.5, scope="run"),
    )
    assert france.thresholds == (Threshold(value=0.8), Threshold(value=3, metric="contains.raw", comparator="<"))
    assert france.limits == Limits(seconds=60, turns=None)
    assert france.retry == Retry(attempts=2)
    assert france.repeats == 3
    assert france.formula.name == "weighted@2"
    assert france.tags == ("geo", "europe")
    assert france.variants == (
        Variant(name="withheld", facts="withheld"),
        Variant(name="other", settings={"url": "http://127.0.0.1:9/x"}, model="m"),
    )
    assert france.checks == (
        Check(
            scorer="contains", settings={"text": "Paris"}, label="city", weight=2, section="facts", where="suite.yml:21"
        ),
    )
    assert [(c.id, c.weight, c.signed_weight) for c in france.criteria] == [("names-paris", 1, 1), ("honesty", 3, -3)]
    assert france.measures[0].scorer == "fuzzy"
    assert france.stage.graph == Ref(name="embedded", where="suite.yml:15")
    assert france.stage.setups[0].settings == {"script": "CREATE (n)"}
    assert france.stage.settle.probe.settings == {"query": "RETURN 1"}


def test_a_case_overrides_and_adds(load: Any) -> None:
    case = load(FULL).cases[1]
    assert case.id == "case-2"
    assert case.input == {"structured": True}
    assert [check.settings for check in case.checks] == [{"text": "Paris"}, {"text": "a", "times": 2}]
    assert case.measures == ()
    assert [criterion.id for criterion in case.criteria] == ["own", "task-2"]
    assert case.limits == Limits(seconds=60, turns=5)
    assert case.retry == Retry(attempts=2, backoff_s=0)
    assert (case.repeats, case.formula.name, case.judging.name) == (1, "mean@1", "holistic")
    assert case.thresholds == (Threshold(value=0.1, comparator=">"),)
    assert case.stage.undo is False
    assert case.stage.setups
    assert [task.kind for task in case.tasks] == ["task", "question"]
    assert case.where == "suite.yml:37"


def test_turns_imply_the_script_driver(load: Any) -> None:
    case = load(FULL).cases[2]
    assert case.id == "7"
    assert (case.driver.name, case.driver.settings) == ("script", {"turns": ["Hello", "Goodbye"]})


def test_turns_keep_the_other_settings_of_a_script_driver(load: Any) -> None:
    suite = load("suite: x\ndriver: {script: {turns: [a], pause_s: 2}}\ncases: [{turns: [b]}, {}]\n")
    assert [case.driver.settings for case in suite.cases] == [
        {"turns": ["b"], "pause_s": 2},
        {"turns": ["a"], "pause_s": 2},
    ]


def test_what_is_not_overridden_is_shared_and_not_copied(load: Any) -> None:
    cases = load(
        "suite: x\nchecks: [{contains: a}]\ncriteria: [a]\nlimits: {seconds: 1}\n"
        "cases:\n" + "".join(f"- input: {n}\n" for n in range(50))
    ).cases
    first = cases[0]
    for case in cases:
        for name in ("checks", "criteria", "limits", "retry", "variants", "formula", "judging", "driver", "stage"):
            assert getattr(case, name) is getattr(first, name), name


def test_an_implementation_is_looked_up_once_and_not_once_per_case(registry: Registry) -> None:
    looked_up: list[str] = []
    find = registry.find
    registry.find = lambda kind, name, where="": looked_up.append(name) or find(kind, name, where)  # type: ignore[method-assign, func-returns-value]
    text = "suite: x\ncases:\n" + "".join(f"- checks: [{{contains: '{n}'}}]\n" for n in range(200))
    assert len(load_text(text, registry=registry).cases) == 200
    assert len(looked_up) <= 3


GOLDEN = [
    ("suite: x\ncases: []\n", "suite.yml:1: a suite needs cases (add `cases:` or `dataset:`)"),
    ("- a\n", "suite.yml:1: a suite is a mapping; this is a list (begin with `suite: NAME`)"),
    ("", "suite.yml:1: a suite is a mapping; this is nothing (begin with `suite: NAME`)"),
    ("sute: x\n", "suite.yml:1: this is no suite in any format viva knows"
                  " (begin with `suite: NAME`; did you mean 'suite'? known: suite, cases, dataset)"),
    ("cases: [{}]\n", "suite.yml:1: a suite lacks its name (begin with `suite: NAME`)"),
    ("subject: {http: {}}\nrepeats: 0\ncases: [{}]\n",
     "suite.yml:1: a suite lacks its name (begin with `suite: NAME`)"),
    ("suite: 5\ncases: [{}]\n",
     "suite.yml:1: suite: expected text, found the number 5 (put it in quotes where it is meant as text)"),
    ("suite: x\nrepeats: 0\ncases: [{}]\n", "suite.yml:2: repeats must be at least 1, not 0"),
    ("suite: x\nrepeats: two\ncases: [{}]\n", "suite.yml:2: repeats: expected a whole number, found text"),
    ("suite: x\nstage:\n  undo: no\ncases: [{}]\n",
     "suite.yml:3: undo: expected true or false, found text (YAML 1.2: only true and false, not yes, no, on, off)"),
    ("suite: x\nvariants:\n- {name: a, facts: witheld}\ncases: [{}]\n",
     "suite.yml:3: facts: 'witheld' is not one of its values (did you mean 'withheld'? known: supplied, withheld)"),
    ("suite: x\nsubject: {http: {}}\ncases: [{}]\n",
     "suite.yml:2: http lacks 'url' (it takes: url, headers, api_key, session, environment, body)"),
    ("suite: x\nsubject: {http: {url: a}, script: {}}\ncases: [{}]\n",
     "suite.yml:2: a subject has one name; found 'http', 'script'"),
    ("suite: x\nsubject: 5\ncases: [{}]\n",
     "suite.yml:2: subject: expected a name or {name: settings}, found the number 5"),
    ("suite: x\ncases:\n- checks: {contains: a}\n",
     "suite.yml:3: checks: expected a list, found a mapping"
     " (begin each of the checks with a dash; `only:` replaces those of the suite)"),
    ("suite: x\ncases:\n- checks:\n  - {contains: a, fuzzy: 1}\n",
     "suite.yml:4: a check names one scorer; found 'contains', 'fuzzy'"),
    ("suite: x\ncases:\n- checks:\n  - {weight: 1}\n", "suite.yml:4: a check names one scorer; found none"),
    ("suite: x\ncases:\n- checks:\n  - contains: {times: many}\n",
     "suite.yml:4: contains: times: expected a whole number, found text"),
    ("suite: x\ncases:\n- checks:\n  - contains: {mode: al}\n",
     "suite.yml:4: contains: mode: 'al' is not one of its values (did you mean 'all'? known: all, any)"),
    ("suite: x\ncases:\n- checks:\n  - fuzzy: 5\n",
     "suite.yml:4: fuzzy: expected its settings as a mapping, found the number 5"),
    ("suite: x\ncases:\n- checks:\n  - contains: a\n    weight: -1\n",
     "suite.yml:5: weight must be at least 0, not -1 (weights are positive; mark something bad with `pitfall: true`)"),
    ("suite: x\ncases:\n- checks: [{contains: a, label: l}]\n  measures:\n  - {fuzzy: {}, label: l}\n",
     "suite.yml:5: the label 'l' is used twice, first at suite.yml:3"),
    ("suite: x\ncases:\n- id: a\n- id: a\n", "suite.yml:4: the case id 'a' is used twice, first at suite.yml:3"),
    ("suite: x\ncases:\n- id: ''\n", "suite.yml:3: id must not be empty"),
    ("suite: x\ncases:\n- id: \"a\\nb\"\n", "suite.yml:3: the case id 'a\\nb' cannot be shown"
     " (use letters, digits, punctuation and spaces: an id is printed, and commands find a case by it)"),
    ("suite: x\nvariants:\n- {name: a}\n- {name: a}\ncases: [{}]\n",
     "suite.yml:4: the variant 'a' is there twice, first at suite.yml:3"),
    ("suite: x\nvariants: []\ncases: [{}]\n", "suite.yml:2: variants must not be empty (leave the key out)"),
    ("suite: x\nsubject: {http: {url: a}}\nvariants:\n- {name: a, settings: {ulr: b}}\ncases: [{}]\n",
     "suite.yml:4: unknown key 'ulr' in http"
     " (did you mean 'url'? known: url, headers, api_key, session, environment, body)"),
    ("suite: x\nthresholds:\n- score => 1\ncases: [{}]\n",
     "suite.yml:3: 'score => 1' is no threshold (write it like \"score >= 0.8\"; comparators: >= > <= < == !=)"),
    ("suite: x\ncases:\n- thresholds:\n  - pass_rate > 0\n",
     "suite.yml:4: pass_rate > 0 is about the whole run, not about one case (put it under the suite's `thresholds:`)"),
    ("suite: x\ncases:\n- driver: once\n  turns: [a]\n",
     "suite.yml:4: turns are for the script driver, not for 'once'"),
    ("suite: x\nstage: {database: postgres}\ncases: [{}]\n",
     "suite.yml:2: no database called 'postgres' (known: sqlite)"),
    ("suite: x\nlimits: {seconds: 0}\ncases: [{}]\n", "suite.yml:2: seconds must be more than 0, not 0"),
    ("suite: x\ncases: {a: 1}\n", "suite.yml:2: cases: expected a list, found a mapping"),
    ("suite: x\ncases: [hello]\n", "suite.yml:2: a case: expected a mapping, found text"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "said"), GOLDEN)
def test_a_mistake_is_told_with_file_line_and_what_to_do(load: Any, text: str, said: str) -> None:
    with pytest.raises(SuiteError) as error:
        load(text)
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("suite: x\njudging: each\ncases: [{}]\n", 2, "no criteria to judge"),
        ("suite: x\ncases:\n- input: a\n  judging: each\n", 4, "no criteria to judge"),
        ("suite: x\ncriteria: [a]\ncases:\n- judging: each\n  criteria: {only: []}\n", 4, "no criteria to judge"),
        ("suite: x\ncases:\n- criteria:\n  - {text: a, weight: 0}\n  - {text: b, weight: 0}\n",
         3, "all criteria have weight 0"),
        ("suite: x\ncriteria: [{text: a, weight: 0}]\ncases: [{}]\n", 2, "all criteria have weight 0"),
        ("suite: x\ncriteria:\n- {id: a, text: a}\n- {id: a, text: b}\ncases: [{}]\n",
         4, "used twice, first at suite.yml:3"),
        ("suite: x\ncriteria: [{id: a, text: a}]\ncases:\n- criteria:\n  - {id: a, text: b}\n",
         5, "used twice, first at suite.yml:2"),
        ("suite: x\ncases:\n- input: a\n  criteria: [" + "a," * 10_001 + "]\n", 4, "10,001 criteria"),
        ("suite: x\ncriteria:\n- text: a\n  weight: -2\ncases: [{}]\n", 4, "at least 0, not -2"),
        ("suite: x\ncriteria:\n- text: a\n  weight: heavy\ncases: [{}]\n", 4, "expected a number"),
        ("suite: x\ncriteria: ['']\ncases: [{}]\n", 2, "a criterion"),
        ("suite: x\ndriver: persona\ncases:\n- id: a\n", 4, "without tasks"),
        ("suite: x\ncriteria:\n- text: a\n  levels: [{name: a, value: 0}]\ncases: [{}]\n", 4, "two or more"),
        ("suite: x\ncriteria:\n- text: a\n  levels: [{name: a, value: 0}, {name: b, value: 2}]\ncases: [{}]\n",
         4, r"in \[0, 1\]"),
        ("suite: x\ncriteria:\n- text: a\n  levels: [{name: a, value: 0}, {name: a, value: 1}]\ncases: [{}]\n",
         4, "same name"),
    ],
)  # fmt: skip
def test_criteria_that_make_no_sense_are_refused_with_their_line(load: Any, text: str, line: int, words: str) -> None:
    with pytest.raises(SuiteError, match=words) as error:
        load(text)
    assert error.value.where == f"suite.yml:{line}"


def test_a_rubric_of_pitfalls_alone_is_allowed(load: Any) -> None:
    suite = load("suite: x\njudging: each\ncases:\n- criteria: [{text: lies, pitfall: true}]\n")
    assert suite.cases[0].criteria[0].signed_weight == -1


def test_ids_of_criteria_come_from_their_words_and_stay_when_the_list_changes(load: Any) -> None:
    one = load('suite: x\ncriteria: [Names Paris, "Names Paris", "!!!", {text: Z, title: Über uns}]\ncases: [{}]\n')
    two = load('suite: x\ncriteria: ["!!!", {text: Z, title: Über uns}, New, Names Paris]\ncases: [{}]\n')
    assert [c.id for c in one.cases[0].criteria] == ["names-paris", "names-paris-2", "criterion-3", "über-uns"]
    assert [c.id for c in two.cases[0].criteria] == ["criterion-1", "über-uns", "new", "names-paris"]


def test_leniency_turns_unknown_keys_into_warnings(load: Any) -> None:
    said: list[str] = []
    text = "suite: x\nowner: me\ncases:\n- inptu: a\n  checks: [{contains: {text: a, tmies: 2}, wieght: 3}]\n"
    suite = load(text, lenient=True, warn=said.append)
    assert [line.split(" (")[0] for line in said] == [
        "suite.yml:2: unknown key 'owner' in a suite",
        "suite.yml:4: unknown key 'inptu' in a case",
        "suite.yml:5: unknown key 'wieght' in a check",
        "suite.yml:5: unknown key 'tmies' in contains",
    ]
    assert suite.cases[0].checks[0].settings == {"text": "a"}


def test_python_and_yaml_make_the_same_suite(registry: Registry, load: Any) -> None:
    text = "suite: x\nchecks: [{contains: Paris}]\nthresholds: [score >= 0.5]\ncases: [{id: a, input: hi}]\n"
    built = build(
        "x",
        [{"id": "a", "input": "hi"}],
        checks=[{"contains": "Paris"}],
        thresholds=["score >= 0.5"],
        registry=registry,
    )
    (read,), (made,) = load(text).cases, built.cases
    assert (made.id, made.input, made.thresholds) == (read.id, read.input, read.thresholds)
    assert [check.settings for check in made.checks] == [check.settings for check in read.checks]
    assert made.where == "<python>"


def test_python_may_use_viva_s_own_data(registry: Registry) -> None:
    suite = build(
        "x",
        [{"input": "hi"}, {"input": "ho", "criteria": [Criterion(id="k", text="K")]}],
        subject=Ref(name="http", settings={"url": "u"}),
        checks=[Check(scorer="contains", settings={"text": "a"})],
        variants=[Variant(name="v", settings={"url": "w"})],
        thresholds=[Threshold(value=0.5)],
        limits={"seconds": 3},
        registry=registry,
    )
    assert suite.subject == Ref(name="http", settings={"url": "u"})
    assert suite.cases[1].criteria[0].id == "k"
    assert suite.cases[0].variants[0].name == "v"
    again = build("y", suite.cases, registry=registry)
    assert again.cases == suite.cases


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"casse": []}, "did you mean 'cases'?"),
        ({"cases": [{"input": {1, 2}}]}, "cannot hold a set"),
        ({"cases": [{"input": float("nan")}]}, "not a number that can be stored"),
        ({"cases": [{1: "a"}]}, "the key 1 is no text"),
        ({"subject": print, "cases": [{}]}, "subject="),
    ],
)
def test_python_is_told_the_same_errors(keys: dict[str, Any], words: str) -> None:
    with pytest.raises(SuiteError, match=words.replace("?", r"\?")) as error:
        build("x", **keys)
    assert error.value.where == "<python>"


def test_python_data_that_contains_itself_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(SuiteError, match="64 levels"):
        build("x", [{"input": endless}])


def test_an_unchanged_suite_is_recognised_without_parsing(tmp_path: Any, registry: Registry) -> None:
    (tmp_path / "cases.jsonl").write_text('{"input": "a"}\n')
    path = tmp_path / "suite.yml"
    path.write_text("suite: x\ndataset: {file: cases.jsonl}\n")
    suite = load_suite(path, registry=registry)
    assert suite.folder == str(tmp_path)
    assert [source.path for source in suite.sources] == ["suite.yml", "cases.jsonl"]
    assert unchanged(suite.folder, suite.sources)
    (tmp_path / "cases.jsonl").write_text('{"input": "b"}\n')
    assert not unchanged(suite.folder, suite.sources)
    (tmp_path / "cases.jsonl").unlink()
    assert not unchanged(suite.folder, suite.sources)
    assert not unchanged(suite.folder, ())


def test_absolute_and_relative_paths_both_work(
    tmp_path: Any, registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "suite.yml").write_text("suite: x\ncases: [{}]\n")
    monkeypatch.chdir(tmp_path)
    relative, absolute = load_suite("s/suite.yml"), load_suite(tmp_path / "s" / "suite.yml")
    assert relative.folder == absolute.folder == str(tmp_path / "s")
    assert relative.cases[0].where == "s/suite.yml:2"
    with pytest.raises(SuiteError, match="cannot be read: No such file") as error:
        load_suite("missing.yml")
    assert error.value.where == "missing.yml"


def test_a_misspelt_name_of_a_suite_is_told_before_what_is_wrong_inside(load: Any) -> None:
    with pytest.raises(SuiteError, match="unknown key 'siute'") as error:
        load("subject: {http: {}}\nsiute: x\ncases: [{}]\n")
    assert error.value.where == "suite.yml:2"
    assert "did you mean 'suite'?" in error.value.hint


def test_a_wrong_setting_names_the_measure_it_belongs_to() -> None:
    with pytest.raises(SuiteError) as error:
        load_text("suite: x\nmeasures:\n- tone: friendly\ncases: [{}]\n", "s.yml")
    assert str(error.value).startswith("s.yml:3: tone: at_least: expected a whole number")


@pytest.mark.parametrize(
    ("written", "settings"),
    [
        ("{type: object, required: [total]}", {"schema": {"type": "object", "required": ["total"]}}),
        ("{$ref: '#/x', $defs: {}}", {"schema": {"$ref": "#/x", "$defs": {}}}),
        ("{schema: {type: object}}", {"schema": {"type": "object"}}),
        ("{schema: {type: object}, path: a}", {"schema": {"type": "object"}, "path": "a"}),
        ("answer.json", {"schema": "answer.json"}),
    ],
)
def test_a_schema_may_stand_where_its_settings_do(written: str, settings: dict[str, Any]) -> None:
    suite = load_text(f"suite: x\nchecks:\n- json_schema: {written}\ncases: [{{}}]\n")
    assert suite.cases[0].checks[0].settings == settings


def test_a_mapping_that_is_neither_a_schema_nor_settings_is_refused() -> None:
    for written, key in (("{schmea: {type: object}}", "schmea"), ("{type: object, path: a}", "type")):
        with pytest.raises(SuiteError, match=f"unknown key '{key}' in json_schema"):
            load_text(f"suite: x\nchecks:\n- json_schema: {written}\ncases: [{{}}]\n")


@pytest.mark.parametrize(
    "source",
    ["1 + 1", "'yes'", "size(text)", "[true]", "-1", "text.trim()", "true ? 1 : 2", "transcript.map(t, t.text)"],
)
def test_an_expression_that_is_never_true_or_false_is_refused(source: str) -> None:
    for check in (f'expression: "{source}"', f'probe: {{url: "http://x", expression: "{source}"}}'):
        if check.startswith("probe") and "text" in source:
            continue
        with pytest.raises(SuiteError, match="neither true nor false") as error:
            load_text(f"suite: x\nchecks:\n- {check}\ncases: [{{}}]\n", "s.yml")
        assert (error.value.kind, error.value.where) == ("not_boolean", "s.yml:3")


@pytest.mark.parametrize("source", ["true", "output", "size(text) > 1", "state.done", "bool(output)", "!(1 > 2)"])
def test_an_expression_that_may_be_a_claim_is_taken(source: str) -> None:
    assert load_text(f'suite: x\nchecks:\n- expression: "{source}"\ncases: [{{}}]\n').cases


def test_a_setting_refused_by_its_own_type_gets_its_place(registry: Registry) -> None:
    from viva.core.data import Data

    class Picky(Data, frozen=True):
        text: str = ""

        def __post_init__(self) -> None:
            if self.text == "bad":
                raise ValueError("no bad words")
            if self.text == "worse":
                raise SuiteError("none of those", hint="be kind")

    class Scorer:
        Settings = Picky
        shorthand = "text"

        async def score(self, evidence: Any) -> Any: ...

    registry.register("scorers", "picky", Scorer)
    for word, said in (("bad", "s.yml:3: picky: no bad words"), ("worse", "s.yml:3: picky: none of those (be kind)")):
        with pytest.raises(SuiteError) as error:
            load_text(f"suite: x\nchecks:\n- picky: {word}\ncases: [{{}}]\n", "s.yml", registry=registry)
        assert str(error.value) == said
