"""One trial to Evidence. Whatever goes wrong becomes the ending of this trial, and of no other."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from viva.core.clock import Clock
from viva.core.data import replace
from viva.core.errors import LimitError, SubjectError, VivaError
from viva.core.evidence import Ending, Evidence, Observed
from viva.core.faultpoint import fault
from viva.core.text import shorten, storable
from viva.core.timing import timing_of
from viva.core.transcript import Transcript
from viva.core.trial import Trial
from viva.engine.alarms import Alarm, Alarms
from viva.engine.conversation import BODY_SHOWN, SessionConversation
from viva.engine.events import Announcer
from viva.engine.gate import Gate
from viva.engine.leash import PATIENCE_S, Leash
from viva.engine.observe import Observer
from viva.engine.parts import Parts
from viva.ports.driver import Driver, Stop
from viva.ports.meter import Meter
from viva.ports.stage import Prepared
from viva.ports.subject import Opening, Session, Subject

CLEANUP_S = 10.0
ENDS = (asyncio.CancelledError, GeneratorExit)
"""How a coroutine learns that it is to end."""
BLAME = {
    "stage": ("stage_error", "harness"),
    "subject": ("subject_error", "agent"),
    "driver": ("driver_error", "driver"),
    "observing": ("stage_error", "harness"),
    "parts": ("harness_error", "harness"),
}
"""Whose failure an unexpected exception is, by what was being done."""
CANCELLED_FROM_WITHIN = Ending(
    kind="subject_error", ok=False, by="agent", because="the trial's own task was cancelled from within"
)
"""How a trial has ended as long as nothing else is known: never as an answer."""


@dataclass(slots=True)
class Surroundings:
    """What trials of one run share."""

    parts: Parts
    clock: Clock
    announcer: Announcer = field(default_factory=Announcer)
    meter: Meter | None = None
    patience_s: float = PATIENCE_S
    cleanup_s: float = CLEANUP_S
    alarms: Alarms = field(default_factory=Alarms)


class Scene:
    """One trial while it is played: prepare, open, talk, observe, close, undo."""

    def __init__(self, trial: Trial, around: Surroundings, gate: Gate) -> None:
        self.trial = trial
        self.key = trial.key
        self.error: BaseException | None = None
        """What ended the trial, where that was a failure."""
        self.cut = ""
        """Why the harness cut the trial off (stopped, budget): its evidence is no evidence, and is not kept."""
        self.abandoned = False
        self._around = around
        self._gate = gate
        self._leash = Leash(around.patience_s, around.alarms)
        self._doing = "parts"
        self._ending = CANCELLED_FROM_WITHIN
        self._is_tidy = False
        self._conversation: SessionConversation | None = None
        self._session: Session | None = None
        self._prepared: Prepared | None = None
        self._before: dict[str, Observed] = {}
        self._state: dict[str, Observed] = {}
        self._notes: dict[str, Any] = {}
        self._timer: Alarm | None = None
        self._ends_at: float | None = None
        self._began = around.clock.monotonic()
        self._started_at = around.clock.now().isoformat()

    def start(self) -> None:
        """Let the trial begin; `evidence` waits for its end."""
        self._leash.start(self._play())

    async def run(self) -> Evidence:
        """Play the trial from beginning to end."""
        self.start()
        return await self.evidence()

    async def evidence(self) -> Evidence:
        """What came of a trial that was started; never raises for anything the trial does."""
        if not await self._leash.ended():
            self._abandon()
        if not self._is_tidy:
            await self._tidy_from_outside()
        return self._evidence()

    def stop(self, why: str) -> None:
        """Cut the trial off from outside."""
        self.cut = self.cut or why
        self._leash.pull(why)

    async def _play(self) -> None:
        try:
            await self._perform()
        except BaseException as error:
            # Anything at all: an agent that calls sys.exit() ends its own trial, not the run.
            if isinstance(error, ENDS) and self._leash.is_torn_down():
                raise
            self._fail(error)
        finally:
            if self._timer is not None:
                self._timer.cancel()
        await self._tidy_up()
        self._leash.let_go()

    def _start_clock(self) -> None:
        """Let the trial's seconds run; those spent waiting for other trials to leave a shared stage are not its own."""
        seconds = self.trial.case.limits.seconds
        if seconds is not None and self._timer is None:
            self._timer = self._leash.after(seconds, "timed_out")
            self._ends_at = self._around.clock.monotonic() + seconds

    async def _perform(self) -> None:
        trial, parts, clock = self.trial, self._around.parts, self._around.clock
        subject, driver, stage = parts.subject(trial), parts.driver(trial), parts.stage(trial)
        looks = parts.scoring(trial.case).looks
        opening = opening_of(trial, self.key)
        if stage is not None:
            self._doing = "stage"
            self._prepared = await stage.prepare(trial, opening, subject.open, self._start_clock)
            self._notes |= self._prepared.notes
        self._start_clock()
        if looks:
            self._doing = "observing"
            self._before = await Observer(None, self._prepared, clock).before(looks)
        self._doing = "subject"
        self._session = session = await self._open(subject, opening)
        if looks:
            self._doing = "observing"
            self._before |= await Observer(session, self._prepared, clock).before(looks)
        self._doing = "driver"
        self._conversation = self._converse(session)
        await self._talk(driver, self._conversation)
        if looks and self._ending.ok:
            self._doing = "observing"
            self._state = await Observer(session, self._prepared, clock).after(looks)
        fault("engine.talked")

    async def _open(self, subject: Subject, opening: Opening) -> Session:
        """Begin a session, trying again where the subject says that this is sensible."""
        retry, failures = self.trial.case.retry, 0
        while True:
            try:
                return await subject.open(opening)
            except SubjectError as error:
                failures += 1
                if not error.retryable or failures >= retry.attempts:
                    raise
                await self._around.clock.sleep(max(retry.wait_s(failures), error.wait_s or 0.0))

    async def _talk(self, driver: Driver, conversation: SessionConversation) -> None:
        try:
            self._finish(await driver.drive(conversation))
        except LimitError as error:
            if error.kind != "turn_limit":
                raise
            # A conversation that went on until its last allowed turn is an answer: it is observed, scored and flagged.
            self._ending = self._ending_of_limit(error)

    def _converse(self, session: Session) -> SessionConversation:
        around = self._around
        return SessionConversation(
            self.trial,
            self.key,
            session,
            clock=around.clock,
            gate=self._gate,
            leash=self._leash,
            meter=around.meter,
            announcer=around.announcer,
            ends_at=self._ends_at,
        )

    def _finish(self, stop: Stop) -> None:
        broken = self._conversation.broken if self._conversation else None
        if broken is not None:  # The driver swallowed it; the conversation broke all the same.
            raise broken
        self._ending = Ending(kind=stop.kind, by=stop.by, because=storable(stop.because))
        self._notes |= stop.notes

    def _fail(self, error: BaseException) -> None:
        self.error = error
        kind, by = BLAME[self._doing]
        if isinstance(error, asyncio.CancelledError):
            self._ending = self._ending_of_pull(self._leash.came_back(), by)
        elif isinstance(error, LimitError):
            self._ending = self._ending_of_limit(error)
        elif isinstance(error, VivaError):
            self._ending = _ending_of_error(error, by)
        else:
            self._ending = Ending(kind=kind, ok=False, by=by, because=storable(f"{type(error).__name__}: {error}"))

    def _ending_of_pull(self, why: str, by: str) -> Ending:
        if why == "timed_out":
            seconds = self.trial.case.limits.seconds
            return Ending(kind=why, ok=False, by="limit", because=f"the trial's ceiling of {seconds:g} s was reached")
        if why:
            return Ending(kind=why, ok=False, by="user", because="the run was stopped")
        return Ending(kind=BLAME[self._doing][0], ok=False, by=by, because="it cancelled itself")

    def _ending_of_limit(self, error: LimitError) -> Ending:
        if error.kind == "budget":
            self.cut = "budget"
        is_answer = error.kind == "turn_limit"
        return Ending(kind=error.kind, ok=is_answer, by="limit", because=str(error))

    async def _tidy_up(self) -> None:
        timer = self._leash.after(self._around.cleanup_s, "cleanup")
        try:
            for what, act in self._cleanups():
                await self._try_cleanup(what, act)
        finally:
            timer.cancel()
        self._is_tidy = True
        if self._leash.why:  # A late pull that nothing felt: the work is done, so it means nothing now.
            self._leash.came_back()

    async def _try_cleanup(self, what: str, act: Callable[[], Awaitable[None]]) -> None:
        try:
            await act()
        except BaseException as error:
            if isinstance(error, ENDS) and self._leash.is_torn_down():
                raise
            if isinstance(error, asyncio.CancelledError):
                self._leash.came_back()
            self._note_dirt(what, error)

    def _cleanups(self) -> list[tuple[str, Callable[[], Awaitable[None]]]]:
        found: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        if self._session is not None:
            found.append(("closing the session", self._session.close))
        if self._prepared is not None:
            found.append(("undoing the stage", self._prepared.undo))
        return found

    def _note_dirt(self, what: str, error: BaseException) -> None:
        text = storable(f"{what}: {type(error).__name__}: {error}")
        self._notes = {**self._notes, "cleanup": [*self._notes.get("cleanup", []), text]}

    def _abandon(self) -> None:
        self.abandoned = True
        why = f"it was told to stop ({self._leash.why}) and did not"
        self._ending = Ending(kind="abandoned", ok=False, by="harness", because=why)

    async def _tidy_from_outside(self) -> None:
        """The trial's task is lost or does not let go: put the world back without it."""
        for what, act in self._cleanups():
            leash = Leash(self._around.patience_s)
            timer = leash.after(min(self._around.cleanup_s, 1.0), "cleanup")
            await leash.run(self._try_outside(leash, what, act))
            timer.cancel()

    async def _try_outside(self, leash: Leash, what: str, act: Callable[[], Awaitable[None]]) -> None:
        try:
            await act()
        except BaseException as error:
            if isinstance(error, ENDS) and leash.is_torn_down():
                raise
            self._note_dirt(what, error)

    def _evidence(self) -> Evidence:
        talk = self._conversation
        transcript = Transcript(turns=talk.turns) if talk else Transcript()
        total_ms = (self._around.clock.monotonic() - self._began) * 1000
        return Evidence(
            trial=self.key,
            case=self.trial.case,
            variant=self.trial.variant,
            repeat=self.trial.repeat,
            transcript=transcript,
            output=talk.last_data if talk else None,
            state=self._state,
            before=self._before,
            timing=timing_of(transcript, total_ms),
            ending=self._ending,
            usage=talk.usage if talk else {},
            notes=self._notes,
            started_at=self._started_at,
            session=storable(self._session.id) if self._session else "",
            model=self.trial.roles.model,
        )


def opening_of(trial: Trial, key: str) -> Opening:
    """What the subject is told when the trial's session begins."""
    case = trial.case
    return Opening(
        run=trial.run,
        trial=key,
        case=case,
        variant=trial.variant,
        model=trial.roles.model,
        limits=case.limits,
        seed=trial.seed,
    )


def broken_evidence(trial: Trial, error: BaseException) -> Evidence:
    """Evidence of a trial that the harness itself could not play."""
    kind = error.kind if isinstance(error, VivaError) else "harness_error"
    because = storable(shorten(f"{type(error).__name__}: {error}", BODY_SHOWN))
    ending = Ending(kind=kind, ok=False, by="harness", because=because)
    return Evidence(trial=trial.key, case=trial.case, variant=trial.variant, repeat=trial.repeat, ending=ending)


def _ending_of_error(error: VivaError, by: str) -> Ending:
    ending = Ending(kind=error.kind, ok=False, by=by, because=storable(shorten(str(error), BODY_SHOWN)))
    if isinstance(error, SubjectError):
        body = storable(shorten(error.body, BODY_SHOWN))
        return replace(ending, by="agent", status=error.status, body=body)
    return ending
