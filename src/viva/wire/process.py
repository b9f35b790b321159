"""One run of a program: no shell, fed and read up to a ceiling, and its whole process group gone afterwards.

The only place in viva that starts programs a suite names.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time

from viva.core.data import Data
from viva.core.faultpoint import fault

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "SYSTEMROOT")
"""What of our environment every program needs; everything else, keys above all, stays here."""
TAIL_BYTES = 8192
POLL_S = 0.05
GRACE_S = 0.5
"""Between asking a group to end and killing it; and for output to arrive after the program ended."""


class ProcessRequest(Data, frozen=True):
    """What to run."""

    argv: tuple[str, ...]
    """`python` means the interpreter viva itself runs on."""
    stdin: bytes = b""
    cwd: str | None = None
    env: dict[str, str] = {}
    """Beside what is always passed on."""
    timeout_s: float = 60.0
    max_bytes: int = 10_000_000
    """Of standard output; of standard error only the end is kept."""


class ProcessResult(Data, frozen=True):
    """How it ended."""

    exit_code: int
    """Negative: the signal that ended it."""
    stdout: bytes
    stderr: bytes
    """The end of what it wrote to standard error."""
    took_ms: float


class ProcessError(Exception):
    """A program that could not be started, took too long or said too much; it is gone by now.

    `kind` is one of: program_missing, unsendable, timed_out, too_large.
    """

    def __init__(self, kind: str, detail: str, *, hint: str = "", stderr: bytes = b"") -> None:
        super().__init__(detail)
        self.kind = kind
        self.detail = detail
        self.hint = hint
        self.stderr = stderr


async def run_process(request: ProcessRequest) -> ProcessResult:
    """Start, feed, read, and wait; whatever happens, the whole process group is dead afterwards."""
    return await _Process(request).run()


class _Process:
    def __init__(self, request: ProcessRequest) -> None:
        self._request = request
        first = request.argv[0]
        self._argv = (sys.executable if first in ("python", "python3") else first, *request.argv[1:])
        self._out = bytearray()
        self._err = b""

    async def run(self) -> ProcessResult:
        started = time.perf_counter()
        process = await self._start()
        fault("wire.process.started")
        try:
            async with asyncio.timeout(self._request.timeout_s):
                await self._talk(process)
        except TimeoutError:
            text = f"{self._argv[0]} took longer than {self._request.timeout_s:g} s and was killed"
            raise ProcessError("timed_out", text, stderr=self._err) from None
        finally:
            await _end_group(process)
        took_ms = (time.perf_counter() - started) * 1000
        return ProcessResult(
            exit_code=process.returncode or 0, stdout=bytes(self._out), stderr=self._err, took_ms=took_ms
        )

    async def _start(self) -> asyncio.subprocess.Process:
        passed_on = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        program = self._argv[0]
        try:
            return await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._request.cwd,
                env=passed_on | self._request.env,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            text = f"the program {program!r} was not found"
            raise ProcessError("program_missing", text, hint="check argv and PATH") from error
        except PermissionError as error:
            raise ProcessError("program_missing", f"{program!r} may not be run: {error}") from error
        except (OSError, ValueError) as error:
            hint = "a message with NUL or of more than 100 kB must go by standard input: input: stdin"
            raise ProcessError("unsendable", f"cannot start {program!r}: {error}", hint=hint) from error

    async def _talk(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        reading = asyncio.gather(
            self._read_out(process.stdout), self._drain_err(process.stderr), _feed(process.stdin, self._request.stdin)
        )
        try:
            while process.returncode is None and not reading.done():
                # Not process.wait(): it also waits for everyone who holds the program's pipes.
                await asyncio.wait((reading,), timeout=POLL_S)
            # When the program ended but something still holds its pipes, output is under way, or a child was left
            # behind: that is given a moment, then killed, then ignored.
            if not reading.done():
                await asyncio.wait((reading,), timeout=GRACE_S)
            if not reading.done():
                signal_group(process.pid, signal.SIGKILL)
                await asyncio.wait((reading,), timeout=GRACE_S)
            if reading.done():
                await reading
            while process.returncode is None:  # noqa: ASYNC110  (it closed its pipes and goes on: the deadline holds)
                await asyncio.sleep(POLL_S)
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read_out(self, stream: asyncio.StreamReader) -> None:
        most = self._request.max_bytes
        while piece := await stream.read(65_536):
            self._out += piece
            if len(self._out) > most:
                text = f"{self._argv[0]} printed more than the limit of {most:,} bytes and was killed"
                raise ProcessError("too_large", text, stderr=self._err)

    async def _drain_err(self, stream: asyncio.StreamReader) -> None:
        while piece := await stream.read(65_536):
            self._err = (self._err + piece)[-TAIL_BYTES:]


async def _feed(pipe: asyncio.StreamWriter, data: bytes) -> None:
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        pipe.write(data)
        await pipe.drain()
    pipe.close()
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        await pipe.wait_closed()


async def _end_group(process: asyncio.subprocess.Process) -> None:
    """Ask the group to end, then kill whatever is left of it, children included."""
    if process.returncode is None:
        signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), GRACE_S)
    signal_group(process.pid, signal.SIGKILL)
    transport = getattr(process, "_transport", None)
    if transport is not None:
        transport.close()  # A child that left the group may hold the pipes for ever; we do not.
    await process.wait()


def signal_group(group: int, number: int) -> None:
    """Signal a whole process group; one that is gone is fine."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)
