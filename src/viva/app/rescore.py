"""Scoring stored evidence again, without touching the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping

from viva.app.conduct import Desk, make_kit
from viva.app.examine import at_desk
from viva.app.intent import Intent, merge_limits, read_intent
from viva.app.spec import RunSpec
from viva.app.view import RunView
from viva.app.workshop import Workshop
from viva.core.case import Case
from viva.core.clock import SystemClock
from viva.core.data import replace
from viva.core.errors import SuiteError
from viva.core.evidence import Evidence
from viva.core.run import Run
from viva.engine.course import Course
from viva.engine.events import RunFinished, RunStarted, TrialFinished
from viva.engine.limits import RunMeter
from viva.engine.score import is_postponed, score_evidence


async def rescore(run_id: str, spec: RunSpec | None = None, scoring: str = "") -> RunView:
    """Score a run's evidence once more, under a name of its own; a name that exists is completed.

    With a suite in the spec, its present scorers are used for the cases it still has; else those the run had.
    """
    async with at_desk(spec or RunSpec(suite="")) as desk:
        run = await desk.store.run(run_id)
        now = SystemClock().now()
        intent = read_intent(desk.spec, desk.project, now) if str(desk.spec.suite) else None
        return await _Rescoring(desk, run, scoring or f"{now:%Y%m%d-%H%M%S}", intent).do()


class _Rescoring:
    """One pass over a run's evidence."""

    def __init__(self, desk: Desk, run: Run, name: str, intent: Intent | None) -> None:
        self._spec = desk.spec
        self._store = desk.store
        self._run = run
        self._name = name
        self._cases: Mapping[str, Case] | None = None if intent is None else {case.id: case for case in intent.cases}
        self._announcer = desk.announcer
        as_now = run if intent is None else replace(run, roles=intent.run.roles, tags=intent.run.tags)
        templates = self._run.templates if intent is None else intent.templates
        meter = RunMeter(merge_limits(desk.spec.limits, run.limits))
        self._kit = make_kit(desk, as_now, templates, meter, self._halt)
        self._workshop = Workshop(desk.project.registry, self._kit)
        self._course = Course()
        self._halted = ""

    async def do(self) -> RunView:
        """Score what this scoring does not hold yet."""
        self._spec.stopper.on_ask(lambda: self._halt("stopped by the user"))
        done = await self._store.result_keys(self._run.id, self._name)
        owed = (await self._store.tally(self._run.id)).evidence - len(done)
        self._announcer.tell(RunStarted(self._run, 0, owed, resumed=True))
        try:
            await self._score_all(done)
        finally:
            await self._workshop.close()
            await self._kit.close()
        course = self._course
        course.not_run = owed - course.finished
        if self._halted:
            course.status, course.reason = "interrupted", self._halted
        self._announcer.tell(RunFinished(self._run.id, course.status, course.reason, course.finished, course.not_run))
        signal = self._spec.stopper.by
        return RunView(self._run, self._store.path, course, scoring=self._name, resumed=True, signal=signal)

    async def _score_all(self, done: set[str]) -> None:
        room = asyncio.Semaphore(2 * self._run.concurrency)
        async with asyncio.TaskGroup() as group:
            async for evidence in self._evidence(done):
                await room.acquire()
                if self._halted:
                    break
                group.create_task(self._score(evidence)).add_done_callback(lambda _: room.release())

    async def _evidence(self, done: set[str]) -> AsyncIterator[Evidence]:
        async for evidence in self._store.all_evidence(self._run.id):
            if evidence.trial in done:
                continue
            if self._cases is None:
                yield evidence
            elif evidence.case.id in self._cases:
                yield replace(evidence, case=self._cases[evidence.case.id])
            else:
                hint = "score the run with the suite it was run with, or without one"
                raise SuiteError(f"the suite has no case {evidence.case.id!r} any more", kind="changed", hint=hint)

    async def _score(self, evidence: Evidence) -> None:
        scoring = self._workshop.scoring(evidence.case)
        result, scores = await score_evidence(evidence, scoring, self._kit.clock)
        if is_postponed(scores):
            self._halt("budget")
        if self._halted and any(score.outcome == "error" for score in scores):
            return
        if await self._store.add_result(self._run.id, result, scores, self._name):
            self._course.finished += 1
            self._announcer.tell(TrialFinished(result))

    def _halt(self, why: str) -> None:
        self._halted = self._halted or why
