"""One signal drains and saves, two stop now; both leave a run that can be resumed."""

import os
import random
import signal
import time

import pytest
from run_harness import Children, wait_for_line

NUMBERS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}


def interrupt_once(children: Children, number: int, moment_s: float) -> None:
    child = children.start()
    wait_for_line(child, "started")
    time.sleep(moment_s)
    child.send_signal(number)
    lines = children.finish(child, timeout_s=30)
    end = lines[-1]
    if child.returncode == 0:
        assert end.startswith("end finished")  # The signal came too late.
        return
    assert child.returncode == NUMBERS[number] and end.startswith("end interrupted")
    assert children.reported <= children.scored_keys()


def check_resumes(children: Children, trials: int) -> None:
    children.finish(children.start())
    results = children.results()
    assert len(results) == trials and all("result" in kept for kept in results.values())
    assert set(children.openings().values()) == {1}, "a drained trial was run again"


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: signal.Signals(number).name)
def test_one_signal_finishes_what_is_in_flight_and_saves(tmp_path, number):
    children = Children(tmp_path, trials=150, seconds=0.02)
    interrupt_once(children, number, random.Random(number).uniform(0.0, 0.2))
    check_resumes(children, 150)


@pytest.mark.soak
def test_fifty_signals_at_random_moments_leave_a_consistent_store(tmp_path):
    rng = random.Random(7)
    for attempt in range(50):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        children = Children(folder, trials=120, seconds=0.02)
        interrupt_once(children, rng.choice(list(NUMBERS)), rng.uniform(0, 0.5))
        check_resumes(children, 120)


def test_the_second_signal_stops_at_once(tmp_path):
    children = Children(tmp_path, trials=20, mode="hang")
    child = children.start()
    wait_for_line(child, "started")
    child.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert child.poll() is None  # Draining.
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    children.finish(child, timeout_s=10)
    assert child.returncode == 130 and time.monotonic() - began < 5
    children.finish(children.start(mode="quick"))
    assert len(children.scored_keys()) == 20


def test_a_trial_that_outlasts_the_grace_is_cut_off_and_owed_again(tmp_path):
    children = Children(tmp_path, trials=4, mode="hang", grace_s=0.3)
    child = children.start()
    wait_for_line(child, "started")
    child.send_signal(signal.SIGTERM)
    lines = children.finish(child, timeout_s=15)
    assert child.returncode == 143 and "not_run 4" in lines[-1]
    assert children.results() == {}


def test_an_agent_that_ignores_cancellation_is_abandoned_and_named(tmp_path):
    children = Children(tmp_path, trials=1, mode="deaf", grace_s=0.3)
    child = children.start()
    wait_for_line(child, "started")
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    lines = children.finish(child, timeout_s=20)
    assert "deaf" in lines, "the agent was never told to stop"
    assert child.returncode == 130 and "abandoned case-0000" in lines[-1]


def test_an_agent_that_exits_ends_its_own_trials_only(tmp_path):
    children = Children(tmp_path, trials=5, mode="exit")
    child = children.start()
    lines = children.finish(child)
    assert child.returncode == 0 and sum(line.endswith(" error") for line in lines) == 5
    assert lines[-1].startswith("end finished")


def test_a_budget_leaves_the_rest_not_run_and_a_larger_one_finishes_them(tmp_path):
    children = Children(tmp_path, trials=30)
    lines = children.finish(children.start(limits={"trials": 10}))
    assert lines[-1].startswith("end interrupted not_run 20")
    assert len(children.results()) == 10
    children.finish(children.start(limits={"trials": 1000}))
    assert len(children.scored_keys()) == 30 and set(children.openings().values()) == {1}


def test_a_closed_stdout_does_not_spoil_the_store(tmp_path):
    children = Children(tmp_path, trials=60)
    child = children.start()
    wait_for_line(child, "started")
    assert child.stdout is not None
    child.stdout.close()
    child.wait(30)
    children.finish(children.start())
    assert len(children.scored_keys()) == 60
    assert os.path.exists(children.store)
