"""Building every part a run would build, without starting, asking or connecting to anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from viva.app.kit import ROLES, RunKit
from viva.app.project import Project
from viva.app.workshop import PYTHON, Workshop
from viva.core.case import Case
from viva.core.data import replace
from viva.core.errors import SetupError, VivaError
from viva.core.ref import Ref
from viva.core.run import Run
from viva.core.secret import Secret
from viva.core.stage import StagePlan
from viva.core.suite import Suite
from viva.engine.plan import plan
from viva.ports.model import Embedder, Model
from viva.stage.stage import TrialStage
from viva.subjects.http_call import check_url

Warn = Callable[[str], None]
NO_SUBJECT = Ref(name=f"{PYTHON}given to the run")


async def rehearse(suite: Suite, project: Project, warn: Warn) -> None:
    """Build what each kind of trial needs. Raises the error a run would end with before its first trial."""
    kit = RehearsalKit(suite, project, warn)
    workshop = Workshop(project.registry, kit, own_subject=lambda text: text)
    stage = TrialStage(project.registry, kit)
    run = Run(id="", suite=suite.name, suite_hash="", subject=suite.subject or NO_SUBJECT, roles=suite.roles)
    try:
        for trial in plan(run, _distinct(suite.cases)):
            workshop.subject(trial)
            workshop.driver(trial)
            workshop.scoring(trial.case)
            await _look_at_stage(trial.case, stage)
    finally:
        await workshop.close()
        await stage.close()
        await kit.close()
    _warn_of_silence(suite.cases, warn)


def _distinct(cases: Iterable[Case]) -> Iterator[Case]:
    """One case of each kind: what is built of the others is the same, and repeats change nothing."""
    seen: set[tuple[int, ...]] = set()
    for case in cases:
        parts = (case.variants, case.driver, case.checks, case.measures, case.judging, case.formula, case.stage)
        key = (bool(case.criteria), *map(id, parts))
        if key not in seen:
            seen.add(key)
            yield replace(case, repeats=1)


async def _look_at_stage(case: Case, stage: TrialStage) -> None:
    looked_at = case.stage
    _check_addresses(case, looked_at)
    await stage.check(replace(looked_at, graph=None, database=None))
    if looked_at.database is not None:
        with _at(looked_at.database.where):
            await stage.check(StagePlan(database=looked_at.database))
    if looked_at.graph is not None:
        stage.graph(looked_at.graph)  # Built, not asked whether it is there: that would connect to it.


@contextmanager
def _at(where: str) -> Iterator[None]:
    """Give an error its place where it has none."""
    try:
        yield
    except VivaError as error:
        error.where = error.where or where
        raise


def _check_addresses(case: Case, looked_at: StagePlan) -> None:
    probe = looked_at.settle.probe if looked_at.settle is not None else None
    for ref in (*looked_at.setups, *([probe] if probe is not None else [])):
        if ref.name == "http":
            _check_address(ref.settings, ref.where)
            _check_address(ref.settings.get("undo"), ref.where)
    for check in case.checks:
        if check.scorer == "probe":
            _check_address(check.settings, check.where)


def _check_address(settings: Any, where: str) -> None:
    if isinstance(settings, dict) and isinstance(settings.get("url"), str):
        with _at(where):
            check_url(settings["url"])


def _warn_of_silence(cases: tuple[Case, ...], warn: Warn) -> None:
    silent = [case for case in cases if not case.criteria and not case.measures and not _claims(case)]
    if silent:
        which = (
            "" if len(silent) == len(cases) else f" of {len(silent)} of {len(cases)} cases, such as {silent[0].id!r}"
        )
        place = f"{silent[0].where}: " if which and silent[0].where else ""
        warn(f"{place}nothing is asked of the evidence{which}; add checks, criteria or measures, or nothing is scored")


def _claims(case: Case) -> bool:
    """Whether something is claimed of the agent; the eye on a simulated user is about the user."""
    return any(check.scorer != "user" for check in case.checks)


class RehearsalKit(RunKit):
    """Resolves files and permissions as a run does; who is missing to play a part is no fault of the file."""

    def __init__(self, suite: Suite, project: Project, warn: Warn) -> None:
        super().__init__(
            project.registry,
            project.environment,
            folder=Path(suite.folder) if suite.folder else None,
            roles=suite.roles,
            trusted_roles=frozenset(),
            templates=suite.templates,
        )
        self._named = suite.roles
        self._mention = warn
        self._unset: set[str] = set()

    def secret(self, text: str) -> Secret:
        """A variable that was allowed; one that is not set is only mentioned."""
        try:
            return super().secret(text)
        except SetupError as error:
            if text not in self._unset:
                self._unset.add(text)
                self._mention(str(error))
            return Secret("not-set", text)

    def model(self, role: str) -> Model:
        """The model the suite names where it can be had here, else somebody who stands in."""
        if role in ROLES and getattr(self._named, role) is None:
            return Nobody()
        try:
            return super().model(role)
        except SetupError as error:
            if error.kind == "unknown_model":
                raise
            return Nobody()

    def embedder(self, name: str = "") -> Embedder:
        """The same for embedding models."""
        try:
            return super().embedder(name)
        except SetupError:
            return Nobody()


class Nobody:
    """Stands where a model would, and is never asked."""

    name = "nobody"

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a rehearsal asks no model for {name!r}")

    async def close(self) -> None:
        """Nothing was opened."""
