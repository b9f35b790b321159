"""Starting a run, or going on with one: exactly what is missing is done."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace as changed
from pathlib import Path

from viva.app.conduct import Desk, Work, conduct
from viva.app.hashes import changed_parts, describe_change
from viva.app.intent import Intent, merge_limits, read_intent
from viva.app.project import open_project
from viva.app.spec import RunSpec
from viva.app.view import RunView
from viva.app.workshop import PYTHON
from viva.config.load import unchanged
from viva.config.settings import choose_roles
from viva.core.clock import SystemClock
from viva.core.data import replace
from viva.core.errors import SuiteError
from viva.core.run import Run
from viva.core.suite import Roles
from viva.engine.events import Announcer
from viva.engine.stop import signals_heard
from viva.store.sqlite import SqliteStore

ROLES = ("model", "user", "judge")


async def examine(spec: RunSpec) -> RunView:
    """Start a run, or finish the unfinished one of the same suite. Raises SuiteError, SetupError or StoreError."""
    async with at_desk(spec) as desk:
        finished = await _finished_before(desk)
        if finished is not None:
            return RunView(finished, desk.store.path, owed_nothing=True)
        intent = read_intent(spec, desk.project, SystemClock().now())
        known = None if spec.fresh else await _latest(desk.store, intent.run)
        return await (_begin(desk, intent) if known is None else _go_on(desk, intent, known))


async def resume(run_id: str, spec: RunSpec | None = None) -> RunView:
    """Finish what is missing of a stored run; its suite is read again from its file, and must not have changed.

    A suite built in Python has no file: put it, and its subject, into the spec.
    """
    async with at_desk(spec or RunSpec(suite="")) as desk:
        run = await desk.store.run(run_id)
        if await _is_complete(desk.store, run) and (not run.sources or unchanged(run.folder, run.sources)):
            return RunView(run, desk.store.path, owed_nothing=True)
        spec = _as_before(desk.spec, run)
        if not str(spec.suite):
            return await conduct(desk, await _from_store(desk, run))
        return await _go_on(desk, read_intent(spec, desk.project, SystemClock().now()), run, must_match=True)


@asynccontextmanager
async def at_desk(spec: RunSpec) -> AsyncIterator[Desk]:
    """Find the project and open its store for as long as it is needed; signals are heard until it is closed."""
    project = open_project(spec.allow, spec.allow_env, spec.store)
    with signals_heard(spec.stopper) if spec.hear_signals else nullcontext():
        store = await SqliteStore.open(project.store)
        try:
            yield Desk(spec, project, store, Announcer(spec.on_notice))
        finally:
            await store.close()


def _as_before(spec: RunSpec, run: Run) -> RunSpec:
    """Ask for the same suite, the same part of it, and the same models, as the run did."""
    filters, trusted = run.filters, run.tags.get("trusted_roles", "").split()
    named = {role: getattr(spec.roles, role) or getattr(run.roles, role) for role in trusted}
    file = Path(run.folder) / run.sources[0].path if run.sources else ""
    return changed(
        spec,
        suite=spec.suite if str(spec.suite) else file,
        match=filters.get("match", ""),
        tags=tuple(filters.get("tags", ())),
        limit=filters.get("limit"),
        repeats=filters.get("repeats"),
        settings=filters.get("settings", {}),
        concurrency=spec.concurrency or run.concurrency,
        limits=merge_limits(spec.limits, run.limits),
        roles=replace(spec.roles, **named),
    )


async def _finished_before(desk: Desk) -> Run | None:
    """The finished run of an unchanged suite file, found without reading the suite."""
    spec = desk.spec
    if spec.fresh or spec.subject is not None or not isinstance(spec.suite, str | Path):
        return None
    path = _full_path(spec.suite)
    for run in await desk.store.runs():
        is_same_file = run.folder == str(path.parent) and bool(run.sources) and run.sources[0].path == path.name
        if is_same_file and run.filters == spec.filters:
            complete = _is_same_cast(desk, run) and await _is_complete(desk.store, run)
            return run if complete and unchanged(run.folder, run.sources) else None
    return None


def _full_path(name: str | Path) -> Path:
    return Path(name).resolve()


def _is_same_cast(desk: Desk, run: Run) -> bool:
    chosen = choose_roles(desk.spec.roles, Roles(), desk.project.environment, desk.project.settings)
    return all(getattr(chosen, role) in (None, getattr(run.roles, role)) for role in ROLES)


async def _is_complete(store: SqliteStore, run: Run) -> bool:
    return run.status == "finished" and (await store.tally(run.id)).results >= run.planned


async def _latest(store: SqliteStore, wanted: Run) -> Run | None:
    """The newest run of the same suite, asked for in the same way."""
    for run in await store.runs(wanted.suite):
        if run.folder == wanted.folder and run.filters == wanted.filters:
            return run
    return None


async def _begin(desk: Desk, intent: Intent, forked_from: str = "") -> RunView:
    run = replace(intent.run, forked_from=forked_from)
    return await conduct(desk, Work(run, intent.cases, intent.templates, intent.own_subject, is_new=True))


async def _go_on(desk: Desk, intent: Intent, known: Run, *, must_match: bool = False) -> RunView:
    """Go on with a known run. One that is finished is left alone; an unfinished one must not have changed."""
    parts = changed_parts(known, intent.run.hashes)
    complete = await _is_complete(desk.store, known)
    # A run that came to nothing (a wrong address, say) holds nothing that could be mixed up with the mended suite.
    came_to_nothing = not must_match and (await desk.store.tally(known.id)).evidence == 0
    if parts and (desk.spec.fork or came_to_nothing or (complete and not must_match)):
        return await _begin(desk, intent, known.id if desk.spec.fork else "")
    if parts:
        raise await _changed(desk, intent, known, parts)
    if complete:
        return RunView(known, desk.store.path, owed_nothing=True)
    run = replace(known, limits=intent.run.limits, concurrency=intent.run.concurrency)
    return await conduct(desk, Work(run, intent.cases, intent.templates, intent.own_subject, is_new=False))


async def _changed(desk: Desk, intent: Intent, known: Run, parts: list[str]) -> SuiteError:
    what = describe_change(parts, await desk.store.cases(known.id), intent.cases)
    return SuiteError(
        f"the suite has changed since run {known.id} began: {what}",
        kind="changed",
        hint="put the old suite back to finish that run, or start a new one: --fork (from it) or --fresh",
    )


async def _from_store(desk: Desk, run: Run) -> Work:
    if run.subject is not None and run.subject.name.startswith(PYTHON) and desk.spec.subject is None:
        raise SuiteError(
            f"run {run.id} examined {run.subject.name.removeprefix(PYTHON)}, a Python object of its script",
            hint="resume it from Python: viva.run(suite, subject=…, fresh=False)",
        )
    limits = merge_limits(desk.spec.limits, run.limits)
    run = replace(run, limits=limits, concurrency=desk.spec.concurrency or run.concurrency)
    return Work(run, tuple(await desk.store.cases(run.id)), run.templates, desk.spec.subject, is_new=False)
