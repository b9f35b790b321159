"""A reader of suites that knows small implementations only, so that these tests are about the reading alone."""

from __future__ import annotations

from typing import Any

import pytest
from config_fakes import fakes

from viva.config.load import load_text
from viva.core.suite import Suite
from viva.registry import Registry


@pytest.fixture
def registry() -> Registry:
    return fakes()


@pytest.fixture
def load(registry: Registry) -> Any:
    def read(text: str, **options: Any) -> Suite:
        return load_text(text, "suite.yml", registry=registry, **options)

    return read
