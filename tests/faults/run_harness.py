"""Starting children that run a suite, and looking at what they left behind."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from viva.core.data import to_plain
from viva.store.sqlite import SqliteStore

CHILD = Path(__file__).with_name("run_child.py")
TIMES = {
    "took_ms", "mean_ms", "latency_ms", "total_ms", "at_ms", "started_at", "timing", "session", "throttle_ms"
}  # fmt: skip


class Children:
    """Children of one run: one store, one book of openings."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.options = {"store": str(folder / "viva.db"), "book": str(folder / "book.txt"), **options}
        self.store = Path(self.options["store"])
        self.book = Path(self.options["book"])
        self.reported: set[str] = set()

    def start(self, **options: Any) -> subprocess.Popen[str]:
        given = json.dumps({**self.options, **options})
        return subprocess.Popen([sys.executable, str(CHILD), given], stdout=subprocess.PIPE, text=True)

    def finish(self, child: subprocess.Popen[str], timeout_s: float = 60) -> list[str]:
        """Wait for a child's end and remember what it reported as finished."""
        out, _ = child.communicate(timeout=timeout_s)
        lines = out.splitlines()
        if out and not out.endswith("\n"):
            lines.pop()  # Torn by the kill.
        self.reported |= {line.split()[1] for line in lines if line.startswith("finished ")}
        return lines

    def kill_after_lines(self, count: int, **options: Any) -> bool:
        """Let a child say so many lines, then kill it; False when it had ended before."""
        child = self.start(**options)
        lines: list[str] = []
        assert child.stdout is not None
        for line in child.stdout:
            lines.append(line)
            if len(lines) >= count:
                break
        child.send_signal(signal.SIGKILL)
        rest = self.finish(child)
        self.reported |= {line.split()[1] for line in lines if line.startswith("finished ") and line.endswith("\n")}
        assert child.returncode in (-signal.SIGKILL, 0), rest
        return child.returncode == -signal.SIGKILL

    def openings(self) -> Counter[str]:
        """How often each trial was opened, by the subject's own book."""
        return Counter(line.split()[0] for line in self.book.read_text().splitlines())

    def results(self) -> dict[str, Any]:
        """Everything stored, without times, by trial."""
        return asyncio.run(self._results())

    async def _results(self) -> dict[str, Any]:
        store = await SqliteStore.open(self.store, read_only=True)
        found: dict[str, Any] = {}
        async for evidence in store.all_evidence("latest"):
            assert evidence.trial not in found
            found[evidence.trial] = {"evidence": timeless(to_plain(evidence))}
        async for result, scores in store.all_results("latest"):
            found[result.trial]["result"] = timeless(to_plain(result))
            found[result.trial]["scores"] = timeless(to_plain(scores))
        await store.close()
        return found

    def scored_keys(self) -> set[str]:
        """Trials whose results are stored."""
        if not self.store.exists():
            return set()
        return {key for key, kept in self.results().items() if "result" in kept}


def timeless(value: Any) -> Any:
    """The same without times, which no two runs share."""
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key not in TIMES}
    if isinstance(value, list | tuple):
        return [timeless(item) for item in value]
    return value


def wait_for_line(child: subprocess.Popen[str], start: str, timeout_s: float = 30) -> str:
    """Read a child's lines until one begins so."""
    ends_at = time.monotonic() + timeout_s
    assert child.stdout is not None
    for line in child.stdout:
        if line.startswith(start):
            return line
        if time.monotonic() > ends_at:
            break
    raise AssertionError(f"the child never said {start!r}")
