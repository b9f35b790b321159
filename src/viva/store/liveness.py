"""Who holds a claim, and whether that process still lives."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple


class Holder(NamedTuple):
    """A process, named so that a later process with the same number is not taken for it."""

    space: str
    """Where the process number and the monotonic clock mean something: one boot, one container."""
    pid: int
    started: str


def this_process() -> Holder:
    """Name the process that asks."""
    pid = os.getpid()
    return Holder(_space(), pid, _started(pid) or "")


def is_dead(holder: Holder) -> bool:
    """Whether a process has certainly ended; False when that cannot be known from here."""
    if holder.space != _space() or sys.platform == "win32":
        return False
    if not Path("/proc/self/stat").exists():
        return not _answers(holder.pid)
    return _started(holder.pid) != holder.started


@cache
def _space() -> str:
    boot = _read("/proc/sys/kernel/random/boot_id") or platform.node()
    return " ".join((boot, _link("/proc/self/ns/pid"), _link("/proc/self/ns/time"))).strip()


def _started(pid: int) -> str | None:
    """The kernel's start time of a process; None when there is none, or only its remains."""
    stat = _read(f"/proc/{pid}/stat")
    fields = stat.rpartition(")")[2].split()  # The name before it may contain anything.
    if len(fields) < 20 or fields[0] in ("Z", "X"):
        return None
    return fields[19]


def _answers(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""
