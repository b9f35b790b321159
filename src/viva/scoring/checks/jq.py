"""jq programs of suites, run in a process of their own that can be ended.

One worker serves the whole run. A program that does not answer in time takes the worker with it, and the next program
gets a new one.
"""

from __future__ import annotations

import atexit
import json
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from viva.core.errors import ScorerError, SuiteError
from viva.registry import need

TIMEOUT_S = 2.0
START_S = 20.0
LONGEST_PROGRAM = 2_000
LONGEST_ANSWER = 10_000_000

WORKER = Path(__file__).with_name("jq_worker.py")
_REFUSED = re.compile(
    r"(?<![.\w\"])(?:import|include|modulemeta|input|inputs|input_filename|env|debug|stderr|halt|halt_error"
    r"|input_line_number|get_search_list|getpath_env)\b|\$ENV\b|\$__"
)


def check_program(program: str) -> None:
    """Refuse a program that cannot be read, or that asks for files, input or the environment. Raises SuiteError."""
    if len(program) > LONGEST_PROGRAM:
        raise SuiteError(f"a jq program has at most {LONGEST_PROGRAM} characters")
    if refused := _REFUSED.search(program):
        raise SuiteError(
            f"jq: {refused.group()!r} is not allowed", kind="not_allowed", hint="a program may only look at the data"
        )
    try:
        need("jq").compile(program)
    except ValueError as error:
        raise SuiteError(f"jq: this program cannot be read: {str(error)[:300]}") from error


class JqWorker:
    """A process that runs programs, started when first needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def first(self, program: str, data: Any) -> Any:
        """The first result of a program. Raises ScorerError: jq_error, jq_empty, jq_timed_out, jq_died."""
        request = json.dumps({"program": program, "text": json.dumps(data)})
        with self._lock:
            answer = self._ask(request)
        if "error" in answer:
            raise ScorerError(f"jq: {answer['error']}", kind="jq_error")
        if "empty" in answer:
            raise ScorerError("jq: the program gave no result", kind="jq_empty")
        return answer["value"]

    def close(self) -> None:
        """End the process."""
        with self._lock:
            self._end()

    def _ask(self, request: str) -> dict[str, Any]:
        process = self._process
        if process is None or process.poll() is not None:
            process = self._start()
            self._exchange(process, "", START_S)  # It says that it is ready.
        return self._exchange(process, request + "\n", TIMEOUT_S)

    def _exchange(self, process: subprocess.Popen[str], request: str, timeout_s: float) -> dict[str, Any]:
        assert process.stdin is not None and process.stdout is not None
        late = threading.Event()
        timer = threading.Timer(timeout_s, _stop, (process, late))
        timer.daemon = True
        timer.start()
        try:
            process.stdin.write(request)
            process.stdin.flush()
            return dict(json.loads(process.stdout.readline(LONGEST_ANSWER)))
        except (OSError, ValueError) as error:
            self._end()
            if late.is_set():
                raise ScorerError(f"jq: no result within {timeout_s:g} s", kind="jq_timed_out") from error
            message = "jq: the program was stopped (too much memory, time or output)"
            raise ScorerError(message, kind="jq_died") from error
        finally:
            timer.cancel()

    def _start(self) -> subprocess.Popen[str]:
        self._end()
        self._process = subprocess.Popen(  # noqa: S603 - our own file, by path, without a shell.
            [sys.executable, "-I", str(WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="surrogatepass",
            env={},
            close_fds=True,
        )
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    continue


def _stop(process: subprocess.Popen[str], late: threading.Event) -> None:
    late.set()
    process.kill()


worker = JqWorker()
"""The process-wide worker."""
atexit.register(worker.close)
