"""Every setting of stages, drivers and claims about the world is in the reference, and every failure has its line."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from viva.registry import BUILT_IN, Registry

ROOT = Path(__file__).parents[3]
STAGE = (ROOT / "docs" / "reference" / "stage.md").read_text()
DRIVERS = (ROOT / "docs" / "reference" / "drivers.md").read_text()
NAMED = [
    *((kind, name, STAGE) for kind in ("setups", "seeds", "graphs") for name in sorted(BUILT_IN[kind])),
    *(("scorers", name, STAGE) for name in ("cypher", "sql", "probe", "unchanged", "user")),
    *(("drivers", name, DRIVERS) for name in sorted(BUILT_IN["drivers"])),
]


@pytest.mark.parametrize(("kind", "name", "page"), NAMED, ids=[f"{kind} {name}" for kind, name, _ in NAMED])
def test_every_setting_is_documented(kind: str, name: str, page: str) -> None:
    settings = Registry().settings_type(kind, name)
    assert settings is not None
    assert f"`{name}`" in page or f"### {name}" in page or f" {name}\n" in page
    assert [field.name for field in msgspec.structs.fields(settings) if f"`{field.name}`" not in page] == []


def test_every_kind_of_failure_is_documented() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "src" / "viva" / "stage").glob("*.py"))
    kinds = set(re.findall(r'kind="([a-z_]+)"', sources))
    assert sorted(kind for kind in kinds if f"`{kind}`" not in STAGE) == []


def test_every_finding_about_the_user_is_documented() -> None:
    source = (ROOT / "src" / "viva" / "scoring" / "checks" / "audit.py").read_text()
    flags = set(re.findall(r'flag="([a-z_]+)"', source))
    assert sorted(flag for flag in flags if f"`user:{flag}`" not in DRIVERS) == []
