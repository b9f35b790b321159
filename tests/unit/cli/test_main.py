"""The way in: errors become one line and an exit code."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from viva.cli import main as way_in
from viva.cli.exit_codes import ExitCode
from viva.cli.main import COMMANDS, main
from viva.core.errors import StoppedError, StoreError, SuiteError
from viva.version import __version__


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A command of our own, called `probe`, that takes nothing; tests say what it does."""
    module = ModuleType("probe_command")
    module.add_arguments = lambda parser: None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "probe_command", module)
    monkeypatch.setitem(COMMANDS, "probe", ("probe_command", "probe"))
    return module


def raising(error: BaseException) -> object:
    def run(args: object) -> int:
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (SuiteError("no scorer called 'x'", where="a.yml:3", hint="did you mean 'y'?"), 2, "a.yml:3: no scorer called"),
        (StoreError("the disk is full"), 2, "the disk is full"),
        (StoppedError("stopped"), 130, "stopped"),
        (OSError(28, "No space left on device"), 2, "No space left on device"),
        (TypeError("oops\nTraceback"), 70, "internal error: TypeError: oops Traceback"),
    ],
)
def test_an_error_is_one_line_and_a_code(
    command: ModuleType, capsys: pytest.CaptureFixture[str], error: Exception, code: int, line: str
) -> None:
    command.run = raising(error)  # type: ignore[attr-defined]
    assert main(["probe"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("viva: ")
    assert line in err
    assert err.count("\n") == 1


def test_ctrl_c_is_quiet(command: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    command.run = raising(KeyboardInterrupt())  # type: ignore[attr-defined]
    assert main(["probe"]) == ExitCode.INTERRUPTED
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("words", [["--debug", "probe"], ["probe", "--debug"]])
def test_debug_shows_the_traceback(command: ModuleType, words: list[str]) -> None:
    command.run = raising(TypeError("oops"))  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        main(words)


def test_the_environment_can_ask_for_tracebacks(command: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_DEBUG", "1")
    command.run = raising(TypeError("oops"))  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        main(["probe"])


def test_the_version_is_on_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"viva {__version__}\n"


def test_a_misspelt_command_is_a_configuration_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rnu"]) == ExitCode.CONFIGURATION
    err = capsys.readouterr().err
    assert err == "viva: no command called 'rnu'; did you mean 'run'? (see viva --help)\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "s.yml", "--fail-undr", "0.5"], "no option '--fail-undr'; did you mean '--fail-under'? (see viva run"),
        (["run", "s.yml", "--jsno=1"], "no option '--jsno'; did you mean '--json'?"),
        (["--versoin"], "no option '--versoin'; did you mean '--version'? (see viva --help)"),
        (["show", "a", "b", "c"], "'c' is one word too many (see viva show --help)"),
        (["run", "s.yml", "--zzzzzz"], "no option '--zzzzzz' (see viva run --help)"),
        (["run", "s.yml", "-c", "two"], "'two' is not a whole number of 1 or more"),
        (["run", "s.yml", "-c", "0"], "'0' is not a whole number of 1 or more"),
        (["run", "s.yml", "--budget", "much"], "'much' is not a number above 0"),
        (["run", "s.yml", "--budget", "inf"], "'inf' is not a number above 0"),
        (["run", "s.yml", "--fail-under", "80%"], "'80%' is not a number from 0 to 1"),
    ],
)
def test_what_cannot_be_meant_is_said_in_words_of_the_person(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.CONFIGURATION
    err = capsys.readouterr().err
    assert said in err
    assert "invalid" not in err
    assert err.count("\n") == 1


def test_no_command_shows_the_help_and_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == ExitCode.CONFIGURATION
    assert "viva COMMAND --help" in capsys.readouterr().out


def test_hostile_arguments_are_shown_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--\x1b]0;owned\x07"]) == ExitCode.CONFIGURATION
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "judge"])
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    assert f"usage: viva {name}" in capsys.readouterr().out


def test_only_the_chosen_command_is_imported(command: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    real = way_in.import_module
    monkeypatch.setattr(way_in, "import_module", lambda name: imported.append(name) or real(name))
    command.run = lambda args: 0  # type: ignore[attr-defined]
    assert main(["probe"]) == 0
    assert set(imported) == {"probe_command"}
