"""Every documented command works, and everything the command line takes is documented."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from viva.cli.exit_codes import ExitCode
from viva.cli.main import COMMANDS, build_parser

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference" / "cli.md"
BLOCK = re.compile(r"^```(?:console|bash|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)]*)?\)")


def documents() -> list[Path]:
    return [*sorted(ROOT.glob("*.md")), ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def commands(document: Path, program: str) -> Iterator[str]:
    """The commands of one program in a document's console blocks, continuation lines joined, comments taken off."""
    for block in BLOCK.findall(document.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"\s+#.*", "", line.removeprefix("$ ").strip())
            if command.startswith(program + " "):
                yield command


def name_of(document: Path) -> str:
    return document.relative_to(ROOT).as_posix()


def starter(folder: Path) -> None:
    """What `viva init` writes."""
    viva("viva init", folder)


def starter_run(folder: Path) -> None:
    """A starter suite that has been run once."""
    starter(folder)
    suite = next(folder.glob("*.y*ml"))
    viva(f"viva run {suite.name} -q", folder)


def repository(folder: Path) -> None:
    """The repository itself, for commands that name files of it."""
    for entry in ROOT.iterdir():
        if entry.name not in (".git", ".venv", ".viva"):
            (folder / entry.name).symlink_to(entry)


PREPARED: dict[str, Callable[[Path], None]] = {
    "README.md": lambda folder: None,
    "docs/guide/getting-started.md": lambda folder: None,
    "docs/reference/cli.md": starter_run,
}
"""What a document's reader has before its first command; the commands then run in order, in one folder."""

EXPECTED: dict[str, int] = {}
"""Exit codes of commands that are shown because they fail."""


def viva(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(command)
    return subprocess.run(
        [sys.executable, "-m", "viva", *words[1:]],
        cwd=folder,
        env=plain_environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("document", [one for one in documents() if any(commands(one, "viva"))], ids=name_of)
def test_every_viva_command_in_the_documents_works(document: Path, tmp_path: Path) -> None:
    PREPARED.get(name_of(document), repository)(tmp_path)
    for command in commands(document, "viva"):
        ran = viva(command, tmp_path)
        assert ran.returncode == EXPECTED.get(command, ExitCode.FINE), f"{command}\n{ran.stdout}\n{ran.stderr}"


@pytest.mark.parametrize("document", [one for one in documents() if any(commands(one, "make"))], ids=name_of)
def test_every_make_target_in_the_documents_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    wanted = {word for command in commands(document, "make") for word in shlex.split(command)[1:]}
    assert wanted <= targets


def test_the_readme_names_the_first_two_things_to_try() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in readme
    assert "make test" in readme


@pytest.mark.parametrize("document", documents(), ids=name_of)
def test_no_link_between_documents_is_dead(document: Path) -> None:
    links = LINK.findall(document.read_text(encoding="utf-8"))
    assert [link for link in links if not (document.parent / link).exists()] == []


def test_every_document_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in LINK.findall(index.read_text(encoding="utf-8"))}
    assert {name_of(path) for path in (ROOT / "docs").rglob("*.md") if path != index and path not in linked} == set()


def blocks(language: str) -> list[str]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found: list[str] = re.findall(rf"^```{language}\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    return found


def test_the_table_in_the_readme_is_what_the_suite_in_the_readme_prints(tmp_path: Path) -> None:
    viva("viva init", tmp_path)
    (tmp_path / "capitals.yml").write_text(blocks("yaml")[0], encoding="utf-8")
    ran = viva("viva run capitals.yml", tmp_path)
    assert ran.returncode == ExitCode.FINE, ran.stderr
    assert words(ran.stdout) == words(blocks("text")[0]), "run `make readme`"


def test_everything_else_the_readme_shows_is_what_the_demo_and_the_judge_test_print(tmp_path: Path) -> None:
    pytest.importorskip("arcadedb_embedded", reason="the demo's graph needs the extra graph")
    (tmp_path / "yes.yml").write_text("- reply: {id: $nonce, reason: Yes., answer: met}\n", encoding="utf-8")
    judged = viva("viva judge test --model scripted:yes.yml", tmp_path)
    report = tmp_path / "report.txt"
    command = [sys.executable, str(ROOT / "examples" / "demo.py"), "--report", str(report)]
    demo = subprocess.run(command, env=plain_environment(), capture_output=True, text=True, timeout=120, check=False)
    assert demo.returncode == ExitCode.FINE, demo.stderr
    _, whole, *excerpts = blocks("text")
    assert words(demo.stdout) == words(whole), "run `make readme`"
    printed = without_times(demo.stdout + report.read_text(encoding="utf-8") + judged.stdout)
    assert [line for block in excerpts for line in without_times(block) if line not in printed] == [], (
        "run `make readme`"
    )


def plain_environment() -> dict[str, str]:
    env = {key: value for key, value in os.environ.items() if not key.startswith(("VIVA_", "COLUMNS"))}
    return {**env, "NO_COLOR": "1"}


def without_times(text: str) -> list[list[str]]:
    """The words of each line, without what differs from run to run."""
    text = re.sub(r"[\d,.]+ m?s\b", "TIME", re.sub(r"\d{8}-\d{6}-\w+", "RUN", text))
    return [re.sub("[─-]+", "-", line).split() for line in text.splitlines()]


def words(text: str) -> list[str]:
    """All words in a row: where a cell is wrapped depends on how wide the times beside it are."""
    return [word for line in without_times(text) for word in line]


PYTHON_BLOCKS = [ROOT / "README.md", *sorted((ROOT / "docs" / "guide").glob("*.md"))]


@pytest.mark.parametrize("document", PYTHON_BLOCKS, ids=name_of)
def test_every_python_example_in_the_guide_runs(document: Path, tmp_path: Path) -> None:
    for block in re.findall(r"^```python\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        ran = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr


def sections() -> dict[str, str]:
    """The reference, by command."""
    parts = re.split(r"^## viva (\w+)$", REFERENCE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def options(command: str) -> Iterator[tuple[str, argparse.Action]]:
    parser = build_parser(command)
    (choices,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in choices.choices[command]._actions:
        for option in action.option_strings:
            if action.help is not argparse.SUPPRESS and option not in ("-h", "--help"):
                yield option, action


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_documented(command: str) -> None:
    section = sections()[command]
    told = set(re.findall(r"`(--?[a-z][a-z-]*)", section))
    assert {option for option, _ in options(command)} == told


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_help_text(command: str) -> None:
    assert [option for option, action in options(command) if not action.help] == []


def test_every_exit_code_is_documented() -> None:
    text = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == {int(code) for code in ExitCode}
