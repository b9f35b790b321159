"""A small world for the engine: a real store, built parts without a registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from viva.core.case import Case
from viva.core.clock import SystemClock
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.limits import RunLimits
from viva.core.ref import Ref
from viva.core.run import Run
from viva.core.score import AnyScore, Combined, Score, ScoreError
from viva.core.trial import Trial
from viva.core.usage import NO_USAGE
from viva.engine.course import Course, Owed, Settings
from viva.engine.events import Announcer, Notice
from viva.engine.execute import Scene, Surroundings
from viva.engine.gate import Gate
from viva.engine.limits import RunMeter
from viva.engine.parts import Scoring
from viva.engine.plan import count_trials, plan
from viva.engine.schedule import Schedule
from viva.engine.stop import Stopper
from viva.ports.driver import Conversation, Stop
from viva.ports.scorer import FormulaFacts
from viva.ports.store import Store
from viva.store.sqlite import SqliteStore


class Ask:
    """Sends the case's input so many times."""

    name = "ask"
    version = "1"

    def __init__(self, times: int = 1) -> None:
        self.times = times

    async def drive(self, conversation: Conversation) -> Stop:
        for _ in range(self.times):
            await conversation.say(str(conversation.case.input))
        return Stop(because="asked")


class Contains:
    """Passes when the last reply holds the expected text."""

    name = "contains"
    version = "1"
    label = "contains"
    hash = "h"

    def __init__(self, act: Callable[[Evidence], Any] | None = None, looks: tuple[Observation, ...] = ()) -> None:
        self.act = act
        self.looks = looks
        self.seen: list[str] = []

    def observations(self) -> tuple[Observation, ...]:
        return self.looks

    def settled(self, observation: Observation, seen: Observed) -> bool:
        return seen.value == "settled"

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        self.seen.append(evidence.trial)
        if self.act is not None:
            return self.act(evidence)
        found = str(evidence.case.expected) in (evidence.text or "")
        return [Score(name="contains", value=float(found), passed=found, reason="looked")]


class Mean:
    name = "mean"
    version = "1"

    def combine(self, scores: Sequence[AnyScore], facts: FormulaFacts) -> Combined:
        if errors := tuple(score.name for score in scores if isinstance(score, ScoreError)):
            return Combined(value=None, reason="a score is missing", missing=errors)
        values = [score.value for score in scores if isinstance(score, Score)]
        return Combined(value=sum(values) / len(values)) if values else Combined(value=None, reason="no scores")


class FixedParts:
    """The same parts for every trial."""

    def __init__(self, subject: Any, driver: Any = None, scorers: Sequence[Any] = (), stage: Any = None) -> None:
        self._subject = subject
        self._driver = driver or Ask()
        self._stage = stage
        self._scoring = Scoring(tuple(scorers) or (Contains(),), Mean())

    def subject(self, trial: Trial) -> Any:
        return self._subject

    def driver(self, trial: Trial) -> Any:
        return self._driver

    def stage(self, trial: Trial) -> Any:
        return self._stage

    def scoring(self, case: Case) -> Scoring:
        return self._scoring


def cases(count: int, **settings: Any) -> list[Case]:
    return [Case(id=f"case-{n:04}", input="hello", expected="ok", **settings) for n in range(count)]


def make_run(some: Sequence[Case], **settings: Any) -> Run:
    return Run(
        id="r1",
        suite="rig",
        suite_hash="0",
        planned=count_trials(some),
        subject=Ref(name="fake"),
        created_at="2026-01-01T00:00:00+00:00",
        **settings,
    )


async def play(parts: FixedParts, case: Case, *, meter: RunMeter | None = None, patience_s: float = 0.2) -> Evidence:
    """One trial to evidence, without a store."""
    return (await play_scene(parts, case, meter=meter, patience_s=patience_s))[1]


async def play_scene(
    parts: FixedParts, case: Case, *, meter: RunMeter | None = None, patience_s: float = 0.2, clock: Any = None
) -> tuple[Scene, Evidence]:
    clock = clock or SystemClock()
    trial = next(plan(make_run([case]), [case]))
    around = Surroundings(parts, clock, meter=meter, patience_s=patience_s, cleanup_s=1.0)
    scene = Scene(trial, around, Gate(1, clock))
    return scene, await scene.run()


class Rig:
    """One run in one store."""

    def __init__(self, store: Store, some: Sequence[Case], parts: FixedParts, limits: RunLimits | None = None) -> None:
        self.store = store
        self.cases = some
        self.parts = parts
        self.limits = limits or RunLimits()
        self.run = make_run(some)
        self.stopper = Stopper()
        self.notices: list[Notice] = []
        self.on_notice: Callable[[Notice], None] | None = None

    async def execute(self, *, create: bool = True, owner: str = "me", **settings: Any) -> Course:
        if create:
            await self.store.create_run(self.run, self.cases)
        held = await self.store.evidence_keys("r1")
        scored = await self.store.result_keys("r1")
        owed = Owed(self.run.planned - len(held), lambda: plan(self.run, self.cases, held), sorted(held - scored))
        meter = RunMeter(self.limits, NO_USAGE, trials=len(held))
        self.schedule = Schedule(
            self.run,
            owed,
            self.parts,
            self.store,
            SystemClock(),
            settings=Settings(owner=owner, seconds=self.limits.seconds, **settings),
            stopper=self.stopper,
            announcer=Announcer(self._hear),
            meter=meter,
        )
        return await self.schedule.execute()

    def _hear(self, notice: Notice) -> None:
        self.notices.append(notice)
        if self.on_notice is not None:
            self.on_notice(notice)

    async def results(self) -> dict[str, Any]:
        return {result.trial: result async for result, _ in self.store.all_results("r1")}


async def open_store(folder: Path) -> SqliteStore:
    return await SqliteStore.open(folder / "viva.db")
