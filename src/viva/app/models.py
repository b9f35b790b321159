"""A model by its name, for programs that want one outside a run: an agent, a notebook."""

from __future__ import annotations

from pathlib import Path

from viva.app.kit import RunKit
from viva.app.project import open_project
from viva.core.suite import Roles
from viva.ports.model import Model


def open_model(name: str, *, folder: str | Path | None = None) -> Model:
    """Open a model (`scripted:FILE`, `local/…`, `openai/…`); files it names lie below the folder."""
    project = open_project((), (), None)
    below = Path(folder).resolve() if folder is not None else Path.cwd()
    return RunKit(project.registry, project.environment, folder=below, roles=Roles()).model(name)
