"""Reports in files, and runs that only measure."""

import viva
from viva.cli.main import main

SUITE = """
suite: {name}
subject: {{replay: {{file: talk.json}}}}
{asked}
cases: [{{id: a, input: Hi}}]
"""


def test_reports_of_several_suites_stand_one_after_the_other(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.json").write_text('[{"role": "assistant", "text": "Hello there"}]')
    for name in ("first", "second"):
        (tmp_path / f"{name}.yml").write_text(SUITE.format(name=name, asked="checks: [{contains: Hello}]"))
    assert main(["run", "first.yml", "second.yml", "--report", "report.txt", "-q"]) == 0
    text = (tmp_path / "report.txt").read_text()
    assert text.index("first: run") < text.index("second: run")
    assert text.count("[assistant] Hello there") == 2


def test_a_trial_that_is_only_measured_is_skipped_and_not_an_error(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "talk.json").write_text('[{"role": "assistant", "text": "Hello there"}]')
    (tmp_path / "measured.yml").write_text(SUITE.format(name="measured", asked="measures: [turns]"))
    (trial,) = viva.run("measured.yml").trials
    assert (trial.result.outcome, trial.result.error) == ("skipped", "no_scores")
    assert trial.scores[0].raw == 1
