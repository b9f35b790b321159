"""`viva.run` and `await viva.arun`: a suite and a subject in, a run out."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from viva.app.door import run_blocking
from viva.app.examine import examine
from viva.app.spec import RunSpec
from viva.app.view import RunView
from viva.core.errors import SuiteError
from viva.core.suite import Suite
from viva.registry import suggest

OPTIONS = tuple(field.name for field in fields(RunSpec) if field.name not in ("suite", "subject"))


async def arun(suite: Suite | str | Path, subject: Any = None, **options: Any) -> RunView:
    """Examine a subject with a suite. The options are the fields of `viva.RunSpec`.

    A subject handed over as a Python object is always examined anew, unless `fresh=False` asks to finish the
    unfinished run: its code may have changed without a trace.
    """
    return await examine(_spec(suite, subject, options))


def run(suite: Suite | str | Path, subject: Any = None, **options: Any) -> RunView:
    """The same for plain Python, also from inside a notebook."""
    spec = _spec(suite, subject, options)
    return run_blocking(lambda: examine(spec), spec.stopper)


def _spec(suite: Suite | str | Path, subject: Any, options: dict[str, Any]) -> RunSpec:
    for name in options:
        if name not in OPTIONS:
            raise SuiteError(f"run() has no option {name!r}", hint=suggest(name, OPTIONS))
    options.setdefault("fresh", subject is not None)
    return RunSpec(suite=suite, subject=subject, **options)
