"""The one writer: everything viva shows goes through here, and nothing an agent says can command the terminal.

Text is made visible (control, direction-changing and zero-width characters become escapes), known secrets are masked,
and only then are viva's own colours put around it. No other module of viva prints; a test reads the source and says so.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from viva.core.text import one_line, visible

Stream = Literal["stdout", "stderr"]

STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
    "grey": "90",
}

PIPED_WIDTH = 120
"""Columns of a table that goes to a file or a pipe."""

_GONE = {errno.EPIPE, errno.EIO, errno.EBADF}
_NOT_ASCII = re.compile(r"[^\n -~]")


class Styled(NamedTuple):
    """A piece of text with one of the STYLES."""

    text: str
    style: str


class Column(NamedTuple):
    """One column of a table."""

    title: str
    right: bool = False


Part = str | Styled


class Terminal:
    """Writes results to stdout and everything else to stderr; quiet about a reader that has left."""

    def __init__(self) -> None:
        self._left: set[Stream] = set()
        self._live: Any = None
        self._task: Any = None

    def out(self, *parts: Part) -> None:
        """Write one line of results."""
        self._write("stdout", self._render("stdout", parts) + "\n")

    def err(self, *parts: Part) -> None:
        """Write one line about the work itself, above the progress line where there is one."""
        text = self._render("stderr", parts)
        if self._live is None:
            self._write("stderr", text + "\n")
        else:
            from rich.text import Text

            self._live.console.print(Text.from_ansi(text), soft_wrap=True)

    def error(self, message: str) -> None:
        """Say what went wrong, on one line."""
        self.err(Styled("viva: ", "red"), one_line(message))

    def hint(self, message: str) -> None:
        """Say what to do next, on one line."""
        self.err(Styled(one_line(message), "cyan"))

    def json(self, value: Any, *, indent: int | None = 2) -> None:
        """Write plain data as JSON in ASCII, so that nothing in it is special to a terminal."""
        import json

        text = mask(json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=False, default=str))
        self._write("stdout", _NOT_ASCII.sub(_json_escape, text) + "\n")

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Part]], title: str = "") -> None:
        """Write a table of results."""
        self._write("stdout", self._render_table(columns, rows, title))

    def is_terminal(self, which: Stream = "stdout") -> bool:
        """Whether a person is looking at the stream."""
        stream = getattr(sys, which)
        try:
            return bool(stream is not None and stream.isatty())
        except ValueError:
            return False

    def colours(self, which: Stream = "stdout") -> bool:
        """Whether viva's own colours may be written: to a terminal, unless NO_COLOR or TERM=dumb says no."""
        wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return wanted and self.is_terminal(which)

    @contextmanager
    def progress(self, total: int) -> Iterator[None]:
        """Keep a live progress line on stderr while the body runs."""
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        stream: Any = _Stream(self)  # A terminal that goes away must not take the run with it.
        console = Console(file=stream, force_terminal=True, markup=False, highlight=False, emoji=False)
        status = TextColumn("{task.fields[status]}", markup=False)
        # Standard streams are left alone: what is written to stdout while the line is live is a result.
        live = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            status,
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            refresh_per_second=4,
        )
        with live:
            self._live, self._task = live, live.add_task("", total=total, status="")
            try:
                yield
            finally:
                self._live = None

    def advance(self, done: int, total: int, status: str) -> None:
        """Bring the live progress line up to date."""
        if self._live is not None:
            self._live.update(self._task, completed=done, total=total, status=one_line(visible(status)))

    def close(self) -> None:
        """Flush, so that a reader that has left is noticed here and not when Python ends."""
        self._write("stdout", "")
        self._write("stderr", "")

    def _render(self, which: Stream, parts: Sequence[Part]) -> str:
        colours = self.colours(which)
        return "".join(_paint(part, colours) for part in parts)

    def _render_table(self, columns: Sequence[Column], rows: Sequence[Sequence[Part]], title: str) -> str:
        import io

        from rich import box
        from rich.console import Console
        from rich.table import Table
        from rich.text import Text

        colours = self.colours("stdout")
        plain = "utf" not in (getattr(sys.stdout, "encoding", None) or "").lower()
        table = Table(box=box.ASCII2 if plain else box.SIMPLE_HEAD, pad_edge=False, title=title or None)
        for column in columns:
            table.add_column(Text(safe(column.title)), justify="right" if column.right else "left", overflow="fold")
        for row in rows:
            table.add_row(*(Text.from_ansi(one_line(_paint(cell, True))) for cell in row))
        console = Console(
            file=io.StringIO(),
            force_terminal=colours,
            no_color=not colours,
            color_system="standard" if colours else None,
            width=self._width(),
            markup=False,
            highlight=False,
            emoji=False,
        )
        console.print(table)
        lines: str = console.file.getvalue()  # type: ignore[attr-defined]
        return "\n".join(line.rstrip() for line in lines.split("\n")).strip("\n") + "\n"

    def _width(self) -> int:
        if self.is_terminal("stdout"):
            import shutil

            return shutil.get_terminal_size((PIPED_WIDTH, 24)).columns
        return int(os.environ.get("COLUMNS", "0") or "0") or PIPED_WIDTH

    def _write(self, which: Stream, text: str) -> None:
        stream = getattr(sys, which)
        if stream is None or which in self._left:
            return
        try:
            _put(stream, text)
        except ValueError:  # The stream is closed.
            self._left.add(which)
        except OSError as error:
            self._leave(which, stream)
            if error.errno not in _GONE:
                raise

    def _leave(self, which: Stream, stream: Any) -> None:
        # `viva list | head`: the reader has what it wanted. Python would complain again while flushing at its end.
        self._left.add(which)
        try:
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, stream.fileno())
            os.close(devnull)
        except (OSError, ValueError):
            return


class _Stream:
    """stderr as the live progress line sees it: every write is the terminal's own."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self.encoding = getattr(sys.stderr, "encoding", "utf-8")

    def write(self, text: str) -> int:
        self._terminal._write("stderr", text)
        return len(text)

    def flush(self) -> None:
        return

    def isatty(self) -> bool:
        return self._terminal.is_terminal("stderr")

    def fileno(self) -> int:
        return sys.stderr.fileno()


def safe(text: str) -> str:
    """Mask secrets and show every character that could command a terminal as an escape."""
    return visible(mask(text))


def mask(text: str) -> str:
    """Mask the secrets this process has read."""
    # Looked up, not imported: a process that never loaded secrets has none to mask, and `--help` stays quick.
    module = sys.modules.get("viva.core.secret")
    return text if module is None else str(module.redactor.text(text))


def _paint(part: Part, colours: bool) -> str:
    if isinstance(part, str):
        return safe(part)
    code = STYLES[part.style] if part.style else ""
    return f"\x1b[{code}m{safe(part.text)}\x1b[0m" if code and colours else safe(part.text)


def _put(stream: Any, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
    stream.flush()


def _json_escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


terminal = Terminal()
"""The process's one terminal."""
