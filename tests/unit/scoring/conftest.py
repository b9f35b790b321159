"""A kit without services, and evidence of small conversations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from viva.core.case import Case
from viva.core.errors import SuiteError
from viva.core.evidence import Evidence
from viva.core.timing import timing_of
from viva.core.transcript import Transcript, Turn
from viva.core.variant import DEFAULT_VARIANT
from viva.registry import Registry


class BareKit:
    """Only what the scorers without a model ask for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def file(self, name: str) -> Path:
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise SuiteError("outside")
        return path


@pytest.fixture
def build_scorer(tmp_path: Path) -> Callable[..., Any]:
    """Build a scorer by its name, as a suite does."""

    def make(scorer: str, /, **settings: Any) -> Any:
        return Registry().build("scorers", scorer, settings, BareKit(tmp_path))

    return make


@pytest.fixture
def answered() -> Callable[..., Evidence]:
    """Evidence of one reply."""

    def make(text: str = "Paris", data: Any = None, **more: Any) -> Evidence:
        case = more.pop("case", None) or Case(id="c", input="?", expected=more.pop("expected", None))
        reply = {"latency_ms": 10.0, **more.pop("reply", {})}
        turns = more.pop("turns", (Turn(role="user", text="?"), Turn(role="assistant", text=text, data=data, **reply)))
        transcript = Transcript(turns=turns)
        more.setdefault("timing", timing_of(transcript, 100.0))
        return Evidence(trial="c", case=case, variant=DEFAULT_VARIANT, transcript=transcript, output=data, **more)

    return make
