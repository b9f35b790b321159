"""One measured ratio and the target it is held against."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Figure:
    """A ratio measured in one run on one machine; `at_most` tells which side of the target is good."""

    name: str
    measured: float
    target: float | None = None
    """None for what is only told."""
    at_most: bool = True
    detail: str = ""

    @property
    def reached(self) -> bool:
        """Whether the target is reached; what has none is never missed."""
        if self.target is None:
            return True
        return self.measured <= self.target if self.at_most else self.measured >= self.target

    @property
    def row(self) -> str:
        """This figure as a row of a Markdown table."""
        aim = "" if self.target is None else f"{'≤' if self.at_most else '≥'} {self.target:.3g}"
        told = "" if self.target is None else "yes" if self.reached else "NO"
        return f"| {self.name} | {self.measured:.3g} | {aim} | {told} | {self.detail} |"


def serve(measure: Callable[[], Iterable[Figure]]) -> None:
    """Run one part: a JSON list of figures with --json, else a table."""
    figures = list(measure())
    if "--json" in sys.argv:
        print(json.dumps([asdict(figure) for figure in figures]))
    else:
        show(figures)


def show(figures: Iterable[Figure]) -> None:
    """Print figures as a Markdown table, ready for docs/benchmarks.md."""
    print("| what | measured | target | reached | detail |")
    print("|---|---|---|---|---|")
    for one in figures:
        print(one.row)
