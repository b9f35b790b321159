"""The benchmark says what it skips, and a target is missed on one side only."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(BENCH))
    monkeypatch.setattr(sys, "argv", ["run.py"])
    yield importlib.import_module("run")
    for name in ("figure", "run"):
        sys.modules.pop(name, None)


def names(bench: ModuleType) -> list[str]:
    return [path.stem for path in bench.parts()]


def test_peers_are_skipped_with_a_word_unless_asked_for(
    bench: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("PEERS", raising=False)
    assert names(bench) == ["conversations", "engine", "judge", "startup"]
    assert "PEERS=1" in capsys.readouterr().err
    monkeypatch.setenv("PEERS", "1")
    assert "peers" in names(bench)
    monkeypatch.delenv("PEERS")
    monkeypatch.setattr(sys, "argv", ["run.py", "peers"])
    assert names(bench) == ["peers"]


@pytest.mark.parametrize(
    ("measured", "target", "at_most", "reached"),
    [(1.0, 1.0, True, True), (1.1, 1.0, True, False), (0.9, 1.0, False, False), (2.0, 1.0, False, True)],
)
def test_a_target_is_reached_or_missed(
    bench: ModuleType, measured: float, target: float, at_most: bool, reached: bool
) -> None:
    figure = bench.Figure("f", measured, target, at_most)
    assert figure.reached is reached
    assert ("| NO |" in figure.row) is not reached


def test_a_figure_without_a_target_is_told_and_never_missed(bench: ModuleType) -> None:
    figure = bench.Figure("f", 3.0)
    assert figure.reached
    assert figure.row == "| f | 3 |  |  |  |"
