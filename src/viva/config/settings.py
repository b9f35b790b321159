"""The user's own settings: `.viva/settings.toml`, or `[tool.viva]` in `pyproject.toml`, of the project one works in.

They are looked for from the working directory upwards and never beside a suite: a suite that came with its own
settings could allow itself anything.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from viva.config.env import Environment, first_given
from viva.config.files import read_bytes
from viva.config.reader import Reader
from viva.config.tree import from_python
from viva.core.data import Data
from viva.core.errors import SuiteError
from viva.core.suite import Roles

FILE = Path(".viva") / "settings.toml"
DEFAULT_STORE = Path(".viva") / "viva.db"
_MOST_BYTES = 1_000_000


class Settings(Data, frozen=True):
    """What a user sets once for a project; a flag goes before it, and so does the environment."""

    allow: tuple[str, ...] = ()
    """Modules a suite may name as `module:Class`, and programs it may start, as `command:NAME`."""
    allow_env: tuple[str, ...] = ()
    """Variables a suite may use as `env:NAME`; a trailing `*` allows a prefix."""
    store: str | None = None
    model: str | None = None
    user: str | None = None
    judge: str | None = None


def find_project(start: Path | None = None) -> Path:
    """The project one works in: the nearest folder upwards with settings, a pyproject.toml or a .git; else this one."""
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if any((folder / mark).exists() for mark in (FILE, "pyproject.toml", ".git")):
            return folder
    return here


def read_settings(project: Path) -> Settings:
    """Read the settings of a project; defaults where there are none. Raises SuiteError for a file that is wrong."""
    own = project / FILE
    if own.is_file():
        return _typed(_toml(own), own)
    shared = project / "pyproject.toml"
    if shared.is_file():
        table = _toml(shared).get("tool", {})
        return _typed(table.get("viva", {}) if isinstance(table, dict) else {}, shared)
    return Settings()


def choose_roles(flags: Roles, suite: Roles, environment: Environment, settings: Settings) -> Roles:
    """Who plays which part: flag, then suite, then environment, then settings."""
    return Roles(
        model=first_given(flags.model, suite.model, environment.get("VIVA_MODEL"), settings.model),
        user=first_given(flags.user, suite.user, environment.get("VIVA_USER"), settings.user),
        judge=first_given(flags.judge, suite.judge, environment.get("VIVA_JUDGE"), settings.judge),
    )


def choose_store(flag: str | None, environment: Environment, settings: Settings, project: Path) -> Path | str:
    """Where runs are kept; relative paths of the settings start at the project."""
    chosen = first_given(flag, environment.get("VIVA_STORE"))
    if chosen:
        return chosen
    if settings.store and "://" in settings.store:
        return settings.store
    return project / (settings.store or DEFAULT_STORE)


def _toml(path: Path) -> dict[str, Any]:
    raw = read_bytes(path, most_bytes=_MOST_BYTES)
    try:
        return tomllib.loads(raw.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SuiteError(f"this is not valid TOML: {error}", where=str(path)) from error


def _typed(table: Any, path: Path) -> Settings:
    settings: Settings = Reader().struct(Settings, "the settings")(from_python(table, str(path)))
    return settings
