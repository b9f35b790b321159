"""`viva run` on a disk that fills up: it stops, says what it needs, keeps what it reported, and can be finished."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SUITE = """\
suite: talkative
subject: {command: {argv: [python, agent.py]}}
concurrency: 4
checks: [{contains: word}]
cases:
""" + "".join(f"  - {{id: c{number:03}, input: hello}}\n" for number in range(80))

AGENT = "import os; print('a word and', os.urandom(40_000).hex())\n"

SCRIPT = """\
mount -t tmpfs -o size=3m none small
viva() {{ {python} -m viva "$@" --allow command:python --store small/viva.db; }}
viva run suite.yml --json > first.json 2> first.txt && code=0 || code=$?
echo "first $code"
{python} -m viva list --json --store small/viva.db > listed.json 2>> first.txt && echo "readable"
mount -o remount,size=60m small
viva run suite.yml -q 2> second.txt && code=0 || code=$?
echo "second $code"
"""


@pytest.fixture
def way() -> list[str]:
    """How to get a mount nobody else sees."""
    for way in (["unshare", "-m"], ["unshare", "-Urm"]):
        if shutil.which("unshare") and not subprocess.run([*way, "true"], capture_output=True).returncode:
            return way
    pytest.skip("no private mount namespace here")


def test_a_full_disk_ends_a_run_with_2_and_a_larger_one_finishes_it(tmp_path: Path, way: list[str]) -> None:
    (tmp_path / "suite.yml").write_text(SUITE)
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "small").mkdir()
    script = SCRIPT.format(python=sys.executable)
    ran = subprocess.run([*way, "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    said = (tmp_path / "first.txt").read_text()
    assert "first 2\nreadable\n" in ran.stdout, said
    assert "small/viva.db" in said
    assert "bytes needed" in said
    assert "Traceback" not in said
    assert "go on with: viva resume " in said
    assert "--allow command:python --store small/viva.db" in said
    assert "second 0" in ran.stdout, (tmp_path / "second.txt").read_text()
    assert "80 passed, 0 failed, 0 errors" in ran.stdout
