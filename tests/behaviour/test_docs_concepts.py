"""The table of words names keys, classes, columns and options that are there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import viva
from viva.cli.main import COMMANDS, build_parser

ROOT = Path(__file__).parents[2]
CONCEPTS = (ROOT / "docs" / "guide" / "concepts.md").read_text(encoding="utf-8")
ROWS = [
    (re.sub(r"\W.*", "", cells[1].strip(" [")), *cells[2:-1])
    for cells in (line.split("|") for line in CONCEPTS.splitlines() if line.startswith("| ["))
]


def ticked(cell: str) -> list[str]:
    found: list[str] = re.findall(r"`([^`]+)`", cell)
    return found


def test_there_are_fifteen_words_each_with_a_heading() -> None:
    assert [row[0] for row in ROWS] == [word.lower() for word in re.findall(r"^## (\w+)$", CONCEPTS, re.MULTILINE)]
    assert len(ROWS) == 15


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_word_is_where_the_table_says(row: tuple[str, ...]) -> None:
    _, in_suite, in_python, in_store, on_command_line = row
    keys = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs/reference/suite.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert set(ticked(in_suite)) <= set(keys)
    for name in ticked(in_python):
        module, _, attribute = name.rpartition(".")
        assert hasattr(viva if module == "viva" else import_module(module), attribute), name
    migration = next((ROOT / "src/viva/store/migrations").glob("*.sql")).read_text(encoding="utf-8")
    for place in ticked(in_store):
        table, _, column = place.partition(".")
        (columns,) = re.findall(rf"^CREATE TABLE {table} \((.*?)^\)", migration, re.MULTILINE | re.DOTALL)
        assert not column or re.search(rf"^ +\"?{column}\"? ", columns, re.MULTILINE), place
    helps = " ".join(_help(command) for command in COMMANDS)
    for text in ticked(on_command_line):
        assert all(option in helps for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", text)), text
        assert not text.startswith("viva ") or text.split()[1] in COMMANDS, text


def _help(command: str) -> str:
    (commands,) = [action.choices for action in build_parser(command)._actions if isinstance(action.choices, dict)]
    return str(commands[command].format_help())
