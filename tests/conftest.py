"""What tests of several rooms share: a real graph behind Bolt, and a small kit."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

GRAPH_PASSWORD = "correct-horse-battery"


class Bolt(NamedTuple):
    """Where the graph answers."""

    uri: str
    username: str
    password: str


@pytest.fixture(scope="session")
def bolt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bolt]:
    """A real Bolt server (ArcadeDB) in a process of its own, one for the whole session."""
    pytest.importorskip("arcadedb_embedded", reason="the graph extra is not installed")
    folder = tmp_path_factory.mktemp("graph")
    process = subprocess.Popen(
        [sys.executable, "-m", "viva.stage.graph_server", "--folder", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(GRAPH_PASSWORD + "\n")
    process.stdin.flush()
    ready = json.loads(process.stdout.readline())
    yield Bolt(ready["uri"], "root", GRAPH_PASSWORD)
    process.stdin.close()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()


class SmallKit:
    """A kit for tests of one room: an environment, a folder, the real clock."""

    def __init__(self, env: dict[str, str] | None = None, folder: Path | None = None) -> None:
        from viva.core.clock import SystemClock

        self._env = env or {}
        self.folder = folder
        self.clock = SystemClock()

    def allow_program(self, program: str) -> None:
        pass

    def env(self, name: str) -> str | None:
        return self._env.get(name)

    def secret(self, text: str):
        from viva.core.secret import Secret

        return Secret(self._env[text.removeprefix("env:")], text)

    def template_file(self, name: str) -> str:
        return self.file(name).read_text(encoding="utf-8")

    def file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / name


@pytest.fixture
def small_kit():
    return SmallKit
