"""The reminders example: a real agent with a real graph, examined by a job and by a suite of viva's own."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from exam_rig import viva_command

EXAMPLE = Path(__file__).parents[2] / "examples" / "reminders"
MODELS = ("--user", "scripted:user.yml", "--judge", "scripted:judge.yml")


@pytest.fixture(scope="module")
def environment(bolt):
    """The agent as a process of its own, and the environment in which viva finds it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    found = {
        "NEO_URI": bolt.uri,
        "NEO_USERNAME": bolt.username,
        "NEO_PASSWORD": bolt.password,
        "NEO_DATABASE": "neo4j",
        "VIVA_AGENT_URL": f"http://127.0.0.1:{port}",
        "VIVA_AGENT_KEY": "the-key-of-the-reminders",
    }
    agent = subprocess.Popen(
        [sys.executable, "agent.py", "--port", str(port), "--graph", bolt.uri],
        cwd=EXAMPLE,
        env={**os.environ, **found, "REMINDERS_API_KEY": found["VIVA_AGENT_KEY"]},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert agent.stdout is not None
    assert "listening" in agent.stdout.readline()
    yield found
    agent.kill()
    agent.wait()


@pytest.fixture
def folder(tmp_path):
    """A copy of the example, so that its store is nobody else's."""
    for file in EXAMPLE.glob("*.yml"):
        shutil.copy(file, tmp_path)
    return tmp_path


def trials(folder, env):
    shown = viva_command(folder, "show", "latest", "--trials", "--json", env=env)
    return {found["variant"]: found for found in map(json.loads, shown.stdout.splitlines())}


def test_the_job_examines_the_agent_with_facts_withheld_and_supplied(environment, folder):
    ran = viva_command(folder, "run", "job.yml", *MODELS, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = trials(folder, environment)
    assert found["supplied"]["score"] == 1.0
    assert found["withheld"]["score"] == pytest.approx((1 + 2 * 0.75 + 4 * 6 / 8) / 7)
    assert found["withheld"]["outcome"] == "fail"


def test_the_suite_asks_the_same_in_vivas_own_form_and_more(environment, folder):
    ran = viva_command(folder, "run", "native.yml", *MODELS, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    found = trials(folder, environment)
    assert found["supplied"]["outcome"] == "pass"
    assert found["supplied"]["score"] == 1.0
    assert found["withheld"]["outcome"] == "pass"
    assert found["withheld"]["score"] < 1.0
    shown = viva_command(folder, "show", "latest", found["supplied"]["trial"], env=environment)
    for label in ("task-1", "task-2", "the reminder is the user's", "nothing but reminders", "timing", "user"):
        assert label in shown.stdout


def test_the_suite_and_the_job_are_valid(folder):
    for name in ("job.yml", "native.yml"):
        assert viva_command(folder, "validate", name).returncode == 0
