"""Two runs are compared case by case, or said to be not comparable."""

import json

import pytest

import viva
from viva.cli.main import main

SUITE = """
suite: sums
measures: [{{fuzzy: {{}}}}]
{more}
cases:
{cases}
"""
CASES = "\n".join(f"  - {{id: c{n}, input: 'n={n}', expected: 'the answer is {n}'}}" for n in range(8))


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def examine(project, agent, more="", cases=CASES):
    (project / "suite.yml").write_text(SUITE.format(more=more, cases=cases))
    return viva.run("suite.yml", subject=agent)


def good(text):
    return f"the answer is {text.removeprefix('n=')}"


def bad(text):
    return f"answer {text.removeprefix('n=')}?" + "x" * int(text.removeprefix("n="))


def test_a_clear_change_is_called_better_or_worse(project, capsys):
    before, after = examine(project, bad), examine(project, good)
    assert main(["compare", before.id, after.id]) == 0
    said = capsys.readouterr().out
    assert "8 cases changed, 0 did not" in said
    assert "the second run is better" in said
    main(["compare", after.id, before.id])
    assert "the second run is worse" in capsys.readouterr().out


def test_no_change_is_no_clear_difference(project, capsys):
    before, after = examine(project, good), examine(project, good)
    assert main(["compare", before.id, after.id]) == 0
    assert "no clear difference" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ("checks: [{contains: answer}]", "the scorers"),
        ("formula: pass_rate@1", "the formula"),
        ("roles: {judge: 'scripted:other.yml'}", "the judge"),
    ],
)
def test_runs_that_were_scored_in_another_way_are_not_comparable(project, capsys, more, what):
    before, after = examine(project, good), examine(project, good, more)
    assert main(["compare", before.id, after.id]) == 2
    said = capsys.readouterr().err
    assert "not comparable" in said
    assert what in said


def test_json_holds_the_difference_and_its_cases(project, capsys):
    before, after = examine(project, bad), examine(project, good)
    capsys.readouterr()
    main(["compare", before.id, after.id, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["lift"]["lift"]["mean"] > 0
    assert len(found["lift"]["cases"]) == 8


def test_a_run_is_not_held_against_itself(project, capsys):
    one = examine(project, good)
    assert main(["compare", one.id, one.id]) == 2
    assert "one and the same run" in capsys.readouterr().err
