"""The project a command works in: its settings, its environment, its store, and what the user allows."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from viva.config.env import Environment
from viva.config.settings import Settings, choose_store, find_project, read_settings
from viva.registry import Registry


@dataclass(frozen=True, slots=True)
class Project:
    """What the user said once, with what the command line says now."""

    folder: Path
    settings: Settings
    environment: Environment
    allow: tuple[str, ...]
    store: Path | str

    def registry(self) -> Registry:
        """A registry that imports what the user allowed."""
        return Registry(self.allow)


def open_project(args: argparse.Namespace) -> Project:
    """Find the project of the working directory and read its settings."""
    folder = find_project()
    settings = read_settings(folder)
    environment = Environment((*settings.allow_env, *getattr(args, "allow_env", ())), folder=folder)
    return Project(
        folder=folder,
        settings=settings,
        environment=environment,
        allow=(*settings.allow, *getattr(args, "allow", ())),
        store=choose_store(getattr(args, "store", None), environment, settings, folder),
    )
