"""Signals that come again and again, also while viva is already saving: the store stays whole, the code stays true."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from run_harness import Children, wait_for_line


@pytest.mark.parametrize("seed", range(4))
def test_signals_while_shutting_down_leave_a_run_that_can_be_finished(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    children = Children(tmp_path, trials=60, seconds=0.02)
    child = children.start()
    wait_for_line(child, "started")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGINT):
        time.sleep(chance.uniform(0, 0.03))
        if child.poll() is None:
            child.send_signal(number)
    children.finish(child, timeout_s=20)
    assert child.returncode in (130, 143, 129)
    assert children.reported <= children.scored_keys()
    children.finish(children.start())
    results = children.results()
    assert len(results) == 60
    assert all("result" in kept for kept in results.values())


def test_a_closed_stdin_is_nothing_to_wait_for(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("import sys; print('Paris' if 'France' in sys.stdin.read() else '?')")
    (tmp_path / "suite.yml").write_text(
        "suite: quiet\nsubject: {command: {argv: [python, agent.py]}}\nchecks: [{contains: Paris}]\n"
        "cases: [{id: france, input: What is the capital of France?}]\n"
    )
    command = f"{sys.executable} -m viva run suite.yml -q --allow command:python <&-"
    ran = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, timeout=30)
    assert ran.returncode == 0, ran.stderr
    assert "1 passed" in ran.stdout
