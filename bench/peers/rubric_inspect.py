"""The rubric work in Inspect AI: one answer and so many judged criteria per sample, with its log written at the end.

Runs inside an environment of its own: `python rubric_inspect.py URL SAMPLES CRITERIA CONCURRENCY PROMPT_FILE`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from pathlib import Path

os.environ["OPENAI_API_KEY"] = "none"

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessageSystem, ChatMessageUser, GenerateConfig, get_model
from inspect_ai.scorer import Score, Target, mean, scorer
from inspect_ai.solver import TaskState, generate

url, samples, criteria, concurrency = sys.argv[1], *(int(number) for number in sys.argv[2:5])
WARM = 2
prompt = json.loads(Path(sys.argv[5]).read_text(encoding="utf-8"))


@scorer(metrics=[mean()])
def rubric():
    """Judge every criterion in a call of its own."""
    config = GenerateConfig(max_connections=concurrency, temperature=0)
    judge = get_model("openai/judge", base_url=url, config=config, responses_api=False)
    messages = [ChatMessageSystem(content=prompt[0]), ChatMessageUser(content=prompt[1])]

    async def score(state: TaskState, target: Target) -> Score:
        replies = await asyncio.gather(*(judge.generate(messages) for _ in range(criteria)))
        met = [json.loads(reply.completion)["answer"] == "met" for reply in replies]
        return Score(value=sum(met) / len(met))

    return score


def examine(count: int) -> tuple[float, float]:
    """The seconds for so many samples, and the mean score."""
    data = [Sample(input=f"What is the capital of country {n}?", target="Paris") for n in range(count)]
    task = Task(dataset=data, solver=generate(), scorer=rubric())
    with tempfile.TemporaryDirectory() as logs:
        began = time.perf_counter()
        (log,) = eval(
            task,
            model="openai/agent",
            model_base_url=url,
            model_args={"responses_api": False},
            max_connections=concurrency,
            max_samples=concurrency,
            display="none",
            log_dir=logs,
            log_realtime=False,
        )
        took = time.perf_counter() - began
    if log.results is None:
        raise SystemExit(f"Inspect failed: {log.error.message if log.error else log.status}")
    return took, log.results.scores[0].metrics["mean"].value


def main() -> None:
    """Print the seconds it took, and the mean score as a proof of work; the first samples warm it up."""
    examine(WARM)
    took, score = examine(samples)
    print(json.dumps({"seconds": took, "score": score}))


main()
