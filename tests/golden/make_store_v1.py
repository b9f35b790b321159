"""Makes the golden store of schema 1 and what it must read as: `python make_store_v1.py`.

Run it once, when a schema is released; a golden store is never made again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from pathlib import Path
from typing import Any

from viva.core.case import Case
from viva.core.check import Check, Measure
from viva.core.criterion import Criterion
from viva.core.data import to_plain
from viva.core.evidence import Ending, Evidence, Observed
from viva.core.ref import Ref
from viva.core.run import Run
from viva.core.score import Score, ScoreError, ScoreSkipped, TrialResult
from viva.core.suite import Roles, Source
from viva.core.threshold import Threshold
from viva.core.timing import Timing
from viva.core.transcript import Event, Fault, ToolCall, Transcript, Turn
from viva.core.trial import trial_key
from viva.core.usage import Usage
from viva.core.variant import Variant
from viva.store.sqlite import SqliteStore

VARIANTS = (
    Variant(name="withheld", facts="withheld"),
    Variant(name="big model", model="openai/big", settings={"t": 0}),
)
ODD = "👩‍👩‍👧‍👦 \x00 \x1b[31m \u202e e\u0301\u0301 \ufeff \\ud800 “quoted” \u2028 end"


async def digest(store: SqliteStore) -> dict[str, Any]:
    """Everything a store says of its runs, with long texts named by their hash."""
    found: dict[str, Any] = {}
    for run in await store.runs():
        scorings = ["", *await store.scorings(run.id)]
        found[run.id] = {
            "run": to_plain(run),
            "tally": to_plain(await store.tally(run.id)),
            "cases": to_plain(await store.cases(run.id)),
            "evidence": [to_plain(evidence) async for evidence in store.all_evidence(run.id)],
            "results": {
                name: [to_plain([result, scores]) async for result, scores in store.all_results(run.id, name)]
                for name in scorings
            },
        }
    shortened: dict[str, Any] = json.loads(json.dumps(_shortened(found)))
    return shortened


def _shortened(value: Any) -> Any:
    if isinstance(value, str) and len(value) > 500:
        return f"sha256 {hashlib.sha256(value.encode()).hexdigest()}, {len(value)} characters"
    if isinstance(value, dict):
        return {key: _shortened(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_shortened(item) for item in value]
    return value


def _cases() -> list[Case]:
    return [
        Case(
            id="plain",
            input="What is the capital of France?",
            expected="Paris",
            checks=(Check(scorer="contains", settings={"text": "Paris"}, weight=2.0),),
            criteria=(Criterion(id="c1", text="Is rude", pitfall=True, weight=3.0),),
            measures=(Measure(scorer="timing", settings={"target_ms": 3000}),),
            thresholds=(Threshold(value=0.8),),
            variants=VARIANTS,
            repeats=2,
        ),
        Case(id="odd 🦆/@#%", input={"text": ODD, "list": [1, 2.5, None, True]}, metadata={ODD: ODD}),
        Case(id="long", input="?", context="mostly long " * 5_000),
        Case(id="broken", input="hello?", tags=("slow",)),
    ]


def _evidence(case: Case, variant: Variant, repeat: int, text: str) -> Evidence:
    turns = (
        Turn(role="user", text="hello"),
        Turn(
            role="assistant",
            text=text,
            data={"n": 1},
            tool_calls=(ToolCall(name="look_up", arguments={"q": ODD}, result=[1]),),
            events=(Event(kind="unknown", data={"raw": ODD}),),
            at_ms=0.5,
            latency_ms=20.25,
            total_ms=120.5,
            faults=(Fault(kind="subject_error", status=503, detail="busy", took_ms=10.0, waited_ms=90.25),),
            usage=Usage(calls=1, input_tokens=7, output_tokens=9, cost_usd=0.002),
        ),
    )
    return Evidence(
        trial=trial_key(case.id, variant.name, repeat),
        case=case,
        variant=variant,
        repeat=repeat,
        transcript=Transcript(turns=turns),
        output={"n": 1},
        state={"state": Observed(value={"resources": [ODD]}), "graph": Observed(error="timed_out", detail="3 s")},
        timing=Timing(responses=1, mean_ms=20.25, total_ms=125.0),
        usage={"subject": Usage(calls=1)},
        started_at="2026-01-01T00:00:00+00:00",
    )


def _trials(listed: list[Case]) -> list[Evidence]:
    plain, odd, long, broken = listed
    trials = [_evidence(plain, variant, repeat, "Paris.") for repeat in (2, 1) for variant in reversed(VARIANTS)]
    trials += [_evidence(odd, odd.variants[0], 1, ODD), _evidence(long, long.variants[0], 1, "a megabyte " * 95_000)]
    ending = Ending(kind="timed_out", ok=False, by="limit", because="no reply", status=504, body="<html>")
    return [*trials, Evidence(trial="broken", case=broken, variant=broken.variants[0], ending=ending)]


async def _keep(store: SqliteStore, run: str, evidence: Evidence, scoring: str) -> None:
    is_ok = evidence.ending.ok
    result = TrialResult(
        trial=evidence.trial,
        case=evidence.case.id,
        variant=evidence.variant.name,
        repeat=evidence.repeat,
        outcome="pass" if is_ok else "error",
        score=0.75 if is_ok else None,
        error="" if is_ok else "timed_out",
        formula="mean@1",
    )
    scores = [
        Score(name="timing", value=0.75, raw=20.25, unit="ms", scorer="timing@1", hash="abc", detail={"odd": ODD}),
        ScoreError(name="tone", kind="judge_unreadable", detail=ODD),
        ScoreSkipped(name="cost", reason="switched off"),
    ]
    await store.add_result(run, result, scores if is_ok else [], scoring)


async def make(path: Path) -> dict[str, Any]:
    """Write the golden store."""
    store = await SqliteStore.open(path)
    listed = _cases()
    for name in ("run-one", "run-two"):
        run = Run(
            id=name,
            suite="golden",
            suite_hash="5u17e",
            hashes={"cases": "ca5e5", "prompts": "9r0m97"},
            planned=7,
            created_at="2026-01-01T00:00:00+00:00",
            subject=Ref(name="http", settings={"url": "http://127.0.0.1:8081/chat"}),
            roles=Roles(judge="openai/judge"),
            sources=(Source(path="suite.yml", hash="50urce"),),
            thresholds=(Threshold(value=0.9, metric="pass_rate", scope="run"),),
            viva_version="0.1.0",
            tags={"odd": ODD},
        )
        await store.create_run(run, listed)
    for evidence in _trials(listed):
        await store.add_evidence("run-one", evidence)
        for scoring in ("", "stricter"):
            await _keep(store, "run-one", evidence, scoring)
    await store.claim("run-two", ["plain@withheld"], "someone", 30.0)
    await store._write(
        lambda c: c.execute("INSERT INTO states VALUES (NULL, 1, 'interrupted', 'Ctrl-C', '2026-01-02')")
    )
    found = await digest(store)
    await store.close()
    return found


if __name__ == "__main__":
    target = Path(__file__).with_name("store_v1.db")
    if target.exists():
        raise SystemExit("a golden store is never made again")
    said = asyncio.run(make(target))
    target.with_suffix(".json").write_text(json.dumps(said, indent=1, sort_keys=True) + "\n", "utf-8")
