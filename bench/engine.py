"""The cost of the engine: viva against a bare loop that makes the same calls, at the same concurrency.

Every contestant runs in a process of its own; the agent in another. A viva process reads a suite of one-turn cases with
four field checks each, examines the agent over loopback HTTP with 20 ms latency, and stores everything durably.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import agent
from figure import Figure, serve

FEW, MANY = 2_000, 20_000
ROUNDS = 3
CONCURRENCIES = (16, 64)

LAZY = (
    "aiohttp",
    "viva.drivers.once",
    "viva.scoring.checks.field",
    "viva.scoring.formulas",
    "viva.subjects.http",
)

SUITE = """\
suite: bench
subject:
  http: {{url: "{url}"}}
concurrency: {concurrency}
retry: {{attempts: 1}}
checks:
  - {{field: {{path: order.id, equals: 7}}, label: id}}
  - {{field: {{path: order.total, equals: 12.5}}, label: total}}
  - {{field: {{path: "order.items[0]", equals: a}}, label: item}}
  - {{field: {{path: order.paid, equals: true}}, label: paid}}
dataset: {{file: cases.jsonl}}
"""


def write_suite(folder: Path, url: str, trials: int, concurrency: int) -> Path:
    """A suite with so many cases."""
    lines = (json.dumps({"id": f"case-{number}", "input": f"question {number}"}) for number in range(trials))
    (folder / "cases.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    suite = folder / "suite.yml"
    suite.write_text(SUITE.format(url=url, concurrency=concurrency), encoding="utf-8")
    return suite


def examine(suite: str, store: str) -> None:
    """In a process of its own: run a suite, print seconds, trials that passed, and the peak of memory in MB."""
    from viva.app import RunSpec, run_blocking
    from viva.app import examine as examine_suite

    # What a run imports when it first needs it is imported before the clock starts, as it is for the bare loop.
    for module in LAZY:
        import_module(module)
    began = time.perf_counter()
    view = run_blocking(lambda: examine_suite(RunSpec(suite=suite, store=store)))
    took = time.perf_counter() - began
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    passed = view.summary.outcomes.passed
    print(json.dumps({"seconds": took, "passed": passed, "peak_mb": peak_mb}))


def viva(suite: Path, store: Path, trials: int) -> dict[str, float]:
    """Run viva in a process of its own, and make sure that it did all of the work."""
    command = [sys.executable, __file__, "--examine", str(suite), str(store)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    if found["passed"] != trials:
        raise SystemExit(f"{found['passed']} of {trials} trials passed: this is no measurement")
    return found


def bare(url: str, calls: int, concurrency: int) -> float:
    """Calls per second of the bare loop, in a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("bare.py")), url, str(calls), str(concurrency)]
    return float(subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout)


def throughput(url: str, concurrency: int) -> Iterator[Figure]:
    """Calls per second against the bare loop; rounds are interleaved, medians compared."""
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(ROUNDS):
        theirs.append(bare(url, FEW, concurrency))
        with tempfile.TemporaryDirectory() as folder:
            suite = write_suite(Path(folder), url, FEW, concurrency)
            ours.append(FEW / viva(suite, Path(folder) / f"{number}.db", FEW)["seconds"])
    mine, bare_rate = statistics.median(ours), statistics.median(theirs)
    yield Figure(
        name=f"calls/s ÷ bare aiohttp loop, {FEW:,} trials, {concurrency} in flight",
        measured=mine / bare_rate,
        target=0.6,
        at_most=False,
        detail=f"{mine:,.0f}/s ÷ {bare_rate:,.0f}/s, medians of {ROUNDS}",
    )


def scale(url: str, concurrency: int) -> Iterator[Figure]:
    """Memory with many trials, and the time to find out that nothing is owed."""
    with tempfile.TemporaryDirectory() as folder:
        few = viva(write_suite(Path(folder), url, FEW, concurrency), Path(folder) / "few.db", FEW)
    with tempfile.TemporaryDirectory() as folder:
        suite, store = write_suite(Path(folder), url, MANY, concurrency), Path(folder) / "many.db"
        bare_rate = bare(url, MANY, concurrency)
        many = viva(suite, store, MANY)
        again = viva(suite, store, MANY)
    rate = MANY / many["seconds"]
    yield Figure(
        name=f"calls/s ÷ bare aiohttp loop, {MANY:,} trials, {concurrency} in flight",
        measured=rate / bare_rate,
        target=0.6,
        at_most=False,
        detail=f"{rate:,.0f}/s ÷ {bare_rate:,.0f}/s",
    )
    yield Figure(
        name=f"peak memory, {MANY:,} trials ÷ {FEW:,} trials",
        measured=many["peak_mb"] / few["peak_mb"],
        target=1.3,
        detail=f"{many['peak_mb']:.0f} MB ÷ {few['peak_mb']:.0f} MB",
    )
    yield Figure(
        name=f"running a finished {MANY:,}-trial run again ÷ running it",
        measured=again["seconds"] / many["seconds"],
        target=0.05,
        detail=f"{again['seconds']:.2f} s ÷ {many['seconds']:.1f} s",
    )


def measure() -> Iterator[Figure]:
    """All figures of the engine."""
    with agent.running() as url:
        for concurrency in CONCURRENCIES:
            yield from throughput(url, concurrency)
        yield from scale(url, CONCURRENCIES[-1])


if __name__ == "__main__":
    if "--examine" in sys.argv:
        examine(*sys.argv[-2:])
    else:
        serve(measure)
