"""Acknowledged means kept: nothing that was reported is lost to `kill -9`."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

CHILD = str(Path(__file__).with_name("store_child.py"))
CASES = 400


def child(*arguments: object, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, CHILD, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options
    )  # type: ignore[call-overload,no-any-return]


def storm(folder: Path, kills: int, seed: int) -> int:
    """Kill writers at random moments until so many kills have hit; returns how many words were acknowledged."""
    chance = random.Random(seed)
    acknowledged: set[str] = set()
    hits = total = 0
    path = folder / "viva-0.db"
    while hits < kills:
        process = subprocess.Popen(
            [sys.executable, CHILD, "append", str(path), str(CASES), "8"], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        for _ in range(chance.choice((0, 1, 5, 30, 100))):
            if line := process.stdout.readline():
                acknowledged.add(line.strip())
        time.sleep(chance.uniform(0, 0.02))
        process.kill()
        acknowledged |= set(process.stdout.read().splitlines())
        was_killed = process.wait() == -signal.SIGKILL
        hits += was_killed
        report = child("check", path, CASES, input="\n".join(sorted(acknowledged)))
        assert report.returncode == 0, (seed, hits, report.stderr)
        assert json.loads(report.stdout)["lost"] == 0, (seed, hits)
        if not was_killed or len(acknowledged) > 2 * CASES:
            total += len(acknowledged)
            acknowledged = set()
            path = folder / f"viva-{hits}.db"
    return total + len(acknowledged)


def test_random_kills_lose_nothing_acknowledged(tmp_path: Path) -> None:
    assert storm(tmp_path, kills=20, seed=random.randrange(10**6)) > 100


@pytest.mark.soak
def test_a_storm_of_kills_loses_nothing_acknowledged(tmp_path: Path) -> None:
    assert storm(tmp_path, kills=300, seed=random.randrange(10**6)) > 2000


def test_a_kill_at_every_named_point_loses_nothing_and_can_be_finished() -> None:
    in_memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # A kill is no loss of power.
    with tempfile.TemporaryDirectory(dir=in_memory) as folder:
        report = child("kill_everywhere", folder, 4)
    assert report.returncode == 0, report.stderr
    found = json.loads(report.stdout)
    assert found["exit"] == 0
    assert found["said"] == 9
    assert found["kills"] >= 50  # Opening and its schema, the run, and eight commits.
