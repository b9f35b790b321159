"""A command-line agent: one process per message, its whole group killed at the deadline.

No shell is involved: arguments are passed as they are. The user has to allow the program: a suite cannot.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import Any

from viva.core.data import replace, to_json
from viva.core.errors import SubjectError, SuiteError
from viva.core.evidence import Observation
from viva.core.text import storable_data
from viva.core.transcript import Message, Reply
from viva.ports.kit import Kit
from viva.ports.subject import Opening
from viva.subjects.command_output import read_output
from viva.subjects.command_settings import KNOWN, CommandSettings, guard_dashes, is_by_argument, working_folder
from viva.subjects.template import as_text, split_placeholders
from viva.wire.process import ProcessError, ProcessRequest, ProcessResult, run_process


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
        self.environment = {
            name: kit.secret(value).reveal() if value.startswith("env:") else value
            for name, value in settings.env.items()
        }
        kit.allow_program(settings.argv[0])

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
        result = await self._run(argv, self._stdin(message))
        printed = read_output(_checked(result, argv[0]), settings.output, settings.text)
        self._session = printed.session or self._session
        self._history += [
            {"role": "user", "content": message.text},
            {"role": "assistant", "content": printed.reply.text},
        ]
        metadata: dict[str, Any] = {"exit_code": result.exit_code}
        if result.stderr:
            metadata["stderr"] = _tail_text(result.stderr)
        flags = (*printed.reply.flags, "dash_guarded") if guarded else printed.reply.flags
        return replace(printed.reply, metadata=metadata, flags=flags)

    async def observe(self, observation: Observation) -> Any:
        """A program's state is seen through probes of the stage, not through the program."""
        raise SubjectError("a command-line agent's state cannot be seen", kind="not_observable")

    async def close(self) -> None:
        """Remove the session's own folder."""
        if self._is_own_folder:
            await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)

    async def _run(self, argv: list[str], stdin: bytes) -> ProcessResult:
        request = ProcessRequest(
            argv=tuple(argv),
            stdin=stdin,
            cwd=str(self._folder),
            env=self._subject.environment,
            timeout_s=self._timeout_s,
            max_bytes=self._max_bytes,
        )
        try:
            return await run_process(request)
        except ProcessError as error:
            is_missing = error.kind == "program_missing"
            raise SubjectError(
                error.detail, kind=error.kind, hint=error.hint, fatal=is_missing, body=_tail_text(error.stderr)
            ) from error

    def _arguments(self, message: Message) -> tuple[list[str], bool]:
        values = {**self._values, "message": message.text, "data": message.data, "session": self._session}
        parts = self._subject.argv + (self._subject.resume if self._session else [])
        filled = ["".join(text if not name else as_text(values.get(name)) for text, name in part) for part in parts]
        return guard_dashes(filled, parts)

    def _stdin(self, message: Message) -> bytes:
        if self._subject.by_argument:
            return b""
        if self._subject.settings.input == "json":
            body = {"message": message.text, "data": message.data, "session": self._session, "history": self._history}
            return to_json(storable_data({**body, "model": self._values["model"]})) + b"\n"
        return message.text.encode("utf-8", "backslashreplace")


def _checked(result: ProcessResult, program: str) -> bytes:
    code = result.exit_code
    if code == 0:
        return result.stdout
    how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
    said = _tail_text(result.stderr) or result.stdout[-2048:].decode("utf-8", "backslashreplace")
    raise SubjectError(f"{Path(program).name} {how}", kind="process_failed", status=code, body=said)


def _tail_text(err: bytes) -> str:
    return err[-2048:].decode("utf-8", "backslashreplace")
