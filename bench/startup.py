"""How long a person waits for `viva --help`, in units of what Python and argparse alone need."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from figure import Figure, serve

ROUNDS = 15
VIVA = str(Path(sys.executable).with_name("viva"))


def seconds(argv: Sequence[str]) -> float:
    """One start, from nothing to the end."""
    began = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def measure() -> Iterator[Figure]:
    """Interleave the contestants, so that a busy moment hits all of them; compare medians."""
    contestants = {
        "argparse": [sys.executable, "-c", "import argparse"],
        "help": [VIVA, "--help"],
        "import": [sys.executable, "-c", "import viva"],
    }
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(ROUNDS):
        for name, argv in contestants.items():
            times[name].append(seconds(argv))
    base = statistics.median(times["argparse"])
    for name, label in (("help", "`viva --help`"), ("import", "`import viva`")):
        took = statistics.median(times[name])
        yield Figure(
            name=f"{label} ÷ `import argparse`",
            measured=took / base,
            target=4.0,
            detail=f"{took * 1000:.0f} ms ÷ {base * 1000:.0f} ms, medians of {ROUNDS}",
        )


if __name__ == "__main__":
    serve(measure)
