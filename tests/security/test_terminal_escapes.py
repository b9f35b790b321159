"""Nothing an agent says can command the terminal of the person reading it."""

from __future__ import annotations

import ast
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import viva
from viva.cli.terminal import Column, Styled, Terminal, safe
from viva.core.secret import MASK, Secret, redactor

ATTACKS = {
    "CSI clear": "\x1b[2J\x1b[H",
    "CSI colour": "\x1b[31mred\x1b[0m",
    "OSC 0 title": "\x1b]0;owned\x07",
    "OSC 8 link": "\x1b]8;;http://evil\x1b\\click\x1b]8;;\x1b\\",
    "OSC 52 clipboard": "\x1b]52;c;cm0gLXJm\x07",
    "unterminated OSC": "\x1b]0;swallows what follows",
    "DCS": "\x1bP+q544e\x1b\\",
    "APC": "\x1b_Gf=100\x1b\\",
    "8-bit CSI": "\x9b2J",
    "8-bit OSC": "\x9d0;owned\x9c",
    "8-bit DCS": "\x90+q\x9c",
    "CR overwrite": "score 0.1\rscore 1.0",
    "backspace": "fail\x08\x08\x08\x08pass",
    "bell, NUL, DEL": "\x07\x00\x7f",
    "form feed, vertical tab": "\x0c\x0b",
    "bidi override": "\u202etxt.exe\u202c",
    "bidi isolate": "\u2066abc\u2069",
    "bidi marks": "\u200e\u200f\u061c",
    "zero width": "a\u200bb\u2060c\ufeff",
    "line separators": "a\u2028b\u2029c",
    "lone surrogate": "\ud800",
    "tag characters": "\U000e0041\U000e0042",
}

OUR_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\U000e0000-\U000e007f]"
)

WRITE_EVERYTHING = """
import json, sys
from viva.cli.terminal import Column, Styled, Terminal
text = json.loads(sys.argv[1])
terminal = Terminal()
terminal.out("before ", text, " after")
terminal.out(Styled(text, "red"))
terminal.err(Styled(text, "yellow"), text)
terminal.error(text)
terminal.hint(text)
terminal.table([Column(text), Column("n", True)], [[text, Styled(text, "green")]], title="")
terminal.json({text: [text]})
with terminal.progress(3):
    terminal.advance(1, 3, text)
    terminal.err(Styled("live ", "grey"), text)
    terminal.advance(2, 3, text)
"""


def on_a_real_terminal(text: str) -> str:
    """Run the writer with a pseudo-terminal as stdout and stderr, and return what arrived there."""
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", "COLUMNS": "100"}
    env.pop("NO_COLOR", None)
    process = subprocess.Popen(
        [sys.executable, "-c", WRITE_EVERYTHING, json.dumps(text)], stdout=child, stderr=child, env=env
    )
    os.close(child)
    seen = b""
    while True:
        try:
            chunk = os.read(parent, 65536)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    os.close(parent)
    assert process.wait(timeout=30) == 0, seen
    return seen.decode("utf-8")


def test_on_a_real_terminal_only_text_and_our_own_colours_arrive() -> None:
    everything = " | ".join(ATTACKS.values())
    seen = on_a_real_terminal(everything)
    # What rich itself writes for a live line: cursor visibility, line clearing, moves within its own lines.
    rich_live = re.compile(r"\x1b\[\?25[lh]|\r?(?:\x1b\[(?:2K|1A))+|\r(?=\n)")
    rest = OUR_COLOURS.sub("", rich_live.sub("", seen))
    assert not FORBIDDEN.search(rest), repr(FORBIDDEN.search(rest))
    assert rest.count("\\x1b[31mred\\x1b[0m") >= 5


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_each_attack_is_shown_not_obeyed(attack: str, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    terminal.out(attack)
    terminal.error(attack)
    terminal.table([Column(attack)], [[attack], [Styled(attack, "red")]])
    out, err = capsys.readouterr()
    assert not FORBIDDEN.search(out)
    assert not FORBIDDEN.search(err)
    assert attack not in out
    assert "\\x" in out or "\\u" in out or "\\U" in out


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_json_output_is_plain_ascii_and_loses_nothing(attack: str, capsys: pytest.CaptureFixture[str]) -> None:
    Terminal().json({"said": attack, "emoji": "🙂"})
    out = capsys.readouterr().out
    assert re.fullmatch(r"[\n -~]+", out)
    assert json.loads(out) == {"said": attack, "emoji": "🙂"}


def test_rich_markup_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    terminal.out("[red]alarm[/red] [link=http://evil]x[/link] :smile:")
    terminal.table([Column("[bold]title")], [["[red]alarm[/red] :smile:"]])
    out = capsys.readouterr().out
    assert out.count("[red]alarm[/red]") == 2
    assert "[bold]title" in out
    assert out.count(":smile:") == 2


def test_an_agent_cannot_forge_a_second_message(capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    terminal.error("the agent said: x\nviva: everything passed")
    terminal.table([Column("case")], [["a\nb  pass"]])
    out, err = capsys.readouterr()
    assert err.count("\n") == 1
    assert "a b  pass" in out


def test_known_secrets_are_masked_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    redactor.learn(Secret("sk-terminal-ünique-123456"))
    terminal = Terminal()
    terminal.out("key sk-terminal-ünique-123456")
    terminal.error("sk-terminal-ünique-123456")
    terminal.json({"key": "sk-terminal-ünique-123456"})
    terminal.table([Column("key")], [["sk-terminal-ünique-123456"]])
    out, err = capsys.readouterr()
    assert "123456" not in out + err
    assert out.count(MASK) == 2
    assert json.dumps(MASK)[1:-1] in out


@settings(max_examples=300, deadline=None)
@given(st.text())
def test_safe_text_is_safe_once_and_for_all(text: str) -> None:
    once = safe(text)
    assert not FORBIDDEN.search(once)
    assert safe(once) == once
    assert len(once) <= 10 * len(text)


def test_nothing_else_in_viva_prints() -> None:
    root = Path(viva.__file__).parent
    writers = {root / "cli" / "terminal.py"}
    # Programs of their own, which answer on a pipe: workers, servers for tests, and the agent `viva init` writes.
    writers |= set(root.rglob("*_worker.py"))
    programs = {root / "testing", root / "config" / "templates"}
    found = [
        f"{path.relative_to(root)}:{line}: {what}"
        for path in sorted(root.rglob("*.py"))
        if path not in writers and not programs & set(path.parents)
        for line, what in _prints(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert found == []


def test_the_reader_of_the_source_knows_a_print_when_it_sees_one() -> None:
    source = (
        "import sys, rich\nprint(1)\nsys.stdout.write('x')\nos.write(1, b'x')\nfrom rich import print\nf=sys.__stderr__"
    )
    assert [what for _, what in _prints(ast.parse(source))] == [
        "imports rich",
        "print()",
        "sys.stdout",
        "os.write",
        "imports rich",
        "sys.__stderr__",
    ]


def _prints(tree: ast.Module) -> list[tuple[int, str]]:
    found = [
        (node.lineno, what)
        for node in ast.walk(tree)
        if isinstance(node, ast.stmt | ast.expr) and (what := _what(node))
    ]
    return sorted(found, key=lambda one: one[0])


def _what(node: ast.AST) -> str:
    match node:
        case ast.Call(func=ast.Name(id="print" | "input" as name)):
            return f"{name}()"
        case ast.Attribute(value=ast.Name(id="os"), attr="write" | "writev"):
            return "os.write"
        case ast.Attribute(value=ast.Name(id="sys"), attr=("stdout" | "stderr" | "__stdout__" | "__stderr__") as name):
            return f"sys.{name}"
        case ast.Import(names=names) if any(one.name.split(".")[0] == "rich" for one in names):
            return "imports rich"
        case ast.ImportFrom(module=str(module)) if module.split(".")[0] == "rich":
            return "imports rich"
        case ast.ImportFrom(module="sys", names=names) if any(one.name in ("stdout", "stderr") for one in names):
            return "imports sys.stdout"
    return ""
