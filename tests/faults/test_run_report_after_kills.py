"""The report of a run that was killed many times is the report of a run that never was."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

from run_harness import TIMES, Children

DIFFERENT = TIMES | {"run", "latency_ms"}
"""What no two runs share: who they are, and how long everything took."""


def report(children: Children) -> Any:
    words = [sys.executable, "-m", "viva", "show", "latest", "--json", "--store", str(children.store)]
    shown = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return without(json.loads(shown.stdout), DIFFERENT)


def rows(children: Children) -> list[Any]:
    words = [sys.executable, "-m", "viva", "show", "latest", "--trials", "--json", "--store", str(children.store)]
    shown = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    return [without(json.loads(line), DIFFERENT) for line in shown.stdout.splitlines()]


def without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {key: without(item, names) for key, item in value.items() if key not in names}
    if isinstance(value, list):
        return [without(item, names) for item in value]
    return value


def test_twenty_kills_change_no_number_of_the_report(tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir()
    (tmp_path / "clean").mkdir()
    killed, clean = Children(tmp_path / "killed", trials=300), Children(tmp_path / "clean", trials=300)
    chance = random.Random(20)
    kills = 0
    for _ in range(20):
        if not killed.kill_after_lines(chance.randint(2, 40), seed=chance.random()):
            break
        kills += 1
    assert kills >= 10
    killed.finish(killed.start())
    clean.finish(clean.start())
    found, wanted = report(killed), report(clean)
    assert wanted["outcomes"]["n"] == 300
    assert wanted["score"]["n"] == 300
    assert found == wanted
    assert rows(killed) == rows(clean)
