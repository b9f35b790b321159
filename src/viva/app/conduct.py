"""Carrying a run out: what is owed, and with which services."""

from __future__ import annotations

import gc
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from viva.app.kit import LazyCache, RunKit
from viva.app.project import Project
from viva.app.spec import RunSpec
from viva.app.view import RunView
from viva.app.workshop import Workshop
from viva.core.case import Case
from viva.core.run import Run
from viva.core.stage import StagePlan
from viva.core.usage import NO_USAGE, Usage
from viva.engine.course import Course, Owed, Settings
from viva.engine.events import Announcer, RunFinished, RunStarted, Warned
from viva.engine.limits import RunMeter
from viva.engine.plan import plan, trial_keys
from viva.engine.schedule import Schedule
from viva.store.sqlite import SqliteStore

TRIED_FIRST = 1000
NEW_OBJECTS = 10_000
"""How many objects may be made before the garbage collector looks at them."""


@dataclass(frozen=True, slots=True)
class Desk:
    """What the caller wants, where, and into which store."""

    spec: RunSpec
    project: Project
    store: SqliteStore
    announcer: Announcer


@dataclass(frozen=True, slots=True)
class Work:
    """One run to be executed, with what it is executed with."""

    run: Run
    cases: tuple[Case, ...]
    templates: Mapping[str, str]
    own_subject: Any
    is_new: bool


async def conduct(desk: Desk, work: Work) -> RunView:
    """Execute what a run owes, and say how it went. Raises SuiteError, SetupError or StoreError."""
    run, store = work.run, desk.store
    held, scored = await _held(store, work)
    meter = RunMeter(run.limits, await _spent(store, work), trials=len(held))
    fatal = _Fatal()
    kit = make_kit(desk, run, work.templates, meter, fatal)
    workshop = Workshop(desk.project.registry, kit, work.own_subject)
    try:
        owed = Owed(
            count=run.planned - len(held),
            trials=lambda: plan(run, work.cases, held),
            unscored=[key for key in trial_keys(work.cases) if key in held and key not in scored] if held else (),
        )
        await _try_parts(workshop, owed)
        await _enter(desk, work, owed)
        schedule = Schedule(
            run,
            owed,
            workshop,
            store,
            kit.clock,
            settings=_settings(desk.spec, run),
            stopper=desk.spec.stopper,
            announcer=desk.announcer,
            meter=meter,
        )
        fatal.stop = schedule.abort
        with _seldom_searched():
            course = await schedule.execute()
    finally:
        await workshop.close()
        await kit.close()
    return await _report(desk, work, course)


@contextmanager
def _seldom_searched() -> Iterator[None]:
    """Let the garbage collector search less: trials leave few cycles, and the cases live as long as the run does."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(max(before[0], NEW_OBJECTS) if before[0] else 0, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


class _Fatal:
    """Stops the run when a model can no longer be used; models are built before there is a run to stop."""

    def __init__(self) -> None:
        self.stop: Callable[[str], None] | None = None

    def __call__(self, why: str) -> None:
        if self.stop is not None:
            self.stop(why)


async def _held(store: SqliteStore, work: Work) -> tuple[set[str], set[str]]:
    if work.is_new:
        return set(), set()
    return await store.evidence_keys(work.run.id), await store.result_keys(work.run.id)


async def _spent(store: SqliteStore, work: Work) -> Usage:
    """What a resumed run has spent already counts against its ceilings."""
    limits, spent = work.run.limits, NO_USAGE
    if work.is_new or (limits.tokens is None and limits.cost_usd is None):
        return spent
    async for result, _ in store.all_results(work.run.id):
        spent = sum(result.usage.values(), spent)
    return spent


async def _try_parts(workshop: Workshop, owed: Owed) -> None:
    """Build the parts of the first trials now: what is wrong with them is wrong before anything is spent."""
    looked_at: list[StagePlan] = []
    for trial in islice(owed.trials(), TRIED_FIRST):
        workshop.subject(trial)
        workshop.driver(trial)
        workshop.scoring(trial.case)
        plan = trial.case.stage
        stage = workshop.stage(trial) if plan not in looked_at[-8:] else None
        if stage is not None:
            looked_at.append(plan)
            await stage.check(plan)


async def _enter(desk: Desk, work: Work, owed: Owed) -> None:
    if work.is_new:
        await desk.store.create_run(work.run, work.cases)
    else:
        await desk.store.finish_run(work.run.id, "running")
    desk.announcer.tell(RunStarted(work.run, owed.count, len(owed.unscored), not work.is_new))


def make_kit(
    desk: Desk, run: Run, templates: Mapping[str, str], meter: RunMeter | None, on_fatal: Callable[[str], None]
) -> RunKit:
    """The services of one run."""
    return RunKit(
        desk.project.registry,
        desk.project.environment,
        folder=Path(run.folder) if run.folder else None,
        roles=run.roles,
        trusted_roles=frozenset(run.tags.get("trusted_roles", "").split()),
        templates=templates,
        cache=LazyCache(desk.project.cache) if desk.spec.cache else None,
        meter=meter,
        warn=lambda text: desk.announcer.tell(Warned(text)),
        on_fatal=on_fatal,
        store=desk.store,
    )


def _settings(spec: RunSpec, run: Run) -> Settings:
    owner = f"{socket.gethostname()}:{os.getpid()}:{os.urandom(3).hex()}"
    return Settings(
        concurrency=run.concurrency,
        grace_s=spec.grace_s,
        lease_s=spec.lease_s,
        seconds=run.limits.seconds,
        owner=owner,
    )


async def _report(desk: Desk, work: Work, course: Course) -> RunView:
    if course.store_error is not None:
        raise course.store_error
    run = await desk.store.run(work.run.id)
    abandoned = tuple(course.abandoned)
    desk.announcer.tell(RunFinished(run.id, run.status, run.reason, course.finished, course.not_run, abandoned))
    signal = 0 if course.status == "finished" else desk.spec.stopper.by
    return RunView(run, desk.store.path, course, resumed=not work.is_new, signal=signal)
