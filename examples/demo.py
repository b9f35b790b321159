"""`make demo`: start the reminder agent with its graph, examine it, print the report. No key, no network.

The agent is a real HTTP service that writes a real graph. Its model, the simulated user and the judge are scripted, so
that everyone sees the same report; name real models to examine it with those:

    python examples/demo.py --user openai/gpt-5.4-mini --judge openai/gpt-5.4-mini
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).parent / "reminders"


@contextmanager
def graph(folder: str) -> Iterator[dict[str, str]]:
    """A graph database of our own; gives the environment that leads to it."""
    password = secrets.token_hex(16)
    command = [sys.executable, "-m", "viva.stage.graph_server", "--folder", folder]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(password + "\n")
        process.stdin.flush()
        ready = process.stdout.readline()
        if not ready:
            raise SystemExit("the graph did not start; is the extra installed? pip install 'viva[graph]'")
        address = json.loads(ready)
        yield {
            "NEO_URI": address["uri"],
            "NEO_USERNAME": "root",
            "NEO_PASSWORD": password,
            "NEO_DATABASE": address["database"],
        }
    finally:
        process.stdin.close()
        process.wait(30)


@contextmanager
def agent(environment: dict[str, str]) -> Iterator[str]:
    """The reminder agent; gives its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "agent.py", "--port", str(port)]
    process = subprocess.Popen(command, cwd=HERE, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        if not process.stdout.readline():
            raise SystemExit("the agent did not start")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


def main(options: list[str]) -> int:
    """Start everything, examine, clean up."""
    roles = [] if "--user" in options else ["--user", "scripted:user.yml"]
    roles += [] if "--judge" in options else ["--judge", "scripted:judge.yml"]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, graph(f"{folder}/graph") as found:
        environment = os.environ | found
        with agent(environment) as address:
            command = [sys.executable, "-m", "viva", "run", "job.yml", "--store", f"{folder}/viva.db", *roles, *options]
            done = subprocess.run(command, cwd=HERE, env=environment | {"VIVA_AGENT_URL": address}, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
