"""How a suite describes a command-line agent."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from viva.core.data import Data
from viva.core.errors import SuiteError
from viva.ports.kit import Kit
from viva.subjects.command_output import OutputFormat

KNOWN = frozenset({"message", "session", "model", "data", "case", "trial", "variant", "seed"})


class CommandSettings(Data, frozen=True, forbid_unknown_fields=True):
    """A program and how to talk to it."""

    argv: tuple[str, ...]
    """Program and arguments; `{message}`, `{session}`, `{model}`, … are filled in. `python` is this Python."""
    resume: tuple[str, ...] = ()
    """Further arguments from the second message on, once the agent has named its session."""
    input: Literal["auto", "stdin", "argument", "json"] = "auto"
    """How the message gets in: `auto` is by argument where argv has `{message}`, else by standard input."""
    output: OutputFormat = "text"
    text: str = ""
    """Where JSON output holds the text."""
    cwd: str = "suite"
    """`suite`, `temp` (a fresh folder per session), or a folder below the suite's."""
    env: dict[str, str] = {}
    """Variables for the program; `env:NAME` as a value passes one of ours on, where it is allowed."""
    timeout_s: float | None = None
    max_bytes: int | None = None


def guard_dashes(filled: list[str], parts: list[list[tuple[str, str]]]) -> tuple[list[str], bool]:
    """Keep a message that begins with a dash from being read as an option, unless `--` stands before it."""
    guarded = False
    for index, part in enumerate(parts):
        if index and part[0][1] == "message" and filled[index].startswith("-") and "--" not in filled[:index]:
            filled[index] = " " + filled[index]
            guarded = True
    return filled, guarded


def is_by_argument(settings: CommandSettings, argv: list[list[tuple[str, str]]]) -> bool:
    """Whether the message goes in as an argument."""
    has_message = any(name == "message" for part in argv for _, name in part)
    if settings.input == "argument" and not has_message:
        raise SuiteError("input is by argument, but argv has no {message}", hint="add {message} to argv")
    return settings.input == "argument" or (settings.input == "auto" and has_message)


def working_folder(settings: CommandSettings, kit: Kit) -> Path | None:
    """Where the program runs; None is a fresh folder per session."""
    if settings.cwd == "temp":
        return None
    base = (kit.folder or Path.cwd()).resolve()
    folder = base if settings.cwd == "suite" else (base / settings.cwd).resolve()
    if not folder.is_relative_to(base):
        raise SuiteError(
            f"cwd {settings.cwd!r} is not below the suite's folder", hint="use suite, temp or a folder in it"
        )
    if not folder.is_dir():
        raise SuiteError(f"cwd {settings.cwd!r} is no folder below the suite's")
    return folder
