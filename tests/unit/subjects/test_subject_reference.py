"""Every subject, setting and failure is in the reference."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from viva.registry import BUILT_IN, Registry

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "reference" / "subjects.md"


def section(name: str) -> str:
    return PAGE.read_text().split(f"\n## {name}\n", 1)[1].split("\n## ", 1)[0]


@pytest.mark.parametrize("name", sorted(BUILT_IN["subjects"]))
def test_every_setting_of_a_subject_is_documented(name: str) -> None:
    settings = Registry().settings_type("subjects", name)
    assert settings is not None
    told = section(name)
    assert [field.name for field in msgspec.structs.fields(settings) if f"`{field.name}`" not in told] == []


def test_every_kind_of_failure_is_documented() -> None:
    page = PAGE.read_text()
    source = "".join(path.read_text() for path in (ROOT / "src" / "viva" / "subjects").glob("*.py"))
    kinds = set(re.findall(r'kind="([a-z_]+)"', source)) | set(re.findall(r'ShapeError\("([a-z_]+)"', source))
    events = {"system_prompt", "graph_query", "function_call", "function_result", "unknown"}
    assert sorted(kind for kind in kinds | events if f"`{kind}`" not in page) == []
