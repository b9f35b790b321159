"""Every scorer without a model, every formula, every setting and every binding is in the reference."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from viva.expressions.functions import FUNCTIONS
from viva.expressions.parser import MACROS
from viva.registry import Registry
from viva.scoring.bindings import BINDINGS

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
CHECKS = ("equals", "regex", "contains", "json_schema", "field", "expression", "tools", "expectations")
MEASURES = ("fuzzy", "token_f1", "timing", "turns", "cost")


@pytest.mark.parametrize(
    ("kind", "name", "page"),
    [("scorers", name, "checks.md") for name in CHECKS]
    + [("scorers", name, "measures.md") for name in MEASURES]
    + [("formulas", name, "formulas.md") for name in Registry().names("formulas")],
)
def test_every_setting_is_documented(kind: str, name: str, page: str) -> None:
    text = (REFERENCE / page).read_text()
    assert name in text
    settings = Registry().settings_type(kind, name)
    assert settings is not None
    for field in msgspec.structs.fields(settings):
        assert f"`{field.name}" in text or f"`{field.name}`" in text, field.name


def test_every_function_and_binding_is_documented() -> None:
    text = (REFERENCE / "expressions.md").read_text()
    for name in (*FUNCTIONS, *MACROS, *BINDINGS):
        assert f"`{name}" in text, name
