"""viva against Inspect AI at the same rubric work, each in an environment and a process of its own.

The peer is installed by this part, once, in `.venv-peer-*` beside the sources; where that fails there is no figure.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import judge
from figure import Figure, serve

HERE = Path(__file__).parent
HOME = HERE.parent


def environment(name: str, *packages: str) -> Path | None:
    """The Python of an environment that holds these packages; None when they do not install."""
    folder = HOME / f".venv-peer-{name}"
    python = folder / "bin" / "python"
    if not (folder / "ready").exists():
        print(f"installing {', '.join(packages)} …", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True, clear=True)
        done = subprocess.run([str(python), "-m", "pip", "install", "--quiet", *packages], stdout=sys.stderr)
        if done.returncode:
            return None
        (folder / "ready").touch()
    return python


def inspect_seconds(python: Path, url: str) -> float:
    """How long Inspect takes for the work, its own start and imports not counted."""
    body = judge._judge_body()
    with tempfile.TemporaryDirectory() as folder:
        prompt = Path(folder) / "prompt.json"
        prompt.write_text(json.dumps([message["content"] for message in body["messages"]]), encoding="utf-8")
        numbers = [str(number) for number in (judge.SAMPLES, judge.CRITERIA, judge.CONCURRENCY)]
        command = [str(python), str(HERE / "peers" / "rubric_inspect.py"), url, *numbers, str(prompt)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True, cwd=folder)
    found = json.loads(done.stdout.splitlines()[-1])
    if found["score"] != 1:
        raise SystemExit(f"Inspect scored {found['score']}: this is no measurement")
    return float(found["seconds"])


def measure() -> Iterator[Figure]:
    """Rubric calls per second against Inspect AI."""
    python = environment("inspect", "inspect-ai", "openai")
    if python is None:
        print("Inspect AI does not install here: no figure", file=sys.stderr)
        return
    with judge.model_server("--latency-ms", "20") as url, tempfile.TemporaryDirectory() as folder:
        suite = judge.write_suite(Path(folder), url)
        ours = judge.contest("suite", str(suite), str(Path(folder) / "runs.db"))["seconds"]
        theirs = inspect_seconds(python, url)
    yield Figure(
        name=f"rubric calls/s ÷ Inspect AI, {judge.SAMPLES} samples × {judge.CRITERIA} criteria",
        measured=theirs / ours,
        target=8,
        at_most=False,
        detail=f"{judge.CALLS / ours:,.0f}/s ÷ {judge.CALLS / theirs:,.0f}/s",
    )


if __name__ == "__main__":
    serve(measure)
