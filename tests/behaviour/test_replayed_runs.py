"""A stored run can be replayed, exported and read in again, without its agent."""

import pytest

import viva
from viva.cli.main import main

SUITE = """
suite: capitals
{subject}
checks: [{{contains: Paris}}]
cases: [{{id: france, input: Capital of France?}}, {{id: spain, input: Capital of Spain?}}]
"""


def answer(text):
    return "Paris, of course" if "France" in text else "I do not know"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "live.yml").write_text(SUITE.format(subject=""))
    return tmp_path


def outcomes(run):
    return {trial.key: (trial.result.outcome, trial.evidence.text) for trial in run.trials}


def test_a_stored_run_is_replayed_by_its_id(project):
    first = viva.run("live.yml", subject=answer)
    (project / "again.yml").write_text(SUITE.format(subject=f"subject: {{replay: {{run: {first.id}}}}}"))
    assert outcomes(viva.run("again.yml")) == outcomes(first)


def test_an_exported_run_is_replayed_from_its_file(project, capsys):
    first = viva.run("live.yml", subject=answer)
    assert main(["export", "latest", "run.jsonl"]) == 0
    assert "2 trials" in capsys.readouterr().out
    (project / "again.yml").write_text(SUITE.format(subject="subject: {replay: {file: run.jsonl}}"))
    assert outcomes(viva.run("again.yml")) == outcomes(first)


def test_an_exported_run_is_read_in_again_elsewhere(project, capsys):
    first = viva.run("live.yml", subject=answer)
    main(["export", first.id, "run.jsonl"])
    assert main(["import", "run.jsonl", "--store", "other.db"]) == 0
    capsys.readouterr()
    assert main(["show", first.id, "france", "--store", "other.db"]) == 0
    assert "Paris, of course" in capsys.readouterr().out


def test_a_torn_export_gives_what_is_whole_and_names_the_line(project, capsys):
    first = viva.run("live.yml", subject=answer)
    main(["export", first.id, "run.jsonl"])
    whole = (project / "run.jsonl").read_bytes()
    (project / "torn.jsonl").write_bytes(whole[: len(whole) - 40])
    capsys.readouterr()
    assert main(["import", "torn.jsonl", "--store", "other.db"]) == 3
    said = capsys.readouterr()
    assert "torn.jsonl:" in said.err
    assert "2 trials" in said.out


@pytest.mark.parametrize("subject", ["subject: replay", "subject: {replay: {file: a.jsonl, run: b}}"])
def test_a_replay_of_nothing_or_of_two_things_is_refused(project, subject):
    (project / "bad.yml").write_text(SUITE.format(subject=subject))
    with pytest.raises(viva.SuiteError, match="either a file or a run"):
        viva.run("bad.yml")


def test_a_run_that_came_to_nothing_does_not_stand_in_the_way_of_the_mended_suite(project):
    broken = 'subject: {http: {url: "http://127.0.0.1:9/"}}'
    (project / "suite.yml").write_text(SUITE.format(subject=broken))
    assert viva.run("suite.yml").status == "aborted"
    first = viva.run("live.yml", subject=answer)
    (project / "suite.yml").write_text(SUITE.format(subject=f"subject: {{replay: {{run: {first.id}}}}}"))
    assert viva.run("suite.yml").status == "finished"
