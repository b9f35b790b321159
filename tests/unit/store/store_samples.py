"""Runs, cases and trials to store, plain and unusual."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from viva.core.case import Case
from viva.core.check import Check
from viva.core.evidence import Ending, Evidence, Observed
from viva.core.run import Run
from viva.core.score import AnyScore, Score, ScoreError, ScoreSkipped, TrialResult
from viva.core.transcript import Fault, ToolCall, Transcript, Turn
from viva.core.trial import trial_key
from viva.core.usage import Usage
from viva.core.variant import Variant

VARIANTS = (Variant(name="withheld", facts="withheld"), Variant(name="supplied"))


class TwoClocks:
    """A clock whose wall and monotonic hands are moved by the test."""

    def __init__(self) -> None:
        self.mono = 1000.0
        self.wall = datetime(2026, 3, 29, 0, 30, tzinfo=UTC)

    def monotonic(self) -> float:
        return self.mono

    def now(self) -> datetime:
        return self.wall

    async def sleep(self, seconds: float) -> None:
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        self.mono += seconds
        self.wall += timedelta(seconds=seconds)

    def jump(self, seconds: float) -> None:
        self.wall += timedelta(seconds=seconds)


def a_run(run_id: str = "run-1", *, planned: int = 0, suite: str = "capitals") -> Run:
    return Run(
        id=run_id,
        suite=suite,
        suite_hash="5u17e",
        hashes={"cases": "ca5e5", "prompts": "9r0m97"},
        planned=planned,
        created_at="2026-03-01T10:00:00+00:00",
    )


def a_case(name: str = "france", **changes: object) -> Case:
    values: dict[str, object] = {
        "id": name,
        "input": f"What is the capital of {name}?",
        "expected": "Paris",
        "checks": (Check(scorer="contains", settings={"text": "Paris"}, label="names it"),),
    }
    return Case(**{**values, **changes})  # type: ignore[arg-type]


def cases(count: int) -> list[Case]:
    return [a_case(f"case-{number}") for number in range(count)]


def evidence_of(case: Case, variant: Variant | None = None, repeat: int = 1, *, text: str = "Paris.") -> Evidence:
    variant = variant or case.variants[0]
    turns = (
        Turn(role="user", text=str(case.input)),
        Turn(
            role="assistant",
            text=text,
            data={"answer": text},
            tool_calls=(ToolCall(name="look_up", arguments={"country": case.id}),),
            latency_ms=21.5,
            faults=(Fault(kind="subject_error", status=503, took_ms=3.0),),
            usage=Usage(calls=1, input_tokens=12, output_tokens=3, cost_usd=0.0001),
        ),
    )
    return Evidence(
        trial=trial_key(case.id, variant.name, repeat),
        case=case,
        variant=variant,
        repeat=repeat,
        transcript=Transcript(turns=turns),
        output={"answer": text},
        state={"state": Observed(value={"resources": [1, 2]}, took_ms=1.5)},
        started_at="2026-03-01T10:00:01+00:00",
    )


def failed_evidence(case: Case) -> Evidence:
    return Evidence(
        trial=trial_key(case.id, case.variants[0].name, 1),
        case=case,
        variant=case.variants[0],
        ending=Ending(kind="timed_out", ok=False, by="limit", because="no reply within 20 s"),
    )


def result_of(evidence: Evidence, value: float = 1.0) -> TrialResult:
    return TrialResult(
        trial=evidence.trial,
        case=evidence.case.id,
        variant=evidence.variant.name,
        repeat=evidence.repeat,
        outcome="pass" if value >= 0.5 else "fail",
        score=value,
        formula="mean@1",
        parts={"checks": value},
        usage={"subject": Usage(calls=1)},
    )


def scores(value: float = 1.0) -> list[AnyScore]:
    return [
        Score(
            name="names it", value=value, passed=value >= 0.5, reason="found “Paris”", scorer="contains@1", hash="abc"
        ),
        ScoreError(name="tone", kind="judge_unreadable", detail="no verdict in the reply"),
        ScoreSkipped(name="cost", reason="switched off"),
    ]
