"""Many long conversations at once: 500 in flight, five turns each, with an agent that takes a second for every answer.

viva runs in a process of its own, the agent in another. The suite is read, the users speak from a script, every turn
is recorded, the last one checked, and evidence and results are stored durably. The ideal is the agent's time alone:
turns × latency.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

import agent
import engine
from figure import Figure, serve

CONVERSATIONS, TURNS, LATENCY_S = 500, 5, 1.0
ROUNDS = 3
MOST_MB = 500

SUITE = """\
suite: conversations
subject:
  http: {{url: "{url}"}}
driver:
  script: {{turns: {turns}}}
concurrency: {conversations}
retry: {{attempts: 1}}
limits: {{turns: {most_turns}, seconds: 120}}
checks:
  - {{field: {{path: order.id, equals: 7}}, label: id}}
  - {{contains: Paris}}
dataset: {{file: cases.jsonl}}
"""


def write_suite(folder: Path, url: str) -> Path:
    """A suite of scripted conversations."""
    cases = (json.dumps({"id": f"c{number}", "input": f"traveller {number}"}) for number in range(CONVERSATIONS))
    (folder / "cases.jsonl").write_text("\n".join(cases) + "\n", encoding="utf-8")
    turns = json.dumps([f"This is turn {turn}: which city was it again, and why?" for turn in range(1, TURNS + 1)])
    suite = folder / "suite.yml"
    suite.write_text(
        SUITE.format(url=url, turns=turns, conversations=CONVERSATIONS, most_turns=TURNS + 1), encoding="utf-8"
    )
    return suite


def measure() -> Iterator[Figure]:
    """Wall time against the ideal, and the peak of memory; a bare loop tells what the machine can do."""
    rounds, bare_s = [], []
    calls = CONVERSATIONS * TURNS
    with agent.running(LATENCY_S) as url:
        for _ in range(ROUNDS):
            bare_s.append(calls / engine.bare(url, calls, CONVERSATIONS))
            with tempfile.TemporaryDirectory() as folder:
                suite = write_suite(Path(folder), url)
                rounds.append(engine.viva(suite, Path(folder) / "runs.db", CONVERSATIONS))
    seconds = statistics.median(one["seconds"] for one in rounds)
    peak_mb = max(one["peak_mb"] for one in rounds)
    ideal_s = TURNS * LATENCY_S
    yield Figure(
        name=f"{CONVERSATIONS} conversations at once × {TURNS} turns of {LATENCY_S:g} s ÷ ideal",
        measured=seconds / ideal_s,
        target=1.15,
        detail=f"{seconds:.2f} s ÷ {ideal_s:g} s, median of {ROUNDS}; a bare aiohttp loop: "
        f"{statistics.median(bare_s):.2f} s",
    )
    yield Figure(name=f"peak memory of {CONVERSATIONS} conversations at once, MB", measured=peak_mb, target=MOST_MB)


if __name__ == "__main__":
    serve(measure)
