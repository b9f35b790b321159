"""The texts a run puts before models, hashed: shipped templates, a suite's own, and files its settings name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.config.files import hash_bytes, hash_file, resolve
from viva.core.case import Case
from viva.core.data import content_hash
from viva.core.errors import SuiteError

FILE_KEYS = ("template", "file", "schema", "prompt")
"""Settings that may name a file of the suite."""

ROOMS = Path(__file__).parents[1]


def hash_prompts(cases: Sequence[Case], templates: Mapping[str, str], folder: Path | None) -> str:
    """One hash for every text and file that shapes what models are asked."""
    judged = any(case.criteria or case.measures for case in cases)
    simulated = any(case.driver.name == "persona" or _has_persona(case) for case in cases)
    return content_hash(
        (
            dict(templates),
            _hash_folder(ROOMS / "judging" / "templates") if judged else "",
            _hash_folder(ROOMS / "drivers" / "templates") if simulated else "",
            _hash_files(cases, folder) if folder is not None else {},
        )
    )


def _has_persona(case: Case) -> bool:
    return any(variant.driver is not None and variant.driver.name == "persona" for variant in case.variants)


def _hash_folder(folder: Path) -> str:
    return content_hash({file.name: hash_bytes(file.read_bytes()) for file in sorted(folder.glob("*.jinja"))})


def _hash_files(cases: Iterable[Case], folder: Path) -> dict[str, str]:
    names = {name for settings in _distinct_settings(cases) for name in _named_files(settings)}
    return {name: found for name in sorted(names) if (found := _hash_file(folder, name))}


def _distinct_settings(cases: Iterable[Case]) -> Iterable[dict[str, Any]]:
    seen: dict[int, dict[str, Any]] = {}
    for case in cases:
        found = [case.judging.settings, case.driver.settings]
        found += [variant.driver.settings for variant in case.variants if variant.driver]
        found += [check.settings for check in case.checks] + [measure.settings for measure in case.measures]
        seen.update((id(settings), settings) for settings in found if settings)
    return seen.values()


def _named_files(settings: dict[str, Any]) -> list[str]:
    return [name for key in FILE_KEYS if isinstance(name := settings.get(key), str)]


def _hash_file(folder: Path, name: str) -> str:
    try:
        return hash_file(resolve(folder, name))
    except (SuiteError, OSError):
        return ""  # A text that only looks like the name of a file.
