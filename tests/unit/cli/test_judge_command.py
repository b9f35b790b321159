"""`viva judge test` measures a judge and says what it found."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from viva.cli.main import main
from viva.judging.labelled.load import items

YES = """
rules:
  - reply: {id: $nonce, reason: so, answer: met}
"""
BROKEN = """
rules:
  - reply: I think it is met.
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "yes.yml").write_text(YES)
    (tmp_path / "broken.yml").write_text(BROKEN)
    return tmp_path


def test_it_prints_accuracy_yes_rate_false_positives_seconds_and_cost(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "test", "--model", "scripted:yes.yml"]) == 0
    out = capsys.readouterr().out
    for word in ("accuracy", "yes-rate", "false positives", "unreadable", "seconds", "cost", "injection"):
        assert word in out
    assert f"{len(items())} labelled items" in out
    assert "10 of 10 verdicts on null answers credit them" in out


def test_json_holds_the_same_numbers(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "test", "--model", "scripted:yes.yml", "--limit", "20", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["items"] == 20
    assert found["false_positive_rate"] == 1.0
    assert found["accuracy"] == found["right"] / 20


def test_a_judge_below_the_bar_exits_with_1(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", "test", "--model", "scripted:yes.yml", "--fail-under", "0.9", "--mistakes"]) == 1
    assert "mistakes" in capsys.readouterr().out


def test_a_judge_that_gives_no_verdict_at_all_is_an_error_not_zero(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "test", "--model", "scripted:broken.yml", "--limit", "5"]) == 3
    assert "judge_unreadable 5" in capsys.readouterr().out


def test_without_a_model_it_says_which_there_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "VIVA_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    assert main(["judge", "test"]) == 2


@pytest.mark.soak
def test_the_bundled_model_is_measured_with_its_caveat_beside_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("xllamacpp")
    assert main(["judge", "test", "--model", "local/smollm2", "--limit", "2", "-c", "2"]) == 0
    out = capsys.readouterr().out
    assert "no better than chance" in out
    assert "local/smollm2 on 2 labelled items" in out
