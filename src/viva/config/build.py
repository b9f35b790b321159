"""The same suites, built in Python: plain dicts, lists and viva's own data, through the same reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from viva.config.context import Context
from viva.config.load import load_tree
from viva.config.tree import from_python
from viva.core.suite import Suite
from viva.registry import Registry


def suite(
    name: str,
    cases: Sequence[Any] | None = None,
    *,
    folder: str | Path | None = None,
    registry: Registry | None = None,
    allow_env: Iterable[str] = (),
    **keys: Any,
) -> Suite:
    """Build a suite with the keys of a suite file; raises the same errors, at `<python>`.

    `suite("capitals", [{"input": "…", "expected": "Paris"}], checks=["equals"])`
    """
    written = {"suite": name, **({} if cases is None else {"cases": cases}), **keys}
    context = Context(registry or Registry(), allow_env=tuple(allow_env))
    context.folder = Path(folder).resolve() if folder is not None else None
    return load_tree(from_python(written), context)
