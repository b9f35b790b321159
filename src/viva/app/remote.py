"""A trial executed from its serialised form alone: how other processes and machines take part in a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from viva.app.kit import RunKit
from viva.app.project import open_project
from viva.app.workshop import Workshop
from viva.core.data import from_json, to_json
from viva.core.trial import Trial
from viva.engine.execute import Scene, Surroundings
from viva.engine.gate import Gate


async def execute_trial(trial_json: bytes, *, allow: Iterable[str] = (), allow_env: Iterable[str] = ()) -> bytes:
    """Execute one trial and return its evidence, both as JSON; nothing is stored. Raises SuiteError or SetupError."""
    trial = from_json(trial_json, Trial)
    project = open_project(allow, allow_env, None)
    folder = Path(trial.folder) if trial.folder else None
    kit = RunKit(project.registry, project.environment, folder=folder, roles=trial.roles)
    workshop = Workshop(project.registry, kit)
    try:
        scene = Scene(trial, Surroundings(workshop, kit.clock), Gate(1, kit.clock))
        return to_json(await scene.run())
    finally:
        await workshop.close()
        await kit.close()
