"""The rubric work in DeepEval: one answer and so many judged criteria per test case, each criterion a custom metric.

Runs inside an environment of its own: `python rubric_deepeval.py URL SAMPLES CRITERIA CONCURRENCY PROMPT_FILE`.
DeepEval does not call the agent, so the answers are fetched before, at the same concurrency and inside the clock.
"""

from __future__ import annotations

import os

os.environ.update(DEEPEVAL_TELEMETRY_OPT_OUT="YES", ERROR_REPORTING="NO", OPENAI_API_KEY="none")

import asyncio
import contextlib
import io
import json
import sys
import time
from pathlib import Path

from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
from openai import AsyncOpenAI

url, samples, criteria, concurrency = sys.argv[1], *(int(number) for number in sys.argv[2:5])
WARM = 2
prompt = json.loads(Path(sys.argv[5]).read_text(encoding="utf-8"))
messages = [{"role": "system", "content": prompt[0]}, {"role": "user", "content": prompt[1]}]
clients: dict[asyncio.AbstractEventLoop, AsyncOpenAI] = {}


async def ask(model: str, said: list[dict[str, str]]) -> str:
    """One call; a client belongs to the loop it was made in."""
    client = clients.setdefault(asyncio.get_running_loop(), AsyncOpenAI(base_url=url, api_key="none"))
    reply = await client.chat.completions.create(model=model, messages=said, temperature=0)
    return reply.choices[0].message.content


class Criterion(BaseMetric):
    """One criterion, judged in a call of its own."""

    def __init__(self, number: int, threshold: float = 0.5, async_mode: bool = True) -> None:
        self.number, self.threshold, self.async_mode = number, threshold, async_mode

    def measure(self, test_case: LLMTestCase, *args: object, **kwargs: object) -> float:
        """Judge without a loop around; not used here."""
        return asyncio.run(self.a_measure(test_case))

    async def a_measure(self, test_case: LLMTestCase, *args: object, **kwargs: object) -> float:
        """Ask the judge."""
        found = json.loads(await ask("judge", messages))
        self.score, self.reason = float(found["answer"] == "met"), found["reason"]
        self.success = self.score >= self.threshold
        return self.score

    def is_successful(self) -> bool:
        """Whether the criterion is met."""
        return bool(self.success)

    @property
    def __name__(self) -> str:
        return f"c{self.number}"


async def answered(count: int) -> list[LLMTestCase]:
    """The agent's answers."""
    places = asyncio.Semaphore(concurrency)

    async def one(number: int) -> LLMTestCase:
        question = f"What is the capital of country {number}?"
        async with places:
            return LLMTestCase(
                input=question, actual_output=await ask("agent", [{"role": "user", "content": question}])
            )

    return list(await asyncio.gather(*(one(number) for number in range(count))))


def examine(count: int) -> tuple[float, float]:
    """The seconds for so many samples, and the share of criteria met."""
    began = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        found = evaluate(
            asyncio.run(answered(count)),
            [Criterion(number) for number in range(criteria)],
            async_config=AsyncConfig(max_concurrent=concurrency),
            display_config=DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False),
            cache_config=CacheConfig(write_cache=False, use_cache=False),
        )
    took = time.perf_counter() - began
    met = sum(bool(metric.success) for result in found.test_results for metric in result.metrics_data)
    return took, met / (count * criteria)


def main() -> None:
    """Print the seconds it took, and the score as a proof of work; the first samples warm it up."""
    examine(WARM)
    took, score = examine(samples)
    print(json.dumps({"seconds": took, "score": score}))


main()
