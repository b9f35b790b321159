"""Many trials at once: bounded, claimed, kept as they finish, and stoppable."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator
from itertools import islice
from typing import Any, TypeVar

from viva.core.clock import Clock
from viva.core.data import replace
from viva.core.errors import StoreError, VivaError
from viva.core.evidence import Ending, Evidence
from viva.core.faultpoint import fault
from viva.core.run import Run, RunStatus
from viva.core.score import AnyScore, TrialResult
from viva.core.trial import Trial
from viva.engine.course import Course, Owed, Settings
from viva.engine.early import EarlyStop
from viva.engine.events import Announcer, TrialFinished, TrialStarted, Warned
from viva.engine.execute import Scene, Surroundings, broken_evidence
from viva.engine.gate import Gate
from viva.engine.keep import Keeper
from viva.engine.limits import RunMeter
from viva.engine.parts import Parts
from viva.engine.score import failed_result, is_postponed, score_evidence
from viva.engine.stop import Stopper
from viva.ports.store import Store

_Item = TypeVar("_Item")
_Work = Coroutine[Any, Any, None]

CLAIM_BATCH = 64
NOW_S = 0.5
"""How long "stop now" waits for what is being written."""


class Schedule:
    """Executes what a run owes. Results leave memory when they are committed."""

    def __init__(
        self,
        run: Run,
        owed: Owed,
        parts: Parts,
        store: Store,
        clock: Clock,
        *,
        settings: Settings,
        stopper: Stopper,
        announcer: Announcer,
        meter: RunMeter,
    ) -> None:
        self._run = run
        self._owed = owed
        self._parts = parts
        self._store = store
        self._keeper = Keeper(store, run.id)
        self._clock = clock
        self._settings = settings
        self._stopper = stopper
        self._announcer = announcer
        self._meter = meter
        self._gates: dict[str, Gate] = {}
        self._around = Surroundings(parts, clock, announcer, meter)
        self._early = EarlyStop(owed.count)
        self._held_back: list[Evidence] = []
        # Trials waiting for a slot, talking, being written or scored: the only trials in memory.
        self._room = 2 * settings.concurrency + 32
        self._change: asyncio.Future[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._scenes: set[Scene] = set()
        self._halted = asyncio.Event()
        self._is_full = False
        self._course = Course()
        self._done = 0

    async def execute(self) -> Course:
        """Run until nothing is owed, or until something says stop; what is committed by then is kept."""
        self._stopper.on_ask(self._on_ask)
        if self._stopper.asked:  # Before there was a run to stop.
            self._on_ask()
        loop = asyncio.get_running_loop()
        seconds = self._settings.seconds
        timer = None if seconds is None else loop.call_later(seconds, self._on_time_up, seconds)
        beating = asyncio.create_task(self._beat())
        try:
            await self._feed()
            await self._drain()
        finally:
            beating.cancel()
            if timer is not None:
                timer.cancel()
        if self._is_full:
            self._halt("interrupted", f"budget: {self._meter.exhausted}")
        await self._close_books()
        return self._course

    # Feeding: from the plan to tasks, never more at once than there is room.

    async def _feed(self) -> None:
        try:
            await self._feed_unscored(self._owed.unscored)
            refused = await self._feed_trials(self._owed.trials())
            while refused and not self._is_full and not self._halted.is_set():
                refused = await self._take_over(refused)
        except StoreError as error:
            self._on_store_error(error)

    async def _feed_unscored(self, keys: Iterable[str]) -> None:
        async for key in self._claimed(iter(keys), lambda key: key, set()):
            if not await self._spawn(self._score_stored(key), key):
                return

    async def _feed_trials(self, trials: Iterator[Trial]) -> set[str]:
        refused: set[str] = set()
        async for trial in self._claimed(trials, lambda trial: trial.key, refused):
            if not self._meter.start_trial():
                self._is_full = True  # What was begun may finish: it is within the ceiling.
                break
            if not await self._spawn(self._do(trial), trial.key):
                break
        return refused

    async def _claimed(
        self, items: Iterator[_Item], key_of: Callable[[_Item], str], refused: set[str]
    ) -> AsyncIterator[_Item]:
        while batch := list(islice(items, CLAIM_BATCH)):
            if self._halted.is_set():
                return
            keys = [key_of(item) for item in batch]
            got = set(await self._store.claim(self._run.id, keys, self._settings.owner, self._settings.lease_s))
            refused.update(key for key in keys if key not in got)
            for key, item in zip(keys, batch, strict=True):
                if key in got:
                    yield item

    async def _take_over(self, refused: set[str]) -> set[str]:
        """Another process has these trials: wait until they are finished, or until it is gone and they are ours."""
        await self._pause(min(1.0, self._settings.lease_s / 4))
        refused = refused - await self._store.result_keys(self._run.id)
        held = await self._store.evidence_keys(self._run.id)
        await self._feed_unscored([key for key in sorted(refused) if key in held])
        missing = refused - held
        if missing:
            await self._feed_trials(trial for trial in self._owed.trials() if trial.key in missing)
        if not self._halted.is_set() and self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)
        return refused - await self._store.result_keys(self._run.id)

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._halted.wait(), seconds)
        except TimeoutError:
            return

    async def _spawn(self, work: _Work, key: str) -> bool:
        while self._room <= 0 and not self._halted.is_set():
            await self._next_change()
        if self._halted.is_set():
            work.close()
            return False
        self._room -= 1
        task = asyncio.create_task(work, name=key)
        self._tasks.add(task)
        task.add_done_callback(self._on_done)
        return True

    async def _next_change(self) -> None:
        """Wait until a trial leaves memory or the run is halted."""
        self._change = asyncio.get_running_loop().create_future()
        await self._change

    def _changed(self) -> None:
        if self._change is not None and not self._change.done():
            self._change.set_result(None)

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._room += 1
        self._changed()
        if not task.cancelled() and (error := task.exception()) is not None:
            self._announcer.tell(Warned(f"trial {task.get_name()}: {type(error).__name__}: {error}"))

    # One trial, from its slot to the store.

    async def _do(self, trial: Trial) -> None:
        kept = await self._talk_and_keep(trial)
        if kept is not None:
            await self._score_kept(kept)

    async def _talk_and_keep(self, trial: Trial) -> Evidence | None:
        """Hold the conversation in one of the endpoint's slots; None when there is nothing to score."""
        try:
            gate = self._gate(self._parts.subject(trial).endpoint)
        except (asyncio.CancelledError, GeneratorExit):
            raise
        except BaseException as error:
            return await self._keep(broken_evidence(trial, error))
        # The slot is given back when the evidence is safe, not before: a kill can cost no more conversations than
        # there are slots. Scoring needs no slot.
        scene = await gate.enter(lambda: self._start(trial, gate))
        try:
            if scene is None:
                return None
            evidence = await scene.evidence()
            self._scenes.discard(scene)
            weighed = self._weigh(scene, evidence)
            return None if weighed is None else await self._keep(weighed)
        finally:
            gate.leave()

    def _start(self, trial: Trial, gate: Gate) -> Scene | None:
        if self._halted.is_set():
            return None
        scene = Scene(trial, self._around, gate)
        self._scenes.add(scene)
        if self._announcer.heard:
            self._announcer.tell(TrialStarted(scene.key))
        scene.start()
        return scene

    def _weigh(self, scene: Scene, evidence: Evidence) -> Evidence | None:
        """Decide whether evidence is kept, held back until we know more, or dropped."""
        if scene.abandoned:
            self._course.abandoned.append(scene.key)
            self._announcer.tell(Warned(f"trial {scene.key} was abandoned: {evidence.ending.because}"))
        if scene.cut:
            if scene.cut == "budget":
                self._halt("interrupted", f"budget: {self._meter.exhausted or scene.error}")
            return None
        if evidence.ending.ok:
            self._early.success()
        elif self._early.is_suspect(scene.error):
            self._held_back.append(evidence)
            if why := self._early.failure(scene.error):
                self._halt("aborted", why)
            if self._early.is_over:
                self._let_back_go()
            return None
        else:
            self._early.failure(scene.error)
        self._let_back_go()
        return evidence

    def _let_back_go(self) -> None:
        if self._held_back and not self._halted.is_set():
            held, self._held_back = self._held_back, []
            for evidence in held:
                task = asyncio.create_task(self._keep_and_score(evidence), name=evidence.trial)
                self._room -= 1
                self._tasks.add(task)
                task.add_done_callback(self._on_done)

    async def _keep_and_score(self, evidence: Evidence) -> None:
        kept = await self._keep(evidence)
        if kept is not None:
            await self._score_kept(kept)

    async def _keep(self, evidence: Evidence) -> Evidence | None:
        """Commit evidence; None when that failed."""
        try:
            return await self._keeper.keep(evidence)
        except StoreError as error:
            self._on_store_error(error)
            return None

    async def _score_stored(self, key: str) -> None:
        try:
            evidence = await self._store.evidence(self._run.id, key)
        except StoreError as error:
            self._on_store_error(error)
            return
        await self._score_kept(evidence)

    async def _score_kept(self, evidence: Evidence) -> None:
        try:
            await self._score(evidence)
        except StoreError as error:
            self._on_store_error(error)

    async def _score(self, evidence: Evidence) -> None:
        result, scores = await self._judge(evidence)
        if is_postponed(scores):
            self._halt("interrupted", f"budget: {self._meter.exhausted or 'a ceiling was reached while scoring'}")
            return
        if self._course.status == "aborted" and any(score.outcome == "error" for score in scores):
            return  # What stopped the run also spoiled these scores: they are owed again.
        fault("engine.scored")
        if await self._keeper.keep_result(result, scores):
            self._done += 1
            if self._announcer.heard:
                self._announcer.tell(TrialFinished(result))

    async def _judge(self, evidence: Evidence) -> tuple[TrialResult, list[AnyScore]]:
        try:
            scoring = self._parts.scoring(evidence.case)
        except VivaError as error:
            ending = Ending(kind=error.kind, ok=False, by="harness", because=str(error))
            return failed_result(replace(evidence, ending=ending), ""), []
        return await score_evidence(evidence, scoring, self._clock)

    def _gate(self, endpoint: str) -> Gate:
        gate = self._gates.get(endpoint)
        if gate is None:
            gate = self._gates[endpoint] = Gate(self._settings.concurrency, self._clock)
        return gate

    # Stopping.

    def abort(self, why: str) -> None:
        """Stop because no further call can succeed (a model's key is wrong, its quota is used up)."""
        self._halt("aborted", why)

    def _halt(self, status: RunStatus, reason: str) -> None:
        if not self._halted.is_set():
            self._course.status, self._course.reason = status, reason
            self._halted.set()
            self._changed()

    def _on_ask(self) -> None:
        self._halt("interrupted", "stopped by the user")
        if self._stopper.asked > 1:
            self._cut("stopped")

    def _on_time_up(self, seconds: float) -> None:
        self._meter.exhausted = f"{seconds:g} seconds"
        self._halt("interrupted", f"budget: {seconds:g} seconds")
        self._cut("budget")

    def _on_store_error(self, error: StoreError) -> None:
        self._course.store_error = self._course.store_error or error
        self._halt("aborted", f"the store failed: {error}")

    def _cut(self, why: str) -> None:
        for scene in list(self._scenes):
            scene.stop(why)

    async def _drain(self) -> None:
        """Wait for what is in flight: without end while all is well, for the grace once the run was halted."""
        while not self._halted.is_set():
            if self._tasks:
                await self._next_change()
            elif self._held_back:  # All failed, but not all alike: these are results like any other.
                self._let_back_go()
            else:
                return
        if self._tasks:
            await self._drain_with_grace()

    async def _drain_with_grace(self) -> None:
        ends_at = self._clock.monotonic() + self._settings.grace_s
        while self._tasks and self._stopper.asked < 2 and (left := ends_at - self._clock.monotonic()) > 0:
            await asyncio.wait(self._tasks, timeout=min(left, 0.1))
        if not self._tasks:
            return
        self._cut("stopped")
        patience = NOW_S if self._stopper.asked > 1 else 2 * self._around.patience_s + 1.0
        await asyncio.wait(self._tasks, timeout=patience)
        for scene in self._scenes:  # They did not even notice; the loop goes on without them.
            self._course.abandoned.append(scene.key)
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=NOW_S)

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(self._settings.lease_s / 4)
            try:
                await self._store.heartbeat(self._run.id, self._settings.owner, self._settings.lease_s)
            except StoreError as error:
                self._on_store_error(error)
                return

    async def _close_books(self) -> None:
        course = self._course
        course.finished = self._done
        course.not_run = max(0, self._owed.count + len(self._owed.unscored) - self._done)
        try:
            await self._store.release(self._run.id, self._settings.owner)
            tally = await self._store.tally(self._run.id)
            course.not_run = max(0, self._run.planned - tally.results)
            self._settle_status()
            await self._store.finish_run(self._run.id, course.status, course.reason)
        except StoreError as error:
            course.store_error = course.store_error or error

    def _settle_status(self) -> None:
        """What the store holds decides: a run that lacks nothing is finished, also when it was asked to stop."""
        course = self._course
        if course.status == "interrupted" and not course.not_run:
            course.status, course.reason = "finished", ""
        elif course.status == "finished" and course.not_run:
            course.status, course.reason = "interrupted", f"{course.not_run} trials have no result"
