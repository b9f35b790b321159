"""The cost of judging: viva against a bare aiohttp loop that makes the same calls of a model server with 20 ms latency.

The model server and every contestant run in processes of their own, and rounds are interleaved. The work is that of a
rubric: 300 samples, each one answer of the agent and 10 criteria judged separately, stored durably.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from figure import Figure, serve

SAMPLES, CRITERIA = 300, 10
CALLS = SAMPLES * (CRITERIA + 1)
CONCURRENCY = 64
ROUNDS = 3

LAZY = (
    "aiohttp",
    "jinja2.sandbox",
    "viva.drivers.once",
    "viva.judging.judge",
    "viva.models.openai",
    "viva.scoring.criteria",
    "viva.scoring.formulas",
    "viva.store.cache",
    "viva.subjects.openai",
)

RULES = """\
- when: {contains: That is all the evidence}
  capture: '"id": "(\\w+)"'
  reply: {id: $1, reason: The reply names the capital and says why., answer: met}
- reply: The capital is Paris, on the Seine.
"""
SUITE = """\
suite: rubric
subject: {{openai: {{base_url: "{url}", model: agent}}}}
roles: {{judge: "openai/judge@{url}"}}
concurrency: {concurrency}
criteria: {criteria}
dataset: {{file: cases.jsonl}}
"""


@contextmanager
def model_server(*options: str) -> Iterator[str]:
    """A scripted model server in a process of its own; gives its address."""
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "rules.yml"
        rules.write_text(RULES, encoding="utf-8")
        command = [sys.executable, "-m", "viva.testing.model_server", "--rules", str(rules), *options]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(timeout=10)


def calls_at(url: str) -> dict[str, int]:
    """What the server has counted so far."""
    from urllib.request import urlopen

    with urlopen(url.removesuffix("/v1") + "/counts") as response:
        found: dict[str, int] = json.load(response)
        return found


def write_suite(folder: Path, url: str) -> Path:
    """A suite of samples with criteria."""
    cases = (json.dumps({"id": f"s{n}", "input": f"What is the capital of country {n}?"}) for n in range(SAMPLES))
    (folder / "cases.jsonl").write_text("\n".join(cases) + "\n", encoding="utf-8")
    criteria = json.dumps([f"The reply fulfils requirement number {n} of the rubric" for n in range(CRITERIA)])
    suite = folder / "suite.yml"
    suite.write_text(SUITE.format(url=url, concurrency=CONCURRENCY, criteria=criteria), encoding="utf-8")
    return suite


def spent(seconds: float, cpu_s: float) -> str:
    """One line for the process that started this one."""
    return json.dumps({"seconds": seconds, "cpu_s": cpu_s})


def run_suite(suite: str, store: str, how: str = "") -> None:
    """In a process of its own: a whole run of viva; `cache` uses the cache, `score` scores the newest run again."""
    from viva.app import RunSpec, rescore, run_blocking
    from viva.app import examine as examine_suite

    # What a run imports when it first needs it is imported before the clock starts, as it is for the bare loop.
    for module in LAZY:
        import_module(module)
    spec = RunSpec(suite=suite, store=store, cache=bool(how), fresh=True)
    began, cpu = time.perf_counter(), time.process_time()
    view = run_blocking(lambda: rescore("latest", spec) if how == "score" else examine_suite(spec))
    took = spent(time.perf_counter() - began, time.process_time() - cpu)
    if view.summary.outcomes.passed != SAMPLES:
        raise SystemExit(f"{view.summary.outcomes} of {SAMPLES}: this is no measurement")
    print(took)


def run_bare(url: str, calls: str) -> None:
    """In a process of its own: the same calls, made by a bare aiohttp loop."""
    print(spent(*asyncio.run(_bare(url, int(calls)))))


async def _bare(url: str, calls: int) -> tuple[float, float]:
    import aiohttp

    body = _judge_body()
    todo = iter(range(calls))

    async def worker(session: aiohttp.ClientSession) -> None:
        for _ in todo:
            async with session.post(f"{url}/chat/completions", json=body) as response:
                found = await response.json()
                json.loads(found["choices"][0]["message"]["content"])

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.gather(*(worker(session) for _ in range(CONCURRENCY)))
        return time.perf_counter() - began, time.process_time() - cpu


def _judge_body() -> dict[str, Any]:
    """The body of a judge call as viva sends it, taken from viva itself."""
    from viva.judging.judge import ModelJudge
    from viva.testing.fakes import FakeModel

    model = FakeModel(["{}"])
    evidence, criteria = _evidence()
    _in_a_loop_of_its_own(ModelJudge(model).judge(evidence, criteria[:1]))
    request = model.requests[0]
    schema = {"name": request.schema_name, "schema": request.schema, "strict": True}
    return {
        "model": "judge",
        "messages": [{"role": message.role, "content": message.text} for message in request.messages],
        "temperature": 0.0,
        "response_format": {"type": "json_schema", "json_schema": schema},
    }


def run_judge(url: str, cache: str, samples: str) -> None:
    """In a process of its own: viva's judge alone, with its model and (where a file is named) its cache."""
    print(spent(*asyncio.run(_judge(url, cache, int(samples)))))


async def _judge(url: str, cache: str, samples: int) -> tuple[float, float]:
    from viva.judging.judge import ModelJudge
    from viva.models.catalogue import build_model
    from viva.ports.judge import Verdict
    from viva.store.cache import SqliteCache
    from viva.testing.kit import FakeKit

    kept = await SqliteCache.open(Path(cache)) if cache else None
    model = build_model(f"openai/judge@{url}", FakeKit(), cache=kept)
    judge = ModelJudge(model)
    todo = iter(range(samples))

    async def worker() -> None:
        for number in todo:
            evidence, criteria = _evidence(number)
            if not all(isinstance(v, Verdict) for v in await judge.judge(evidence, criteria)):
                raise SystemExit("a verdict is missing: this is no measurement")

    began, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(worker() for _ in range(max(1, CONCURRENCY // CRITERIA))))
    took = time.perf_counter() - began, time.process_time() - cpu
    await model.close()
    if kept is not None:
        await kept.close()
    return took


def _evidence(number: int = 0) -> tuple[Any, Any]:
    from viva.core.case import Case
    from viva.core.criterion import Criterion
    from viva.core.evidence import Evidence
    from viva.core.transcript import Transcript, Turn
    from viva.core.variant import DEFAULT_VARIANT

    criteria = tuple(
        Criterion(id=f"c{n}", text=f"The reply fulfils requirement number {n} of the rubric") for n in range(CRITERIA)
    )
    question = f"What is the capital of country {number}?"
    turns = (Turn(role="user", text=question), Turn(role="assistant", text="The capital is Paris, on the Seine."))
    case = Case(id=f"s{number}", input=question, criteria=criteria)
    return Evidence(trial=case.id, case=case, variant=DEFAULT_VARIANT, transcript=Transcript(turns=turns)), criteria


def _in_a_loop_of_its_own(work: Any) -> None:
    """Run a coroutine that waits for nothing, also from inside a running loop."""
    import threading

    thread = threading.Thread(target=asyncio.run, args=(work,))
    thread.start()
    thread.join()


def contest(part: str, *arguments: str) -> dict[str, float]:
    """Run one contestant in a process of its own."""
    command = [sys.executable, __file__, "--part", part, *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def median(rounds: list[dict[str, float]], what: str) -> float:
    """The median of one number over all rounds."""
    return statistics.median(one[what] for one in rounds)


def throughput(url: str) -> Iterator[Figure]:
    """The whole work against the bare loop, and the judge's CPU against its."""
    bare, whole, judge = [], [], []
    for number in range(ROUNDS):
        bare.append(contest("bare", url, str(CALLS)))
        with tempfile.TemporaryDirectory() as folder:
            whole.append(contest("suite", str(write_suite(Path(folder), url)), str(Path(folder) / f"{number}.db")))
        judge.append(contest("judge", url, "", str(SAMPLES)))
    ours, theirs = CALLS / median(whole, "seconds"), CALLS / median(bare, "seconds")
    yield Figure(
        name=f"rubric calls/s ÷ bare aiohttp loop, {SAMPLES} samples × {CRITERIA} criteria, stored",
        measured=ours / theirs,
        target=0.6,
        at_most=False,
        detail=f"{ours:,.0f}/s ÷ {theirs:,.0f}/s, medians of {ROUNDS}",
    )
    per_judge = median(judge, "cpu_s") / (SAMPLES * CRITERIA) * 1000
    per_bare = median(bare, "cpu_s") / CALLS * 1000
    yield Figure(
        name="CPU per judge call ÷ bare aiohttp loop",
        measured=per_judge / per_bare,
        target=2.0,
        detail=f"{per_judge:.2f} ms ÷ {per_bare:.2f} ms",
    )


def cached(url: str) -> Iterator[Figure]:
    """The same judging again, from the cache."""
    first, again, sent = [], [], 0
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            cache = str(Path(folder) / "cache.db")
            first.append(contest("judge", url, cache, str(SAMPLES)))
            before = calls_at(url)["calls"]
            again.append(contest("judge", url, cache, str(SAMPLES)))
            sent += calls_at(url)["calls"] - before
    yield _faster("judging again from the cache, times faster", first, again, target=10)
    yield Figure(name="calls sent when judging again from the cache", measured=sent, target=0)


def cached_run(url: str) -> Iterator[Figure]:
    """A whole run again with the verdicts from the cache, and a stored run scored again."""
    first, again, scored, sent = [], [], [], 0
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            suite, store = str(write_suite(Path(folder), url)), str(Path(folder) / "runs.db")
            first.append(contest("suite", suite, store, "cache"))
            again.append(contest("suite", suite, store, "cache"))
            before = calls_at(url)["calls"]
            scored.append(contest("suite", suite, store, "score"))
            sent += calls_at(url)["calls"] - before
    yield _faster("the whole run again, agent asked anew, verdicts cached, times faster", first, again)
    yield _faster("the stored run scored again, verdicts cached, times faster", first, scored)
    yield Figure(name="calls sent when scoring the stored run again", measured=sent, target=0)


def _faster(
    name: str, first: list[dict[str, float]], again: list[dict[str, float]], target: float | None = None
) -> Figure:
    one, other = median(first, "seconds"), median(again, "seconds")
    detail = f"{one:.2f} s → {other:.2f} s, medians of {ROUNDS}"
    return Figure(name=name, measured=one / other, target=target, at_most=False, detail=detail)


def limited() -> Iterator[Figure]:
    """A provider that refuses what is above its limit, and fails 5 % of the rest; the limit is far below our speed."""
    options = ("--limit-concurrent", "24", "--error-share", "0.05", "--latency-ms", "20")
    with model_server(*options) as url:
        took = contest("judge", url, "", str(SAMPLES))
        counts = calls_at(url)
    needed = SAMPLES * CRITERIA
    yield Figure(
        name="calls ÷ needed, provider limited to 24 at once, 5 % of replies 500",
        measured=counts["calls"] / needed,
        target=1.3,
        detail=f"{counts['throttled']} × 429, {counts['errors']} × 500 in {took['seconds']:.1f} s, all judged",
    )


def measure() -> Iterator[Figure]:
    """All figures of the judge."""
    with model_server("--latency-ms", "20") as url:
        yield from throughput(url)
        yield from cached(url)
        yield from cached_run(url)
    yield from limited()


if __name__ == "__main__":
    if "--part" in sys.argv:
        parts = {"bare": run_bare, "suite": run_suite, "judge": run_judge}
        parts[sys.argv[2]](*sys.argv[3:])
    else:
        serve(measure)
