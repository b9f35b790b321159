"""Setting the world for one trial, looking at it, and putting it back."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from viva.core.data import content_hash
from viva.core.errors import StageError, SuiteError, VivaError
from viva.core.evidence import Observation
from viva.core.ref import Ref
from viva.core.stage import StagePlan
from viva.core.trial import Trial
from viva.ports.kit import Kit
from viva.ports.stage import OpenSession
from viva.ports.subject import Opening
from viva.registry import Registry, read_settings
from viva.stage import settle, snapshot
from viva.stage.database import Database, DatabaseSettings
from viva.stage.ground import Ground, Undo
from viva.stage.look import look
from viva.wire.client import Wire


class TrialStage:
    """Connections shared by all trials of a run; one trial at a time on a graph or database that is put back."""

    def __init__(self, registry: Registry, kit: Kit) -> None:
        self._registry = registry
        self._kit = kit
        self._wire = Wire()
        self._graphs: dict[str, Any] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._owed: dict[str, Undo] = {}
        """The ways back that have not been gone to their end: the next trial there, or the end of the run, does it."""

    async def prepare(
        self, trial: Trial, opening: Opening, open_session: OpenSession, begin: Callable[[], None] = lambda: None
    ) -> PreparedStage:
        """Set the stage, undoing what was done when it fails half-way; `begin` is called when it is our turn."""
        plan = trial.case.stage
        ground = Ground(
            trial=trial,
            opening=opening,
            open_session=open_session,
            wire=self._wire,
            graph_or_none=self.graph(plan.graph) if plan.graph else None,
            database_or_none=self._database(plan.database) if plan.database else None,
        )
        prepared = PreparedStage(ground, self._kit)
        try:
            await self._keep_for_undo(plan, ground)
            begin()
            await self._set(plan, ground)
        except BaseException:
            await prepared.undo()
            raise
        return prepared

    async def check(self, plan: StagePlan) -> None:
        """Look whether everything the stage needs is there and answers, before anything is spent."""
        for ref in plan.setups:
            self._registry.build("setups", ref.name, ref.settings, self._kit, ref.where)
        for ref in plan.seeds:
            self._registry.build("seeds", ref.name, ref.settings, self._kit, ref.where)
        if plan.settle is not None and plan.settle.probe is not None:
            settle.Probe(plan.settle.probe)
        if plan.database is not None:
            self._database(plan.database)
        if plan.graph is not None:
            await _named(self.graph(plan.graph).read("RETURN 1 AS one"), "the stage's graph", plan.graph.where)

    def graph(self, ref: Ref) -> Any:
        """The graph a suite names, connected once per run."""
        key = content_hash([ref.name, ref.settings])
        if key not in self._graphs:
            self._graphs[key] = self._registry.build("graphs", ref.name, ref.settings, self._kit, ref.where)
        return self._graphs[key]

    async def close(self) -> None:
        """Put back what is still owed, and release connections shared by all trials."""
        for what in list(self._owed):
            with contextlib.suppress(StageError):  # Said already, by the trial that could not.
                await self._go_back(what)
        for graph in self._graphs.values():
            await graph.close()
        self._graphs.clear()
        await self._wire.close()

    def _database(self, ref: Ref) -> Database:
        if ref.name != "sqlite":
            raise SuiteError(f"no database called {ref.name!r}", hint="known: sqlite", where=ref.where)
        settings = read_settings(DatabaseSettings, ref.settings, "sqlite", ref.where)
        assert isinstance(settings, DatabaseSettings)
        return Database(self._kit.file(settings.file))

    async def _keep_for_undo(self, plan: StagePlan, ground: Ground) -> None:
        """Take pictures of what a trial may change, and keep others out until they are put back."""
        if not plan.undo:
            return
        graph = ground.graph_or_none
        if graph is not None and getattr(graph, "restores", False):

            async def graph_picture() -> Undo:
                before = await snapshot.take(graph)  # type: ignore[arg-type]
                return lambda: snapshot.restore(graph, before)  # type: ignore[arg-type]

            await self._borrow(f"graph {graph.endpoint}", ground, graph_picture)  # type: ignore[attr-defined]
        database = ground.database_or_none
        if database is not None:

            async def database_picture() -> Undo:
                before = await database.picture()
                return lambda: database.restore(before)

            await self._borrow(f"sqlite {database.path}", ground, database_picture)

    async def _borrow(self, what: str, ground: Ground, picture: Callable[[], Awaitable[Undo]]) -> None:
        """Keep others out, picture it as it should be, and owe the way back."""
        lock = self._locks.setdefault(what, asyncio.Lock())
        await lock.acquire()

        async def leave() -> None:
            lock.release()

        ground.undos.append(leave)
        await self._go_back(what)
        self._owed[what] = await picture()
        ground.undos.append(lambda: self._go_back(what))

    async def _go_back(self, what: str) -> None:
        way_back = self._owed.get(what)
        if way_back is not None:
            await way_back()
            self._owed.pop(what, None)

    async def _set(self, plan: StagePlan, ground: Ground) -> None:
        for number, ref in enumerate(plan.setups, start=1):
            setup = self._registry.build("setups", ref.name, ref.settings, self._kit, ref.where)
            await _named(setup.apply(ground), f"setup {number} ({ref.name})", ref.where)
        for number, ref in enumerate(plan.seeds, start=1):
            seed = self._registry.build("seeds", ref.name, ref.settings, self._kit, ref.where)
            ground.notes.append(await _named(seed.plant(ground), f"seed {number} ({ref.name})", ref.where))
            if number == 1 and plan.settle is not None and plan.settle.fail_fast and len(plan.seeds) > 1:
                await settle.until_settled(plan.settle, ground, self._kit, "after the first seed")
        if plan.seeds and plan.settle is not None:
            await settle.until_settled(plan.settle, ground, self._kit, "after all seeds")


class PreparedStage:
    """A stage that has been set for one trial."""

    def __init__(self, ground: Ground, kit: Kit) -> None:
        self._ground = ground
        self._kit = kit

    @property
    def notes(self) -> dict[str, Any]:
        """What the seeds left to remember."""
        return {"seeds": list(self._ground.notes)} if self._ground.notes else {}

    async def observe(self, observation: Observation) -> Any:
        """Look at something that is not the agent itself."""
        return await look(self._ground, self._kit, observation)

    async def undo(self) -> None:
        """Put the world back, last thing first; one failing step does not keep the others from running."""
        problems: list[str] = []
        cut: asyncio.CancelledError | None = None
        while self._ground.undos:
            step = self._ground.undos.pop()
            try:
                await step()
            except asyncio.CancelledError as error:
                cut = error  # The last step lets the next trial in: it must not be lost with this one.
            except Exception as error:
                problems.append(str(error))
        if cut is not None:
            raise cut
        if problems:
            raise StageError(f"putting the stage back failed: {'; '.join(problems)}", kind="undo_failed")


async def _named(doing: Any, what: str, where: str) -> Any:
    try:
        return await doing
    except VivaError as error:
        raise StageError(f"{what}: {error}", kind=error.kind, where=where) from error
