"""Every promise names tests that exist and run."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
PROMISES = ROOT / "docs" / "design" / "promises.md"
ROW = re.compile(r"^\| ([A-Z]-\d+) \| (.+?) \| (.+) \|$", re.MULTILINE)
PROOF = re.compile(r"`([\w/]+\.py)::(test_\w+)`")


def rows() -> list[tuple[str, str, str]]:
    return ROW.findall(PROMISES.read_text(encoding="utf-8"))


def named_tests(file: Path) -> dict[str, bool]:
    """The tests of a file, and whether each is marked as a soak test."""
    found = {}
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            found[node.name] = any("soak" in ast.unparse(mark) for mark in node.decorator_list)
    return found


def test_ids_are_given_once_and_in_order() -> None:
    ids = [row[0] for row in rows()]
    assert len(ids) > 60
    by_letter: dict[str, list[int]] = {}
    for letter, _, number in (id_.partition("-") for id_ in ids):
        by_letter.setdefault(letter, []).append(int(number))
    assert all(numbers == list(range(1, len(numbers) + 1)) for numbers in by_letter.values())


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_every_promise_is_proved_by_tests_that_exist_and_run(row: tuple[str, str, str]) -> None:
    id_, sentence, proofs = row
    assert sentence.endswith("."), id_
    everyday, _, soak = proofs.partition("*soak*")
    assert PROOF.search(everyday), f"{id_} is proved by no test that `make test` runs"
    for part, is_soak in ((everyday, False), (soak, True)):
        for file, name in PROOF.findall(part):
            assert named_tests(TESTS / file).get(name) is is_soak, f"{id_} names {file}::{name}"
