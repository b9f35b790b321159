"""The engine's side of one session: sending with the one retry loop, limits, timing and the transcript."""

from __future__ import annotations

import asyncio
from typing import Any

from viva.core.case import Case
from viva.core.clock import Clock
from viva.core.data import replace
from viva.core.errors import LimitError, SubjectError, VivaError
from viva.core.text import shorten, storable
from viva.core.transcript import Fault, Message, Reply, Turn
from viva.core.trial import Trial
from viva.core.usage import NO_USAGE, Usage
from viva.core.variant import Variant
from viva.engine.events import Announcer, TurnTaken
from viva.engine.gate import Gate
from viva.engine.leash import Leash
from viva.ports.meter import Meter
from viva.ports.subject import Session

BODY_SHOWN = 2048
DEEPEST = 200
SCALARS = frozenset((str, int, float, bool, type(None)))


class SessionConversation:
    """What a driver holds. The only place in viva where a message to a subject is sent again."""

    def __init__(
        self,
        trial: Trial,
        key: str,
        session: Session,
        *,
        clock: Clock,
        gate: Gate,
        leash: Leash,
        meter: Meter | None,
        announcer: Announcer,
        ends_at: float | None,
    ) -> None:
        self._trial = trial
        self._key = key
        self._session = session
        self._clock = clock
        self._gate = gate
        self._leash = leash
        self._meter = meter
        self._announcer = announcer
        self._ends_at = ends_at
        self._began = clock.monotonic()
        self._turns: list[Turn] = []
        self._pairs = 0
        self.usage: dict[str, Usage] = {}
        self.broken: VivaError | None = None
        """Why the last attempt to say something failed: a driver that swallows it does not make an answer of it."""

    @property
    def case(self) -> Case:
        """The case under examination."""
        return self._trial.case

    @property
    def variant(self) -> Variant:
        """The conditions of this trial."""
        return self._trial.variant

    @property
    def seed(self) -> int:
        """Where this trial's random choices start from."""
        return self._trial.seed

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The transcript so far."""
        return tuple(self._turns)

    @property
    def last_data(self) -> Any:
        """The structured data of the last reply."""
        return next((turn.data for turn in reversed(self._turns) if turn.role == "assistant"), None)

    async def say(
        self, text: str, data: Any = None, *, latency_ms: float | None = None, metadata: dict[str, Any] | None = None
    ) -> Turn:
        """Send a user message and return the agent's turn. Raises SubjectError or LimitError."""
        try:
            self._check_limits()
            self._add(self._user_turn(text, data, latency_ms, metadata))
            turn = await self._exchange(Message(text=text, data=fresh(data)))
        except VivaError as error:
            self.broken = error
            raise
        self.broken = None
        self._pairs += 1
        self._add(turn)
        return turn

    def remark(self, text: str, *, latency_ms: float | None = None, metadata: dict[str, Any] | None = None) -> None:
        """Put a user message into the transcript without sending it."""
        self._add(self._user_turn(text, None, latency_ms, metadata))

    async def wait(self, seconds: float) -> None:
        """Wait as a user would."""
        await self._clock.sleep(seconds)

    def charge(self, usage: Usage) -> None:
        """Count what the simulated user's model used."""
        self._count("user", usage)

    def _check_limits(self) -> None:
        limits = self._trial.case.limits
        if limits.turns is not None and self._pairs >= limits.turns:
            raise LimitError(f"the conversation reached its ceiling of {limits.turns} turns", kind="turn_limit")
        if limits.tokens is None and limits.cost_usd is None:
            return
        spent = sum(self.usage.values(), NO_USAGE)
        if limits.tokens is not None and spent.tokens >= limits.tokens:
            raise LimitError(f"the trial's ceiling of {limits.tokens} tokens is reached: {spent.tokens} used")
        if limits.cost_usd is not None and (spent.cost_usd or 0.0) >= limits.cost_usd:
            raise LimitError(f"the trial's ceiling of US$ {limits.cost_usd:g} is reached: {spent.cost_usd:g} spent")

    async def _exchange(self, message: Message) -> Turn:
        """Send until a reply comes or trying again is not sensible; failures are kept with the turn they belong to."""
        retry = self._trial.case.retry
        began = self._clock.monotonic()
        faults: list[Fault] = []
        throttle_ms = 0.0
        while True:
            throttle_ms += await self._gate.pass_through()
            sent = self._clock.monotonic()
            try:
                reply = await self._send(message)
            except SubjectError as error:
                faults.append(self._fault(error, sent))
                wait_s = max(retry.wait_s(len(faults)), error.wait_s or 0.0)
                if not error.retryable or len(faults) >= retry.attempts or self._is_too_long(wait_s):
                    self._blame_user_turn(faults)
                    raise
                await self._back_off(error, wait_s, faults)
                continue
            return self._agent_turn(reply, began, sent, throttle_ms, faults)

    async def _send(self, message: Message) -> Reply:
        if self._meter is not None:
            self._meter.reserve(self._gate.dearest_usd, self._gate.dearest_tokens)
        usage = NO_USAGE
        try:
            reply = await self._send_in_time(message)
            usage = reply.usage or NO_USAGE
            return reply
        finally:
            if self._meter is not None:
                self._meter.charge(usage)

    async def _send_in_time(self, message: Message) -> Reply:
        seconds = self._trial.case.limits.turn_seconds
        timer = self._leash.after(seconds, "turn")
        try:
            reply = await self._session.send(message)
        except asyncio.CancelledError:
            if self._leash.why == "turn":
                self._leash.came_back()
                raise self._late(seconds) from None
            if self._leash.why or self._leash.is_torn_down():
                raise
            raise SubjectError("the subject cancelled itself", kind="subject_error") from None
        except VivaError:
            raise
        except BaseException as error:  # SystemExit of an agent is the agent's failure, not our end.
            if isinstance(error, GeneratorExit) and self._leash.is_torn_down():
                raise
            raise SubjectError(f"the subject raised {type(error).__name__}: {error}") from error
        finally:
            timer.cancel()
        if self._leash.why == "turn":  # It swallowed the cancellation and answered all the same: too late.
            self._leash.came_back()
            raise self._late(seconds)
        if not isinstance(reply, Reply):
            raise SubjectError(f"the subject answered with a {type(reply).__name__}, not a Reply", kind="malformed")
        return reply

    def _late(self, seconds: float) -> SubjectError:
        # Not sent again: the agent may have acted on the message.
        return SubjectError(f"no reply within {seconds:g} s", kind="timed_out", hint="limits.turn_seconds sets this")

    async def _back_off(self, error: SubjectError, wait_s: float, faults: list[Fault]) -> None:
        if error.wait_s is not None:
            self._gate.close_for(wait_s)
        began = self._clock.monotonic()
        await self._clock.sleep(wait_s)
        faults[-1] = replace(faults[-1], waited_ms=(self._clock.monotonic() - began) * 1000)

    def _is_too_long(self, wait_s: float) -> bool:
        return self._ends_at is not None and self._clock.monotonic() + wait_s >= self._ends_at

    def _fault(self, error: SubjectError, sent: float) -> Fault:
        took_ms = (self._clock.monotonic() - sent) * 1000
        return Fault(
            kind=error.kind, detail=storable(shorten(error.message, BODY_SHOWN)), status=error.status, took_ms=took_ms
        )

    def _blame_user_turn(self, faults: list[Fault]) -> None:
        self._turns[-1] = replace(self._turns[-1], faults=tuple(faults))

    def _user_turn(self, text: str, data: Any, latency_ms: float | None, metadata: dict[str, Any] | None) -> Turn:
        return Turn(
            role="user",
            text=storable(text),
            data=data,
            at_ms=self._since_began(),
            latency_ms=latency_ms,
            metadata=metadata or {},
        )

    def _agent_turn(self, reply: Reply, began: float, sent: float, throttle_ms: float, faults: list[Fault]) -> Turn:
        now = self._clock.monotonic()
        if reply.usage is not None:
            self._count("subject", reply.usage)
            self._gate.learn_price(reply.usage)
        flags = reply.flags
        if not reply.text and reply.data is None and "empty" not in flags:
            flags = (*flags, "empty")
        return Turn(
            role="assistant",
            text=storable(reply.text),
            data=fresh(reply.data),
            tool_calls=reply.tool_calls,
            events=reply.events,
            at_ms=(now - self._began) * 1000,
            latency_ms=(now - sent) * 1000,
            total_ms=(now - began) * 1000 - throttle_ms,
            throttle_ms=throttle_ms,
            first_token_ms=reply.first_token_ms,
            agent_ms=reply.agent_ms,
            faults=tuple(faults),
            usage=reply.usage,
            raw=storable(reply.raw),
            flags=flags,
            metadata=reply.metadata,
        )

    def _count(self, role: str, usage: Usage) -> None:
        self.usage[role] = self.usage[role] + usage if role in self.usage else usage

    def _add(self, turn: Turn) -> None:
        self._turns.append(turn)
        if self._announcer.heard:
            self._announcer.tell(TurnTaken(self._key, turn))

    def _since_began(self) -> float:
        return (self._clock.monotonic() - self._began) * 1000


def fresh(data: Any, depth: int = 0) -> Any:
    """Copy JSON-like data, so that whoever gets it cannot change ours. Raises SubjectError where it has no bottom."""
    if type(data) in SCALARS:
        return data
    if depth > DEEPEST:
        raise SubjectError(f"data nested deeper than {DEEPEST} levels", kind="malformed")
    if isinstance(data, dict):
        return {key: fresh(item, depth + 1) for key, item in data.items()}
    if isinstance(data, list | tuple):
        return [fresh(item, depth + 1) for item in data]
    return data
