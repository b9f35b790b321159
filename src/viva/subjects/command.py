"""A command-line agent: one process per message, its whole group killed at the deadline.

The only place in this room that starts processes. No shell is involved: arguments are passed as they are.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from viva.core.data import Data, replace, to_json
from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Observation
from viva.core.faultpoint import fault
from viva.core.text import storable_data
from viva.core.transcript import Message, Reply
from viva.ports.kit import Kit
from viva.ports.subject import Opening
from viva.subjects.command_output import read_output
from viva.subjects.command_settings import KNOWN, CommandSettings, guard_dashes, is_by_argument, working_folder
from viva.subjects.template import as_text, split_placeholders

PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "USER", "LOGNAME", "SHELL", "SYSTEMROOT")
"""What of our environment every program needs; everything else, keys above all, stays here."""
TAIL_BYTES = 8192
POLL_S = 0.05
GRACE_S = 0.5
"""Between asking a group to end and killing it; and for output to arrive after the program ended."""


class CommandSubject:
    """A program, examined through its command line."""

    Settings = CommandSettings
    name = "command"
    version = "1"

    def __init__(self, settings: CommandSettings, kit: Kit) -> None:
        if not settings.argv:
            raise SuiteError("the command subject has no argv", hint="write argv: [my-agent, --json]")
        self.settings = settings
        self.argv = [split_placeholders(argument, KNOWN) for argument in settings.argv]
        self.resume = [split_placeholders(argument, KNOWN) for argument in settings.resume]
        self.by_argument = is_by_argument(settings, self.argv)
        self.folder = working_folder(settings, kit)
        self.environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        for name, value in settings.env.items():
            self.environment[name] = kit.secret(value).reveal() if value.startswith("env:") else value

    @property
    def endpoint(self) -> str:
        """The program's name."""
        return f"command:{Path(self.settings.argv[0]).name}"

    async def open(self, opening: Opening) -> CommandSession:
        """Begin a session; processes are started per message."""
        folder = self.folder or Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="viva-agent-"))
        return CommandSession(self, opening, folder, is_own_folder=self.folder is None)

    async def close(self) -> None:
        """Nothing is held between sessions."""


class CommandSession:
    """One conversation with a program."""

    def __init__(self, subject: CommandSubject, opening: Opening, folder: Path, *, is_own_folder: bool) -> None:
        settings = subject.settings
        self._subject = subject
        self._folder = folder
        self._is_own_folder = is_own_folder
        self._timeout_s = min(settings.timeout_s or opening.limits.turn_seconds, opening.limits.turn_seconds)
        self._max_bytes = min(settings.max_bytes or opening.limits.bytes, opening.limits.bytes)
        self._history: list[dict[str, str]] = []
        self._session = ""
        self._values: dict[str, Any] = {
            "model": opening.model,
            "case": opening.case.id,
            "trial": opening.trial,
            "variant": opening.variant.name,
            "seed": opening.seed,
        }

    @property
    def id(self) -> str:
        """The session the program named."""
        return self._session

    async def send(self, message: Message) -> Reply:
        """Run the program with one message."""
        settings = self._subject.settings
        argv, guarded = self._arguments(message)
        run = Process(argv, self._folder, self._subject.environment, self._timeout_s, self._max_bytes)
        result = await run.run(self._stdin(message))
        printed = read_output(_checked(result, argv[0]), settings.output, settings.text)
        self._session = printed.session or self._session
        self._history += [
            {"role": "user", "content": message.text},
            {"role": "assistant", "content": printed.reply.text},
        ]
        metadata: dict[str, Any] = {"exit_code": result.code}
        if result.err:
            metadata["stderr"] = _tail_text(result.err)
        flags = (*printed.reply.flags, "dash_guarded") if guarded else printed.reply.flags
        return replace(printed.reply, metadata=metadata, flags=flags)

    async def observe(self, observation: Observation) -> Any:
        """A program's state is seen through probes of the stage, not through the program."""
        raise SubjectError("a command-line agent's state cannot be seen", kind="not_observable")

    async def close(self) -> None:
        """Remove the session's own folder."""
        if self._is_own_folder:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    def _arguments(self, message: Message) -> tuple[list[str], bool]:
        values = {**self._values, "message": message.text, "data": message.data, "session": self._session}
        parts = self._subject.argv + (self._subject.resume if self._session else [])
        filled = ["".join(text if not name else as_text(values.get(name)) for text, name in part) for part in parts]
        filled[0] = sys.executable if filled[0] in ("python", "python3") else filled[0]
        return guard_dashes(filled, parts)

    def _stdin(self, message: Message) -> bytes:
        if self._subject.by_argument:
            return b""
        if self._subject.settings.input == "json":
            body = {"message": message.text, "data": message.data, "session": self._session, "history": self._history}
            return to_json(storable_data({**body, "model": self._values["model"]})) + b"\n"
        return message.text.encode("utf-8", "backslashreplace")


class Finished(Data, frozen=True):
    """How a process ended."""

    code: int
    out: bytes
    err: bytes
    """The end of what it wrote to standard error."""
    took_ms: float


class Process:
    """One run of a program: fed, read up to a ceiling, and never left behind."""

    def __init__(
        self, argv: list[str], folder: Path, environment: dict[str, str], timeout_s: float, max_bytes: int
    ) -> None:
        self._argv = argv
        self._folder = folder
        self._environment = environment
        self._timeout_s = timeout_s
        self._max_bytes = max_bytes
        self._out = bytearray()
        self._err = b""

    async def run(self, stdin: bytes) -> Finished:
        """Start, feed, read, and wait; whatever happens, the whole process group is dead afterwards."""
        started = time.perf_counter()
        process = await self._start()
        fault("subjects.command.started")
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._talk(process, stdin)
        except TimeoutError:
            text = f"{self._argv[0]} took longer than {self._timeout_s:g} s and was killed"
            raise SubjectError(text, kind="timed_out", body=_tail_text(self._err)) from None
        finally:
            await _end_group(process)
        took_ms = (time.perf_counter() - started) * 1000
        return Finished(code=process.returncode or 0, out=bytes(self._out), err=self._err, took_ms=took_ms)

    async def _start(self) -> asyncio.subprocess.Process:
        try:
            return await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=self._folder,
                env=self._environment,
                start_new_session=True,
            )
        except FileNotFoundError as error:
            text = f"the program {self._argv[0]!r} was not found"
            raise SubjectError(text, kind="program_missing", fatal=True, hint="check argv and PATH") from error
        except PermissionError as error:
            raise SubjectError(
                f"{self._argv[0]!r} may not be run: {error}", kind="program_missing", fatal=True
            ) from error
        except (OSError, ValueError) as error:
            hint = "a message with NUL or of more than 100 kB must go by standard input: input: stdin"
            raise SubjectError(f"cannot start {self._argv[0]!r}: {error}", kind="unsendable", hint=hint) from error

    async def _talk(self, process: asyncio.subprocess.Process, stdin: bytes) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        reading = asyncio.gather(
            self._read_out(process.stdout), self._drain_err(process.stderr), _feed(process.stdin, stdin)
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
                await process.wait()
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read_out(self, stream: asyncio.StreamReader) -> None:
        while piece := await stream.read(65_536):
            self._out += piece
            if len(self._out) > self._max_bytes:
                text = f"{self._argv[0]} printed more than the limit of {self._max_bytes:,} bytes and was killed"
                raise SubjectError(text, kind="too_large")

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


def _checked(result: Finished, program: str) -> bytes:
    if result.code == 0:
        return result.out
    how = f"was killed by signal {-result.code}" if result.code < 0 else f"ended with exit code {result.code}"
    said = _tail_text(result.err) or result.out[-2048:].decode("utf-8", "backslashreplace")
    raise SubjectError(f"{Path(program).name} {how}", kind="process_failed", status=result.code, body=said)


def _tail_text(err: bytes) -> str:
    return err[-2048:].decode("utf-8", "backslashreplace")
