"""What tables and `viva show` make of quantities, pitfalls, errors and refusals, on a real store."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from viva.cli.main import main
from viva.cli.tables import attempts_line
from viva.core.case import Case
from viva.core.evidence import Ending, Evidence
from viva.core.run import Run
from viva.core.score import AnyScore, Score, ScoreError, ScoreSkipped, TrialResult
from viva.core.transcript import Fault, Transcript, Turn
from viva.core.variant import DEFAULT_VARIANT
from viva.report.quantity import quantity
from viva.store.sqlite import SqliteStore

FINE = (
    Score(name="turns", value=1.0, raw=3.0, unit="turns", reason="3 turns", flags=("unscaled",), section="measures"),
    Score(name="timing", value=0.83, raw=3600.0, unit="ms", reason="mean 3600 ms", section="measures"),
    Score(name="tone", value=0.75, raw=4.0, unit="1–5", passed=True, section="measures"),
    Score(name="lies", value=0.0, passed=True, weight=-2.0, section="criteria"),
    ScoreSkipped(name="cost", reason="the price is not known", section="measures"),
)
DISPLAY = "1:12: no field 'resorces'\n  size(state.resorces) == 1\n             ^"
WRONG = (
    Score(name="contains", value=1.0, passed=True),
    ScoreError(name="expression", kind="expression_error", detail=DISPLAY),
)
REFUSED = Ending(
    kind="subject_error",
    ok=False,
    because="the agent answered 422",
    status=422,
    body='{"detail":\n "no \x1b[2Jsession"}',
)


async def fill(path: Path) -> None:
    store = await SqliteStore.open(path)
    cases = (Case(id="fine"), Case(id="wrong"), Case(id="refused"))
    await store.create_run(Run(id="r-one", suite="s", suite_hash="h", planned=3), cases)
    await keep(store, cases[0], FINE, TrialResult(trial="fine", case="fine", outcome="pass", score=0.9))
    reason = "1 of 2 judged"
    wrong = TrialResult(trial="wrong", case="wrong", outcome="error", error="expression_error", reason=reason)
    await keep(store, cases[1], WRONG, wrong)
    refused = TrialResult(trial="refused", case="refused", outcome="error", error=REFUSED.kind, failures=2)
    await keep(store, cases[2], (), refused, REFUSED)
    await store.add_result("r-one", wrong, WRONG, "looser")
    await store.finish_run("r-one", "finished")
    await store.close()


async def keep(
    store: SqliteStore, case: Case, scores: Sequence[AnyScore], result: TrialResult, ending: Ending = REFUSED
) -> None:
    faults = tuple(Fault(kind="subject_error") for _ in range(result.failures))
    turns = (Turn(role="user", text="hello", faults=faults),)
    ending = Ending() if scores else ending
    evidence = Evidence(
        trial=case.id, case=case, variant=DEFAULT_VARIANT, transcript=Transcript(turns=turns), ending=ending
    )
    await store.add_evidence("r-one", evidence)
    await store.add_result("r-one", result, scores)


@pytest.fixture
def store(tmp_path: Path) -> str:
    asyncio.run(fill(tmp_path / "viva.db"))
    return str(tmp_path / "viva.db")


def shown(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(["show", "latest", *words]) == 0
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_a_quantity_without_a_target_is_shown_raw_and_has_no_mean(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = shown(capsys, "--store", store)
    assert "score raw mean 95 % interval n failed errors" in lines
    assert "turns 3 turns – – 1 0 0" in lines
    assert "timing 3,600 ms 0.830 – 1 0 0" in lines
    assert "tone 4 of 1–5 0.750 – 1 0 0" in lines
    assert not [line for line in lines if line.startswith("flags")]


def test_a_pitfall_is_marked_so_that_its_0_is_read_as_good(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert "lies (pitfall) – 0.000 – 1 0 0" in shown(capsys, "--store", store)
    assert "lies (pitfall): pass 0.000" in shown(capsys, "fine", "--store", store)


def test_a_measure_without_an_opinion_does_not_pass(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "fine", "--store", store)
    assert "turns: 3 turns" in lines
    assert "timing: 0.830 (3,600 ms) mean 3600 ms" in lines
    assert "tone: pass 0.750 (4 of 1–5)" in lines
    assert "cost: skipped the price is not known" in lines


def test_the_why_column_names_the_score_and_leaves_the_caret_out(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = " ".join(shown(capsys, "--store", store))
    assert "expression_error: expression: 1:12: no field 'resorces' in: size(state.resorces) == 1" in text
    assert "judged" not in text
    assert "^" not in text


def test_one_trial_shows_the_caret_under_its_place(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "latest", "wrong", "--store", store]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.endswith("size(state.resorces) == 1"))
    assert lines[at - 1] == "expression: error expression_error  1:12: no field 'resorces'"
    assert lines[at + 1].index("^") == lines[at].index("resorces")


def test_what_the_agent_said_when_it_refused_is_shown_and_commands_nothing(
    store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "latest", "refused", "--store", store]) == 0
    out = capsys.readouterr().out
    assert 'body │ {"detail":\n     body │  "no \\x1b[2Jsession"}\n' in out
    assert "2 failed attempts, 1 of them tried again" in out


def test_attempts_that_were_not_tried_again_do_not_pass_for_retries() -> None:
    assert attempts_line(0, 0) == "0 failed attempts"
    assert attempts_line(1, 0) == "1 failed attempt, not tried again"
    assert attempts_line(2, 2) == "2 failed attempts, tried again"
    assert attempts_line(3, 2) == "3 failed attempts, 2 of them tried again"


def test_quantities_are_told_in_their_own_units() -> None:
    assert quantity(1.0, "turns") == "1 turn"
    assert quantity(87.5, "0–100") == "87.5 of 0–100"
    assert quantity(0.0123, "USD") == "0.0123 USD"
    assert quantity(12_500.0, "ms") == "12.5 s"
    assert quantity(None, "ms") == "–"


@pytest.mark.parametrize("words", [[], ["fine"], ["--trials", "--json"]])
def test_a_scoring_that_is_not_there_is_named_with_those_that_are(
    store: str, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["show", "latest", *words, "--scoring", "loser", "--store", store]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no scoring called 'loser' (did you mean 'looser'? known: looser)" in err
    assert err.count("\n") == 1
