"""The way in: find the command, import that one module, turn errors into one line and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, NoReturn

from viva.cli.exit_codes import ExitCode
from viva.cli.terminal import terminal
from viva.version import __version__

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("viva.cli.run", "examine an agent with one or more suites"),
    "resume": ("viva.cli.resume", "finish what is missing of an interrupted run"),
    "score": ("viva.cli.score", "score stored evidence again, without talking to the agent"),
    "show": ("viva.cli.show", "show a run, or one trial with its transcript and scores"),
    "list": ("viva.cli.list", "list the runs in the store"),
    "compare": ("viva.cli.compare", "hold one run against another, case by case"),
    "export": ("viva.cli.export", "write a run to a file, to keep or to send"),
    "import": ("viva.cli.import_", "read an exported run into the store"),
    "validate": ("viva.cli.validate", "check suites without running anything"),
    "schema": ("viva.cli.schema", "print the JSON Schema of suite files"),
    "init": ("viva.cli.init", "write a starter suite and a tiny agent that run as they are"),
    "doctor": ("viva.cli.doctor", "say what is installed, configured and reachable"),
    "judge": ("viva.cli.judge", "measure how far a judge can be believed"),
}
"""Every command: the module that does it (with `add_arguments` and `run`), and one line of help."""


class Parser(argparse.ArgumentParser):
    """An argument parser that writes through the one terminal writer and fails with a hint."""

    chosen: Parser | None = None
    """The parser of the command that was asked for."""

    def _print_message(self, message: str, file: Any = None) -> None:
        terminal.out(message.rstrip("\n"))

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the command line in one line."""
        terminal.error(f"{message} (see {self.prog} --help)")
        raise SystemExit(ExitCode.CONFIGURATION)

    def refuse(self, word: str) -> NoReturn:
        """Say that a word is no option, and which one may have been meant."""
        if not word.startswith("-"):
            self.error(f"{word!r} is one word too many")
        self.error(f"no option {word.partition('=')[0]!r}{_guess(word.partition('=')[0], self._option_string_actions)}")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in arguments or os.environ.get("VIVA_DEBUG", "") not in ("", "0")
    try:
        return _dispatch(arguments)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else ExitCode.FINE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:
        if debug:
            raise
        return _explain(error)
    finally:
        terminal.close()


def build_parser(command: str | None) -> Parser:
    """Build the parser; only the chosen command's module is imported to say what it takes."""
    parser = Parser(
        prog="viva",
        description="Examine AI agents: real conversations, proof of what they did, scores you can believe.",
        epilog="viva COMMAND --help says what a command takes.",
    )
    parser.add_argument("--version", action="version", version=f"viva {__version__}")
    parser.add_argument("--debug", action="store_true", help="show tracebacks instead of one-line errors")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands", parser_class=Parser)
    for name, (module, text) in COMMANDS.items():
        sub = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name == command:
            parser.chosen = sub
            sub.add_argument("--debug", action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
            import_module(module).add_arguments(sub)
    return parser


def _dispatch(arguments: list[str]) -> int:
    command = next((word for word in arguments if not word.startswith("-")), None)
    parser = build_parser(command)
    if command is not None and command not in COMMANDS:
        parser.error(f"no command called {command!r}{_guess(command, COMMANDS)}")
    args, unknown = parser.parse_known_args(arguments)
    if unknown:
        (parser.chosen or parser).refuse(unknown[0])
    if args.command is None:
        parser.print_help()
        return ExitCode.CONFIGURATION
    run: Any = import_module(COMMANDS[args.command][0]).run
    return int(run(args))


def _guess(word: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]!r}?" if near else ""


def _explain(error: Exception) -> int:
    # Imported here: `viva --help` never needs the error tree.
    from viva.core.errors import StoppedError, VivaError

    if isinstance(error, StoppedError):
        terminal.error(str(error))
        return ExitCode.INTERRUPTED
    if isinstance(error, VivaError | OSError):
        terminal.error(str(error))
        for note in getattr(error, "__notes__", ()):
            terminal.hint(note)
        return ExitCode.CONFIGURATION
    terminal.error(f"internal error: {type(error).__name__}: {error} (run again with --debug for the traceback)")
    return ExitCode.BUG


if __name__ == "__main__":
    raise SystemExit(main())
