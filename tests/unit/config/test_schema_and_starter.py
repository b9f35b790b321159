"""The JSON Schema says what the reader says; the starter is a suite; the reference knows every key."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from viva.config.keys import CaseKeys, CriterionKeys, DatasetKeys, LimitKeys, SuiteKeys
from viva.config.load import load_suite, load_text
from viva.config.schema import MODELINE, suite_schema
from viva.config.settings import read_settings
from viva.config.starter import write_starter
from viva.config.tree import plain
from viva.config.yaml import read_yaml
from viva.core.errors import SetupError, SuiteError
from viva.registry import Registry

DOCS = Path(__file__).parents[3] / "docs"


def accepts(schema: dict[str, Any], text: str) -> bool:
    jsonschema = pytest.importorskip("jsonschema")
    return bool(jsonschema.Draft202012Validator(schema).is_valid(plain(read_yaml(text, "s.yml"))))


@pytest.fixture
def schema(registry: Registry) -> dict[str, Any]:
    return suite_schema(registry)


GOOD = [
    "suite: x\ncases: [{input: hi}]\n",
    "suite: x\ncases: [{id: 7, turns: [a], tags: t}]\nformula: weighted\n",
    "suite: x\nsubject: {http: {url: u}}\nchecks: [fuzzy, {contains: a, weight: 2, label: b}]\ncases: [{}]\n",
    "suite: x\nsubject: {http: u}\ncases: [{checks: {only: [{contains: {text: a}}]}, criteria: [a, {text: b}]}]\n",
    "suite: x\nsubject: my.module:Class\ncases: [{checks: [{'my.module:Check': {a: 1}}]}]\n",
    "suite: x\nlimits: {seconds: null}\nthresholds: [score > 0, {value: 1, run: true}]\ncases: [{}]\n",
    "suite: x\ndataset: {file: a.csv, map: {input: q}}\n",
    "suite: x\ndataset: [{file: a.csv}]\nstage: {database: {sqlite: a.db}, graph: embedded}\n",
]
BAD = [
    "cases: [{}]\n",
    "suite: x\ncasse: [{}]\n",
    "suite: x\ncases: [{inptu: a}]\n",
    "suite: x\nsubject: htpp\ncases: [{}]\n",
    "suite: x\nsubject: {http: {ulr: u}}\ncases: [{}]\n",
    "suite: x\nchecks: [{contains: {times: many}}]\ncases: [{}]\n",
    "suite: x\nchecks: [{contains: a, wieght: 2}]\ncases: [{}]\n",
    "suite: x\nchecks: [{contains: a, weight: -2}]\ncases: [{}]\n",
    "suite: x\nrepeats: 0\ncases: [{}]\n",
    "suite: x\nlimits: {secods: 1}\ncases: [{}]\n",
    "suite: x\nstage: {database: postgres}\ncases: [{}]\n",
]


@pytest.mark.parametrize("text", GOOD)
def test_the_schema_accepts_what_the_reader_accepts(schema: dict[str, Any], text: str) -> None:
    assert accepts(schema, text)


@pytest.mark.parametrize("text", BAD)
def test_the_schema_refuses_what_the_reader_refuses(schema: dict[str, Any], text: str, registry: Registry) -> None:
    assert not accepts(schema, text)
    with pytest.raises(SuiteError):
        load_text(text, registry=registry)


def test_the_schema_is_one_and_describes_every_name_the_registry_knows(registry: Registry) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = suite_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    known = Registry()
    for kind in ("subjects", "drivers", "scorers", "setups", "seeds", "graphs"):
        assert set(known.names(kind)) <= set(schema["$defs"][kind]["anyOf"][0]["enum"])
    json.dumps(schema)


def test_an_implementation_that_cannot_be_imported_is_a_free_mapping() -> None:
    registry = Registry()
    find = registry.find

    def broken(kind: str, name: str, where: str = "") -> Any:
        if name == "contains":
            raise SetupError("the package 'x' is not installed", kind="missing_package")
        return find(kind, name, where)

    registry.find = broken  # type: ignore[method-assign]
    assert accepts(suite_schema(registry), "suite: x\nchecks: [{contains: {anything: 1}}]\ncases: [{}]\n")


def test_the_starter_is_a_suite_that_loads_and_whose_first_line_names_its_schema(tmp_path: Path) -> None:
    written = write_starter(tmp_path)
    assert {path.name for path in written} == {"suite.yml", "agent.py", "suite.schema.json", "settings.toml"}
    assert read_settings(tmp_path).allow == ("command:python",)
    suite = load_suite(tmp_path / "suite.yml")
    assert [case.id for case in suite.cases] == ["france", "spain", "unknown"]
    first = (tmp_path / "suite.yml").read_text().splitlines()[0]
    assert first.startswith(MODELINE)
    schema = json.loads((tmp_path / first.removeprefix(MODELINE)).read_text())
    assert accepts(schema, (tmp_path / "suite.yml").read_text())


def test_the_starter_s_agent_answers_without_any_key(tmp_path: Path) -> None:
    write_starter(tmp_path)
    done = subprocess.run(
        [sys.executable, "agent.py"],
        cwd=tmp_path,
        input="What is the capital of France?",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert json.loads(done.stdout)["capital"] == "Paris"


def test_the_starter_replaces_nothing_unless_forced(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("mine")
    with pytest.raises(SetupError, match=r"agent\.py already there"):
        write_starter(tmp_path)
    assert (tmp_path / "agent.py").read_text() == "mine"
    assert not (tmp_path / "suite.yml").exists()
    (tmp_path / ".viva").mkdir()
    (tmp_path / ".viva" / "settings.toml").write_text('store = "mine.db"\n')
    write_starter(tmp_path, force=True)
    assert (tmp_path / "agent.py").read_text() != "mine"
    assert read_settings(tmp_path).store == "mine.db"


def test_a_folder_that_cannot_be_written_is_a_setup_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="cannot write"):
        write_starter(tmp_path / "file" / "below")


def test_the_reference_explains_every_key() -> None:
    text = (DOCS / "reference" / "suite.md").read_text()
    for keys in (SuiteKeys, CaseKeys, CriterionKeys, DatasetKeys, LimitKeys):
        for key in keys.__struct_fields__:
            assert f"`{key}`" in text, key


def fenced_suites() -> list[tuple[str, str]]:
    found = []
    for path in sorted(DOCS.rglob("*.md")):
        for block in re.findall(r"^```yaml\n(# suite: [^\n]*\n.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL):
            found.append((f"{path.name}: {block.splitlines()[0]}", block))
    return found


@pytest.mark.parametrize(("name", "text"), fenced_suites(), ids=lambda value: value[:40])
def test_every_suite_in_the_documentation_loads(name: str, text: str, tmp_path: Path) -> None:
    for file, content in {
        "cases.jsonl": '{"key": "a", "question": "q", "solution": "s", "meta": {"level": 1}}\n',
        "cases.csv": "key;question;solution\na;q;s\n",
        "cases.yml": "- {id: a, input: q, expected: s}\n",
        "claims.jsonl": '{"key": "a", "question": "q", "claims": [{"contains": "s"}]}\n',
    }.items():
        (tmp_path / file).write_text(content)
    assert load_text(text, name, folder=tmp_path, allow_env=("AGENT_KEY",)).cases
