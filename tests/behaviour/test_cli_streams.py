"""A reader that leaves, a stream that is closed, a terminal that speaks no Unicode: never a traceback."""

from __future__ import annotations

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

VIVA = [sys.executable, "-m", "viva"]

PRINT_MUCH = """
from viva.cli.main import main
from viva.cli import list as command
from viva.cli.terminal import terminal
def run(args):
    for number in range(100_000):
        terminal.out("line " + str(number))
    return {code}
command.run = run
raise SystemExit(main(["list"]))
"""


@pytest.mark.parametrize("code", [0, 3])
def test_a_reader_that_leaves_early_is_no_error_and_changes_no_exit_code(code: int) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PRINT_MUCH.format(code=code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == b"line 0\n"
    process.stdout.close()
    assert process.wait(timeout=60) == code
    assert process.stderr.read() == b""
    process.stderr.close()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *VIVA, "schema", "--help"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_full_device_is_an_error_that_is_told() -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full on this system")
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run([*VIVA, "--version"], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "No space left" in done.stderr


def test_a_terminal_that_speaks_ascii_gets_escapes() -> None:
    script = "from viva.cli.terminal import *\nterminal.out('Zürich 🙂')\nterminal.table([Column('ort')], [['Zürich']])"
    env = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert b"Z\\xfcrich \\U0001f642\n" in done.stdout
    done.stdout.decode("ascii")


def on_a_terminal(folder: Path, variables: dict[str, str]) -> bytes:
    """What `viva doctor` writes to a real terminal."""
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [*VIVA, "doctor"], cwd=folder, stdout=child, stderr=child, env={**env, "TERM": "xterm", **variables}
    )
    os.close(child)
    seen = b""
    with contextlib.suppress(OSError):  # The end of a terminal is an error on Linux.
        while chunk := os.read(parent, 65536):
            seen += chunk
    os.close(parent)
    assert process.wait(timeout=60) == 0
    return seen


def test_a_terminal_gets_colours_unless_it_declines(tmp_path: Path) -> None:
    assert b"\x1b[32m" in on_a_terminal(tmp_path, {})
    assert b"\x1b" not in on_a_terminal(tmp_path, {"NO_COLOR": "1"})
    assert b"\x1b" not in on_a_terminal(tmp_path, {"TERM": "dumb"})


def test_no_colours_reach_a_pipe(tmp_path: Path) -> None:
    done = subprocess.run([*VIVA, "doctor"], cwd=tmp_path, capture_output=True, check=False)
    assert b"\x1b" not in done.stdout
