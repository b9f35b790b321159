"""Where a run happens: the user's project with its settings, environment, registry and store."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from viva.config.env import Environment
from viva.config.settings import Settings, choose_store, find_project, read_settings
from viva.core.errors import SetupError
from viva.registry import Registry


@dataclass(frozen=True, slots=True)
class Project:
    """What the user said once, with what the caller says now."""

    settings: Settings
    environment: Environment
    registry: Registry
    store: Path

    @property
    def cache(self) -> Path:
        """Replies of models are kept beside the runs."""
        return self.store.parent / "cache.db"


def open_project(allow: Iterable[str], allow_env: Iterable[str], store: str | Path | None) -> Project:
    """Find the project of the working directory. Raises SuiteError or SetupError."""
    folder = find_project()
    settings = read_settings(folder)
    environment = Environment((*settings.allow_env, *allow_env), folder=folder)
    chosen = choose_store(str(store) if store is not None else None, environment, settings, folder)
    if "://" in str(chosen):
        raise SetupError(f"the store {chosen} is not a file", kind="unknown_store", hint="give the path of a file")
    return Project(settings, environment, Registry((*settings.allow, *allow)), Path(chosen))
