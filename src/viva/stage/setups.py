"""Setups: what is done to the world before a conversation, each with its own way back."""

from __future__ import annotations

from typing import Any

from viva.core.data import Data
from viva.core.errors import StageError, SuiteError
from viva.ports.kit import Kit
from viva.stage import probe
from viva.stage.ground import Ground
from viva.wire.process import ProcessError, ProcessRequest, run_process


class CypherSettings(Data, frozen=True):
    """A Cypher script: statements separated by semicolons, run in one transaction."""

    script: str = ""
    file: str = ""
    """Instead of `script`: a file below the suite's folder."""
    parameters: dict[str, Any] = {}
    undo: str = ""
    """A script that puts the world back; not needed where the whole graph is put back."""


class CypherSetup:
    """Prepares the stage's graph."""

    Settings = CypherSettings
    shorthand = "script"

    def __init__(self, settings: CypherSettings, kit: Kit) -> None:
        self._settings = settings
        self._script = _text(settings.script, settings.file, kit)

    async def apply(self, ground: Ground) -> None:
        """Run the script, all or nothing."""
        graph, undo = ground.graph, self._settings.undo
        await graph.write(self._script, self._settings.parameters)
        if undo:
            ground.undos.append(lambda: graph.write(undo, self._settings.parameters))


class SqlSettings(Data, frozen=True):
    """An SQL script, run in one transaction."""

    script: str = ""
    file: str = ""
    undo: str = ""


class SqlSetup:
    """Prepares the stage's database."""

    Settings = SqlSettings
    shorthand = "script"

    def __init__(self, settings: SqlSettings, kit: Kit) -> None:
        self._settings = settings
        self._script = _text(settings.script, settings.file, kit)

    async def apply(self, ground: Ground) -> None:
        """Run the script, all or nothing."""
        database, undo = ground.database, self._settings.undo
        await database.write(self._script)
        if undo:
            ground.undos.append(lambda: database.write(undo))


class HttpSettings(probe.HttpCall, frozen=True):
    """A call that prepares something, and optionally the call that undoes it."""

    undo: probe.HttpCall | None = None


class HttpSetup:
    """Prepares the world over HTTP."""

    Settings = HttpSettings
    shorthand = "url"

    def __init__(self, settings: HttpSettings, kit: Kit) -> None:
        self._settings = settings
        self._kit = kit

    async def apply(self, ground: Ground) -> None:
        """Make the call."""
        await probe.call(ground.wire, self._settings, self._kit)
        undo = self._settings.undo
        if undo is not None:

            async def back() -> None:
                await probe.call(ground.wire, undo, self._kit)

            ground.undos.append(back)


class CommandSettings(Data, frozen=True):
    """A program with its arguments; never through a shell."""

    argv: tuple[str, ...]
    undo: tuple[str, ...] = ()
    timeout_s: float = 60.0
    env: dict[str, str] = {}
    """Variables for the program; `env:NAME` as a value passes one of ours on, where it is allowed."""


class CommandSetup:
    """Prepares the world with a program, in the suite's folder."""

    Settings = CommandSettings
    shorthand = "argv"

    def __init__(self, settings: CommandSettings, kit: Kit) -> None:
        if not settings.argv:
            raise SuiteError("a command setup needs an argv")
        for argv in (settings.argv, settings.undo):
            if argv:
                kit.allow_program(argv[0])
        self._settings = settings
        self._kit = kit

    async def apply(self, ground: Ground) -> None:
        """Run the program; anything but exit code 0 is an error."""
        await self._run(self._settings.argv)
        if self._settings.undo:
            ground.undos.append(lambda: self._run(self._settings.undo))

    async def _run(self, argv: tuple[str, ...]) -> None:
        extra = {
            name: self._kit.secret(value).reveal() if value.startswith("env:") else value
            for name, value in self._settings.env.items()
        }
        folder = str(self._kit.folder) if self._kit.folder else None
        request = ProcessRequest(argv=argv, cwd=folder, env=extra, timeout_s=self._settings.timeout_s)
        try:
            result = await run_process(request)
        except ProcessError as error:
            raise StageError(error.detail, kind=f"setup_{error.kind}", hint=error.hint) from error
        if result.exit_code != 0:
            said = result.stderr.decode("utf-8", "backslashreplace").strip()[-300:]
            raise StageError(f"{argv[0]} ended with exit code {result.exit_code}: {said}", kind="setup_failed")


def _text(script: str, file: str, kit: Kit) -> str:
    if bool(script) == bool(file):
        raise SuiteError("a setup needs either a script or a file")
    return script or kit.file(file).read_text(encoding="utf-8")
