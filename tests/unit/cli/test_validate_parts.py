"""`viva validate` refuses what a run would refuse, and needs neither models nor anything that listens."""

from __future__ import annotations

import json
import os
import sqlite3
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from viva.cli.main import main

Validate = Callable[..., tuple[int, str]]

SUBJECT = "subject: {http: {url: 'http://127.0.0.1:9/chat'}}\n"
PLAIN = "checks: [{contains: a}]\ncases: [{id: a, input: hi}]\n"


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, and an environment without keys."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in list(os.environ):
        if name.endswith(("_KEY", "_TOKEN")) or name.startswith(("VIVA", "NEO", "OPENAI", "AZURE")):
            monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def validate(project: Path, capsys: pytest.CaptureFixture[str]) -> Validate:
    """Write a suite, validate it, and give the exit code with what was said on stderr."""

    def check(text: str, *options: str) -> tuple[int, str]:
        (project / "s.yml").write_text(f"suite: x\n{textwrap.dedent(text)}")
        code = main(["validate", "s.yml", *options])
        return code, capsys.readouterr().err

    return check


REFUSED = {
    "a function nobody allowed": (
        f"subject: {{function: {{target: 'agent_here:answer'}}}}\n{PLAIN}",
        "s.yml:2",
        "--allow agent_here",
    ),
    "a program nobody allowed": (
        f"subject: {{command: {{argv: [touch, started]}}}}\n{PLAIN}",
        "s.yml:2",
        "--allow command:touch",
    ),
    "a program of a variant": (
        f"{SUBJECT}variants: [{{name: a}}, {{name: b, subject: {{command: {{argv: [touch, started]}}}}}}]\n{PLAIN}",
        "s.yml:3",
        "--allow command:touch",
    ),
    "an address that is none": (f"subject: {{http: {{url: 'localhost:80/chat'}}}}\n{PLAIN}", "s.yml:2", "http://"),
    "an address without a host": (f"subject: {{http: {{url: 'http:///chat'}}}}\n{PLAIN}", "s.yml:2", "http://"),
    "an endpoint that is none": (f"subject: {{openai: {{base_url: 'localhost'}}}}\n{PLAIN}", "s.yml:2", "http://"),
    "a recording that is not there": (f"subject: {{replay: {{file: gone.jsonl}}}}\n{PLAIN}", "s.yml:2", "gone.jsonl"),
    "a schema that is not there": (f"{SUBJECT}cases: [{{checks: [{{json_schema: gone.json}}]}}]\n", "s.yml:3", "gone"),
    "a database that is not there": (f"{SUBJECT}stage: {{database: {{sqlite: gone.db}}}}\n{PLAIN}", "s.yml:3", "gone"),
    "a database without its file": (f"{SUBJECT}stage: {{database: sqlite}}\n{PLAIN}", "s.yml:3", "sqlite"),
    "a setup that is no program": (
        f"{SUBJECT}stage: {{setups: [{{command: [touch, started]}}]}}\n{PLAIN}",
        "s.yml:3",
        "--allow command:touch",
    ),
    "a setup's script that is not there": (
        f"{SUBJECT}stage: {{graph: embedded, setups: [{{cypher: {{file: gone.cypher}}}}]}}\n{PLAIN}",
        "s.yml:3",
        "gone.cypher",
    ),
    "a setup's address that is none": (
        f"{SUBJECT}stage: {{setups: [{{http: 'localhost/x'}}]}}\n{PLAIN}",
        "s.yml:3",
        "no http address",
    ),
    "a probe's address that is none": (
        f"{SUBJECT}stage: {{seeds: [{{text: a}}], settle: {{probe: {{http: nowhere}}}}}}\n{PLAIN}",
        "s.yml:3",
        "no http address",
    ),
    "a check's address that is none": (
        f"{SUBJECT}checks: [{{probe: {{url: nowhere, expression: 'value == 1'}}}}]\ncases: [{{input: a}}]\n",
        "s.yml:3",
        "no http address",
    ),
    "a formula that cannot be": (
        f"{SUBJECT}formula: {{weighted: {{weights: {{checks: -1}}}}}}\n{PLAIN}",
        "s.yml:3",
        "",
    ),
    "judging that cannot be": (
        f"{SUBJECT}judging: {{holistic: {{batch: 4}}}}\ncriteria: [a]\n{PLAIN}",
        "s.yml:3",
        "no batches",
    ),
    "a model nobody knows": (f"{SUBJECT}roles: {{judge: opneai/x}}\ncriteria: [a]\n{PLAIN}", "", "opneai"),
    "a template nobody allowed": (
        f"{SUBJECT}driver: {{persona: {{template: own.jinja}}}}\ncases: [{{tasks: [a]}}]\n",
        "s.yml:3",
        "--allow templates",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_run_refuses_is_refused(validate: Validate, project: Path, what: str) -> None:
    text, where, words = REFUSED[what]
    code, err = validate(text)
    assert code == 2
    assert where in err
    assert words in err
    assert not (project / "started").exists()


def test_what_was_allowed_is_fine_and_nothing_is_started(validate: Validate, project: Path) -> None:
    (project / "agent_here.py").write_text("def answer(text):\n    raise SystemExit('asked')\n")
    sqlite3.connect(project / "a.db").close()
    (project / "answer.json").write_text('{"type": "object"}')
    text = """\
        subject: {function: {target: "agent_here:answer"}}
        variants: [{name: a}, {name: b, subject: {command: {argv: [touch, started]}}}]
        stage:
          database: {sqlite: a.db}
          graph: {neo4j: {uri: "bolt://127.0.0.1:9"}}
          setups: [{command: [touch, started]}, {sql: "CREATE TABLE t (a)"}]
        checks: [{json_schema: answer.json}, {cypher: {query: "RETURN 1", expected: 1}}]
        cases: [{input: hi}]
        """
    code, err = validate(text, "--allow", "agent_here", "--allow", "command:touch")
    assert (code, err) == (0, "")
    assert not (project / "started").exists()


def test_a_model_that_is_missing_is_no_fault_of_the_file(validate: Validate) -> None:
    text = """\
        subject: {http: {url: "http://127.0.0.1:9/chat"}}
        driver: persona
        roles: {judge: openai/gpt-4.1-mini}
        judging: {each: {panel: [anthropic/a, openai/b], stop_early: true}}
        criteria: [Is kind]
        measures: [qa, completion, tone, factual_correctness, answer_equivalence, semantic_similarity]
        cases: [{tasks: [a]}]
        """
    code, err = validate(text)
    assert (code, err) == (0, "")


def test_a_variable_that_is_not_set_is_mentioned(validate: Validate) -> None:
    text = f"subject: {{http: {{url: 'http://127.0.0.1:9', api_key: 'env:AGENT_KEY'}}}}\n{PLAIN}"
    code, err = validate(text)
    assert code == 2
    assert "--allow-env AGENT_KEY" in err
    code, err = validate(text, "--allow-env", "AGENT_KEY")
    assert code == 0
    assert err.startswith("warning: ")
    assert "AGENT_KEY is not set" in err


def test_a_suite_without_a_subject_gets_one_from_its_run(validate: Validate) -> None:
    assert validate(PLAIN) == (0, "")


def test_a_suite_that_asks_nothing_is_warned_of(validate: Validate) -> None:
    code, err = validate(f"{SUBJECT}cases: [{{input: a}}, {{input: b}}]\n")
    assert code == 0
    assert "nothing is asked of the evidence;" in err
    code, err = validate(f"{SUBJECT}cases:\n- {{input: a, checks: [equals]}}\n- {{id: quiet}}\n")
    assert code == 0
    assert "s.yml:5: nothing is asked of the evidence of 1 of 2 cases, such as 'quiet'" in err


def test_all_kinds_of_cases_are_looked_at_and_equal_ones_once(validate: Validate, project: Path) -> None:
    rows = "".join(json.dumps({"input": f"q{n}"}) + "\n" for n in range(5_000))
    (project / "many.jsonl").write_text(rows)
    text = f"{SUBJECT}repeats: 1000\nchecks: [equals]\ncases: [{{checks: [{{json_schema: gone.json}}]}}]\n"
    assert validate(f"{text}dataset: {{file: many.jsonl}}\n")[0] == 2
    fine = text.replace("json_schema: gone.json", "contains: a")
    assert validate(f"{fine}dataset: {{file: many.jsonl}}\n") == (0, "")
