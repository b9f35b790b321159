"""Run every part of the benchmark, each in a process of its own, and print one table of measured ratios.

    python bench/run.py              all parts but the peers, which take minutes to install
    PEERS=1 python bench/run.py      the peers too
    python bench/run.py startup      those named

A part is a script in this folder that calls `figure.serve(measure)`.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from figure import Figure, show

HERE = Path(__file__).parent


def parts() -> list[Path]:
    """Every script here that serves figures, in the order of their names."""
    found = sorted(path for path in HERE.glob("*.py") if "serve(measure)" in path.read_text(encoding="utf-8"))
    wanted = set(sys.argv[1:]) or {path.stem for path in found} - skipped()
    return [path for path in found if path != Path(__file__) and path.stem in wanted]


def skipped() -> set[str]:
    """Parts that are left out unless they are asked for, said so."""
    if os.environ.get("PEERS"):
        return set()
    print("peers.py skipped: `make bench PEERS=1` installs other tools and measures them too", file=sys.stderr)
    return {"peers"}


def figures_of(part: Path) -> list[Figure] | None:
    """Run one part and read its figures; what it says on the way goes to stderr. None where it failed."""
    done = subprocess.run([sys.executable, str(part), "--json"], stdout=subprocess.PIPE, check=False, text=True)
    if done.returncode:
        print(f"{part.name} failed: it has no figures", file=sys.stderr, flush=True)
        return None
    return [Figure(**figure) for figure in json.loads(done.stdout.splitlines()[-1])]


def main() -> int:
    """Print the table; 1 when a target is missed or a part failed."""
    figures: list[Figure] = []
    failed = 0
    for part in parts():
        print(f"{part.name} …", file=sys.stderr, flush=True)
        found = figures_of(part)
        failed += found is None
        figures += found or []
    print(f"Python {platform.python_version()}, {platform.system()} {platform.machine()}\n")
    show(figures)
    return 0 if not failed and all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    raise SystemExit(main())
