"""Contract tests for plug-in authors: call one from your own tests, with your implementation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from viva.core.case import Case
from viva.core.clock import SystemClock
from viva.core.data import from_json, to_json
from viva.core.evidence import Ending, Evidence, Observed
from viva.core.run import Run
from viva.core.score import AnyScore, Score, ScoreError, ScoreSkipped, TrialResult
from viva.core.transcript import Message, Reply, Transcript, Turn
from viva.core.usage import Usage
from viva.core.variant import DEFAULT_VARIANT, Variant
from viva.ports.driver import Driver, Stop
from viva.ports.scorer import Scorer
from viva.ports.store import Store
from viva.ports.subject import Opening, Subject

PATIENCE_S = 30.0


class ContractError(AssertionError):
    """An implementation does not keep its contract."""


async def check_subject(subject: Subject, *, message: str = "hello", case: Case | None = None) -> Reply:
    """Open two sessions, send in both, close each twice; returns the first reply."""
    _has(subject, "name", "version", "endpoint")
    first = await _in_time("open()", subject.open(_opening(case, "contract-1")))
    second = await _in_time("open()", subject.open(_opening(case, "contract-2")))
    _demand(first is not second, "open() must begin a new session for every trial")
    replies: list[Reply] = [
        await _in_time("send()", session.send(Message(text=message))) for session in (first, second)
    ]
    for reply in replies:
        _demand(isinstance(reply, Reply), f"send() must return a Reply, not {type(reply).__name__}")
        _round_trips(reply, Reply, "a reply")
    for session in (first, second):
        await _in_time("close()", session.close())
        await _in_time("close() a second time", session.close())
    return replies[0]


async def check_driver(driver: Driver, case: Case, replies: Sequence[str] = ("ok",)) -> Stop:
    """Let a driver talk to a conversation that answers from a list; returns its decision to stop."""
    _has(driver, "name", "version")
    conversation = _ListConversation(case, replies)
    stop: Stop = await _in_time("drive()", driver.drive(conversation))
    _demand(isinstance(stop, Stop), f"drive() must return a Stop, not {type(stop).__name__}")
    _demand(bool(stop.because), "a driver must say why it stopped")
    _round_trips(stop, Stop, "the decision to stop")
    return stop


async def check_scorer(scorer: Scorer, evidence: Evidence | None = None) -> list[AnyScore]:
    """Score twice: the answers must be scores, equal, and must not change the evidence; returns them."""
    _has(scorer, "name", "version", "label", "hash")
    for wanted in scorer.observations():
        _demand(isinstance(scorer.settled(wanted, Observed()), bool), "settled() must answer True or False")
    shown = evidence or sample_evidence()
    before = to_json(shown)
    first = list(await _in_time("score()", scorer.score(shown)))
    second = list(await _in_time("score()", scorer.score(shown)))
    _demand(bool(first), "score() must return at least one score, error or skipped score")
    for score in first:
        _demand(isinstance(score, Score | ScoreError | ScoreSkipped), f"{score!r} is not a score")
        _round_trips(score, type(score), "a score")
    names = [score.name for score in first]
    _demand(len(set(names)) == len(names), f"the names of one scorer's scores must differ: {names}")
    _demand(names == [score.name for score in second], "scoring twice must give the same scores")
    _demand(to_json(shown) == before, "a scorer must not change the evidence")
    return first


async def check_store(store: Store) -> None:
    """Keep a run, its evidence and results, and read them back."""
    run = Run(id="contract", suite="contract", suite_hash="0", planned=1, created_at="2026-01-01T00:00:00Z")
    evidence = sample_evidence()
    await store.create_run(run, [evidence.case])
    _demand((await store.run("contract")).id == run.id, "run() must find a run by its id")
    _demand(await store.claim(run.id, [evidence.trial], "me", 60.0) == [evidence.trial], "claim() of a free trial")
    _demand(await store.claim(run.id, [evidence.trial], "you", 60.0) == [], "a claimed trial must not be given twice")
    _demand(await store.add_evidence(run.id, evidence), "add_evidence() must keep the first evidence")
    _demand(not await store.add_evidence(run.id, evidence), "add_evidence() must refuse the second")
    _demand(to_json(await store.evidence(run.id, evidence.trial)) == to_json(evidence), "evidence must not change")
    result = TrialResult(trial=evidence.trial, case=evidence.case.id, outcome="pass", score=1.0)
    _demand(await store.add_result(run.id, result, [Score(name="x", value=1.0)]), "add_result() must keep the first")
    _demand(not await store.add_result(run.id, result, []), "add_result() must refuse the second")
    _demand([score.name for score in await store.scores(run.id, evidence.trial)] == ["x"], "scores must be found")
    tally = await store.tally(run.id)
    _demand((tally.evidence, tally.results) == (1, 1), f"tally() must count one trial, not {tally}")
    await store.finish_run(run.id, "finished")
    _demand((await store.run(run.id)).status == "finished", "finish_run() must be remembered")


def sample_evidence(text: str = "Paris", question: str = "What is the capital of France?") -> Evidence:
    """Evidence of one good answer, for trying a scorer."""
    case = Case(id="sample", input=question, expected=text)
    turns = (
        Turn(role="user", text=question),
        Turn(role="assistant", text=text, latency_ms=12.0, total_ms=12.0),
    )
    return Evidence(
        trial="sample",
        case=case,
        variant=DEFAULT_VARIANT,
        transcript=Transcript(turns=turns),
        ending=Ending(because="answered"),
    )


class _ListConversation:
    """A conversation that answers from a list."""

    def __init__(self, case: Case, replies: Sequence[str]) -> None:
        self._case = case
        self._replies = replies
        self._turns: list[Turn] = []
        self._said = 0

    @property
    def case(self) -> Case:
        return self._case

    @property
    def variant(self) -> Variant:
        return DEFAULT_VARIANT

    @property
    def seed(self) -> int:
        return 0

    @property
    def turns(self) -> tuple[Turn, ...]:
        return tuple(self._turns)

    async def say(
        self, text: str, data: Any = None, *, latency_ms: float | None = None, metadata: dict[str, Any] | None = None
    ) -> Turn:
        _demand(self._said < 1000, "a driver must come to an end")
        self.remark(text, latency_ms=latency_ms, metadata=metadata)
        turn = Turn(role="assistant", text=self._replies[min(self._said, len(self._replies) - 1)], latency_ms=1.0)
        self._said += 1
        self._turns.append(turn)
        return turn

    def remark(self, text: str, *, latency_ms: float | None = None, metadata: dict[str, Any] | None = None) -> None:
        self._turns.append(Turn(role="user", text=text, latency_ms=latency_ms, metadata=metadata or {}))

    async def wait(self, seconds: float) -> None:
        await SystemClock().sleep(0)

    def charge(self, usage: Usage) -> None:
        _demand(usage.tokens >= 0, "usage cannot be negative")


def _opening(case: Case | None, trial: str) -> Opening:
    return Opening(run="contract", trial=trial, case=case or Case(id="contract", input="hello"))


def _has(thing: Any, *names: str) -> None:
    for name in names:
        found = getattr(thing, name, None)
        _demand(isinstance(found, str), f"{type(thing).__name__}.{name} must be a text, not {found!r}")


async def _in_time(what: str, work: Any) -> Any:
    try:
        return await asyncio.wait_for(work, PATIENCE_S)
    except TimeoutError:
        raise ContractError(f"{what} did not return within {PATIENCE_S:g} s") from None


def _round_trips(value: Any, kind: type[Any], what: str) -> None:
    try:
        copy = from_json(to_json(value), kind)
    except (TypeError, ValueError) as error:
        raise ContractError(f"{what} must be plain JSON data: {error}") from error
    _demand(to_json(copy) == to_json(value), f"{what} must survive being written and read")


def _demand(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ContractError(otherwise)
