"""The process that runs jq programs of suites: no environment, little memory, and an alarm that ends it.

Started by path, never imported by viva: a jq program can loop for ever inside the C library, where nothing but the end
of its process can stop it. Reads one JSON request per line, writes one JSON answer per line.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

MEMORY_BYTES = 512 * 1024 * 1024
ALARM_S = 5.0


def main() -> None:
    """Answer requests until the input ends."""
    os.environ.clear()
    _limit_memory()
    import jq

    _write({"ready": True})
    programs: dict[str, Any] = {}
    for line in sys.stdin:
        _alarm(ALARM_S)
        _write(_answer(jq, programs, json.loads(line)))
        _alarm(0.0)


def _write(answer: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def _answer(jq: Any, programs: dict[str, Any], request: dict[str, Any]) -> dict[str, Any]:
    try:
        source = request["program"]
        if source not in programs:
            programs[source] = jq.compile(source)
        for value in programs[source].input_text(request["text"]):
            return {"value": value}
        return {"empty": True}
    except MemoryError:
        return {"error": "out of memory"}
    except Exception as error:
        return {"error": str(error)[:500]}


def _limit_memory() -> None:
    try:
        import resource
    except ImportError:  # Not on this system; the parent's deadline still holds.
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))


def _alarm(seconds: float) -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, seconds)


if __name__ == "__main__":
    main()
