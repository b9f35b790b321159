"""`viva judge test` measures a judge and says what it found."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path

import pytest

from viva.cli.main import main
from viva.judging.labelled.load import items

YES = """
rules:
  - when: {contains: This is graded}
    reply: {id: $nonce, reason: so, answer: "1"}
  - reply: {id: $nonce, reason: so, answer: met}
"""
UNGRADED = """
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
    (tmp_path / "ungraded.yml").write_text(UNGRADED)
    (tmp_path / "broken.yml").write_text(BROKEN)
    return tmp_path


def test_it_prints_accuracy_yes_rate_false_positives_seconds_and_cost(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["judge", "test", "--model", "scripted:yes.yml"]) == 0
    out = capsys.readouterr().out
    for word in ("accuracy", "yes-rate", "false positives", "not judged", "seconds", "cost", "injection"):
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


def test_a_judge_that_gives_no_verdict_at_all_has_no_accuracy(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["judge", "test", "--model", "scripted:broken.yml", "--limit", "5", "--fail-under", "0.5"]
    assert main(asked) == 3
    out = " ".join(capsys.readouterr().out.split())
    assert "accuracy none 0 of 5 judged: 5 × judge_unreadable" in out
    assert "yes-rate none" in out
    assert main([*asked, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["accuracy"], found["yes_rate"], found["false_positive_rate"]) == (None, None, None)
    assert (found["judged"], found["not_judged"], found["errors"]) == (0, 5, {"judge_unreadable": 5})


def test_accuracy_is_over_what_was_judged_and_the_rest_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["judge", "test", "--model", "scripted:ungraded.yml"]
    assert main([*asked, "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert (found["items"], found["judged"], found["not_judged"]) == (69, 65, 4)
    assert found["accuracy"] == found["right"] / 65
    assert main(asked) == 3
    assert f"{found['right']} of 65 judged right; 4 not judged" in " ".join(capsys.readouterr().out.split())


def test_a_judge_that_is_not_there_is_said_at_once_and_exits_with_2(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    began = time.monotonic()
    assert main(["judge", "test", "--model", f"openai/x@http://127.0.0.1:{port}/v1"]) == 2
    assert time.monotonic() - began < 30
    said = capsys.readouterr()
    assert f"no model answers at http://127.0.0.1:{port}/v1/chat/completions: cannot connect" in said.err
    assert "accuracy" not in said.out


def test_the_judge_of_the_users_settings_is_measured(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".viva").mkdir()
    (folder / ".viva" / "settings.toml").write_text('judge = "scripted:yes.yml"\n')
    assert main(["judge", "test", "--limit", "3"]) == 0
    assert "scripted:yes.yml on 3 labelled items" in capsys.readouterr().out


def test_the_bundled_model_is_offered_with_what_was_measured_of_it(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_KEY", "_TOKEN", "VIVA_JUDGE"))]:
        monkeypatch.delenv(name)
    measured = "right on 34 of 69 labelled items"
    assert main(["judge", "test"]) == 2
    assert measured in capsys.readouterr().err
    main(["doctor", "--offline", "--judge", "local/smollm2"])
    assert measured in " ".join(capsys.readouterr().out.split())


def test_without_a_model_it_says_which_there_are(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "VIVA_JUDGE"):
        monkeypatch.delenv(name, raising=False)
    assert main(["judge", "test"]) == 2


@pytest.mark.soak
def test_the_bundled_model_is_measured_with_its_caveat_beside_its_name(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("xllamacpp")
    assert main(["judge", "test", "--model", "local/smollm2", "--limit", "2", "-c", "2"]) in (0, 3)
    out = capsys.readouterr().out
    assert "no better than chance" in out
    assert "local/smollm2 on 2 labelled items" in out
