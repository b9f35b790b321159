"""Says which permissions of the project's own settings a run makes use of: they were given once, perhaps by others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from viva.cli.terminal import terminal
from viva.config.settings import FILE, Settings, find_project, read_settings
from viva.core.run import Run
from viva.registry import COMMAND, TEMPLATES

MOST_BYTES = 1_000_000
"""Of a file that is searched for names; larger ones are data."""


def tell_permissions(run: Run) -> None:
    """Name on stderr what the settings file allows and the suite's files ask for."""
    project = find_project()
    names = list(used(run, read_settings(project)))
    if names:
        file = FILE if (project / FILE).is_file() else Path("pyproject.toml")
        terminal.err(f"allowed by {file}: {', '.join(names)}")


def used(run: Run, settings: Settings) -> Iterator[str]:
    """The permissions a run's files mention; a suite cannot use a module, program or variable it does not name."""
    text = "\n".join(_text(Path(run.folder) / source.path) for source in run.sources)
    for name in settings.allow:
        if run.templates if name == TEMPLATES else name.removeprefix(COMMAND).rstrip("*") in text:
            yield name
    for name in settings.allow_env:
        if name.rstrip("*") in text:
            yield f"env:{name}"


def _text(file: Path) -> str:
    try:
        is_data = file.stat().st_size > MOST_BYTES
        return "" if is_data else file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
