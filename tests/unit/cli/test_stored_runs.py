"""`viva list` and `viva show`, on a real store."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from viva.cli.main import main
from viva.core.case import Case
from viva.core.evidence import Ending, Evidence, Observed
from viva.core.run import Run
from viva.core.score import AnyScore, Score, ScoreError, TrialResult
from viva.core.threshold import Threshold
from viva.core.timing import timing_of
from viva.core.transcript import Event, Transcript, Turn
from viva.core.variant import DEFAULT_VARIANT
from viva.store.sqlite import SqliteStore

CASES = (Case(id="france"), Case(id="spain"), Case(id="atlantis"))


async def fill(path: Path) -> None:
    store = await SqliteStore.open(path)
    run = Run(
        id="r-one",
        suite="capitals",
        suite_hash="h",
        planned=3,
        created_at="2026-01-02T03:04:05+00:00",
        thresholds=(Threshold(metric="score", value=0.8, scope="run"),),
    )
    await store.create_run(run, CASES)
    for case, reply, value in (("france", "Paris\x1b[2J", 1.0), ("spain", "Lisbon", 0.0)):
        await keep(store, case, reply, Score(name="contains", value=value, passed=value > 0, reason="looked for it"))
    await keep(store, "atlantis", "", ScoreError(name="contains", kind="no_text", detail="it never answered"))
    await store.finish_run(run.id, "finished")
    await store.close()


async def keep(store: SqliteStore, case: str, reply: str, score: AnyScore) -> None:
    turns = [Turn(role="user", text=f"capital of {case}?")]
    if reply:
        event = Event(kind="graph_query", data={"cypher": "MATCH (n)"})
        turns.append(Turn(role="assistant", text=reply, latency_ms=20.0, events=(event,)))
    transcript = Transcript(turns=tuple(turns))
    ending = Ending() if reply else Ending(kind="timed_out", ok=False, because="no reply within 2 s")
    evidence = Evidence(
        trial=case,
        case=next(one for one in CASES if one.id == case),
        variant=DEFAULT_VARIANT,
        transcript=transcript,
        timing=timing_of(transcript, 25.0),
        ending=ending,
        state={"state": Observed(value={"visits": 1})},
    )
    outcome = score.outcome
    value = score.value if isinstance(score, Score) else None
    why = "" if reply else "timed_out"
    result = TrialResult(trial=case, case=case, outcome=outcome, score=value, error=why, mean_ms=20.0, turns=1)
    await store.add_evidence("r-one", evidence)
    await store.add_result("r-one", result, [score])


@pytest.fixture
def store(tmp_path: Path) -> str:
    path = tmp_path / "viva.db"
    asyncio.run(fill(path))
    return str(path)


def test_list_shows_runs_with_what_is_done(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--store", store]) == 0
    row = capsys.readouterr().out.splitlines()[-1].split()
    assert row == ["r-one", "capitals", "finished", "3/3", "2026-01-02", "03:04:05"]


def test_list_as_json_can_be_read_by_a_script(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--store", store, "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)
    assert (run["id"], run["done"], run["planned"]) == ("r-one", 3, 3)


def test_list_of_another_suite_is_empty(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["list", "--store", store, "--suite", "other"]) == 0
    assert capsys.readouterr().out == "no runs yet\n"


def test_a_missing_store_is_one_line_and_a_configuration_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "--store", str(tmp_path / "none.db")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "none.db").exists()


def test_show_tells_means_with_n_and_errors(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "latest", "--store", store]) == 0
    out = capsys.readouterr().out
    (contains,) = [line.split() for line in out.splitlines() if line.strip().startswith("contains")]
    assert contains == ["contains", "0.500", "0.000", "–", "1.000", "2", "1", "1"]
    assert "3 trials: 1 passed, 1 failed, 1 error, 0 skipped; pass rate 50%" in out
    assert "errors: 1 × timed_out" in out
    assert "errors in contains: 1 × no_text" in out
    assert "score >= 0.8 does not hold: score is 0.5" in out


def test_show_as_json_has_every_number(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "r-o", "--store", store, "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["score"]["mean"] == 0.5
    assert shown["score"]["n"] == 2
    assert shown["outcomes"]["errors"] == 1
    assert shown["exit_code"] == 3
    assert shown["usage"] == {}
    assert shown["thresholds"] == [{"threshold": "score >= 0.8", "number": 0.5, "holds": False}]


def test_show_lists_trials_one_per_line_as_json(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "latest", "--trials", "--json", "--store", store]) == 0
    trials = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [trial["case"] for trial in trials] == ["france", "spain", "atlantis"]
    assert trials[0]["scores"][0]["value"] == 1.0
    assert "value" not in trials[2]["scores"][0]


def test_show_tells_everything_about_one_trial(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "latest", "france", "--store", store]) == 0
    out = capsys.readouterr().out
    assert "     user │ capital of france?" in out
    assert "assistant │ Paris\\x1b[2J  (20 ms)" in out
    assert 'graph_query {"cypher": "MATCH (n)"}' in out
    assert 'state: {"visits": 1}' in out
    assert "contains: pass 1.000  looked for it" in out


def test_show_names_why_a_trial_has_no_score(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "latest", "atlantis", "--store", store]) == 0
    out = capsys.readouterr().out
    assert out.startswith("atlantis  timed_out\nno reply within 2 s\n")
    assert "contains: error no_text  it never answered" in out


@pytest.mark.parametrize("words", [["show", "nope"], ["show", "latest", "nope"]])
def test_what_is_not_there_is_one_line(store: str, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*words, "--store", store]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "nope" in err
    assert err.count("\n") == 1
