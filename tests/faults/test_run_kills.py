"""kill -9 at any instant: what was reported is kept, what is missing is done, nothing is done twice."""

import os
import random
import signal

import pytest
from run_harness import Children

SEED = int(os.environ.get("VIVA_KILL_SEED", "20260101"))
STORM = int(os.environ.get("VIVA_KILLS", "1000"))


def kill_until_done(children: Children, rng: random.Random, most_kills: int, trials: int) -> int:
    """Kill at random moments until the run is finished; after most_kills let it finish."""
    kills = 0
    while kills < most_kills:
        if not children.kill_after_lines(rng.randint(1, max(2, 2 * trials // most_kills * 2)), seed=rng.random()):
            break
        kills += 1
        assert children.reported <= children.scored_keys(), "an acknowledged trial was lost"
    children.finish(children.start())
    return kills


def check_nothing_lost(children: Children, trials: int, kills: int, concurrency: int) -> None:
    keys = {f"case-{n:04}" for n in range(trials)}
    results = children.results()
    assert set(results) == keys and all("result" in kept for kept in results.values())
    assert children.reported <= keys
    openings = children.openings()
    assert set(openings) == keys
    assert sum(openings.values()) - trials <= kills * concurrency


def test_random_kills_lose_nothing_and_duplicate_nothing_and_end_like_an_uninterrupted_run(tmp_path):
    print("seed", SEED)
    (tmp_path / "killed").mkdir()
    (tmp_path / "clean").mkdir()
    killed, clean = Children(tmp_path / "killed"), Children(tmp_path / "clean")
    kills = kill_until_done(killed, random.Random(SEED), most_kills=12, trials=200)
    assert kills >= 5
    check_nothing_lost(killed, 200, kills, concurrency=8)
    clean.finish(clean.start())
    assert killed.results() == clean.results()


@pytest.mark.soak
def test_a_thousand_random_kills_lose_nothing(tmp_path):
    kills = 0
    for suite in range(STORM):
        rng = random.Random(SEED + suite)
        folder = tmp_path / str(suite)
        folder.mkdir()
        children = Children(folder)
        done = kill_until_done(children, rng, most_kills=10, trials=200)
        check_nothing_lost(children, 200, done, concurrency=8)
        kills += done
        if kills >= STORM:
            break
    print("kills", kills, "seed", SEED)
    assert kills >= STORM


POINTS = ["engine.talked", "engine.kept", "engine.scored", "store.begun", "store.commit", "store.committed"]


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_each_named_point_is_survived(tmp_path, point):
    children = Children(tmp_path, trials=40)
    child = children.start(kill_at=point, kill_count=7)
    children.finish(child)
    assert child.returncode == -signal.SIGKILL, "the fault point was never reached"
    assert children.reported <= children.scored_keys()
    children.finish(children.start())
    check_nothing_lost(children, 40, 1, concurrency=8)


def test_a_kill_while_scoring_leaves_the_evidence_and_only_missing_scores_are_made(tmp_path):
    children = Children(tmp_path, trials=20, concurrency=4)
    child = children.start(kill_at="engine.scored", kill_count=3)
    children.finish(child)
    assert child.returncode == -signal.SIGKILL
    before = children.results()
    unscored = {key for key, kept in before.items() if "result" not in kept}
    assert unscored, "the kill came too late to leave evidence without scores"
    opened_before = children.openings()
    lines = children.finish(children.start())
    assert f"unscored {len(unscored)}" in lines[0]
    after = children.results()
    assert all(after[key]["evidence"] == kept["evidence"] for key, kept in before.items())
    assert all(children.openings()[key] == opened_before[key] for key in before), "a second conversation"
    assert sum(line.startswith("finished ") for line in lines) == 20 - (len(before) - len(unscored))


def test_two_processes_resume_one_run_and_each_trial_is_executed_once(tmp_path):
    children = Children(tmp_path, trials=200, concurrency=4)
    assert children.kill_after_lines(60)
    opened_before = set(children.openings())
    # Slow enough that the one that starts later still finds work.
    first, second = children.start(seconds=0.1), children.start(seconds=0.1)
    for child in (first, second):
        children.finish(child)
        assert child.returncode == 0
    check_nothing_lost(children, 200, 1, concurrency=4)
    book = [line.split() for line in children.book.read_text().splitlines()]
    pids = {pid for key, pid in book if key not in opened_before}
    assert len(pids) == 2, "only one of the two processes worked"


def test_a_finished_run_owes_nothing_and_says_so(tmp_path):
    children = Children(tmp_path, trials=10)
    children.finish(children.start())
    lines = children.finish(children.start())
    assert lines == ["end finished not_run 0 abandoned  nothing True"]
    assert sum(children.openings().values()) == 10
