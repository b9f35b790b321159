"""The rubric work in pydantic-evals: one answer and so many judged criteria per case, through pydantic-ai's models.

Runs inside an environment of its own: `python rubric_pydantic_evals.py URL SAMPLES CRITERIA CONCURRENCY PROMPT_FILE`.
Calls go through `pydantic_ai.direct`, its thinnest documented way to a model; an agent around each would cost more.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_evals import Case, Dataset
from pydantic_evals.evaluators import Evaluator, EvaluatorContext

url, samples, criteria, concurrency = sys.argv[1], *(int(number) for number in sys.argv[2:5])
WARM = 2
prompt = json.loads(Path(sys.argv[5]).read_text(encoding="utf-8"))
provider = OpenAIProvider(base_url=url, api_key="none")
agent, judge = OpenAIChatModel("agent", provider=provider), OpenAIChatModel("judge", provider=provider)


async def answer(question: str) -> str:
    """The agent's answer to one question."""
    said = await model_request(agent, [ModelRequest(parts=[UserPromptPart(question)])])
    return said.text or ""


@dataclass
class Criterion(Evaluator[str, str]):
    """One criterion, judged in a call of its own; evaluators of a case run at once."""

    number: int

    def get_default_evaluation_name(self) -> str:
        """Tell the criteria apart."""
        return f"c{self.number}"

    async def evaluate(self, ctx: EvaluatorContext[str, str]) -> bool:
        """Ask the judge."""
        said = await model_request(
            judge, [ModelRequest(parts=[SystemPromptPart(prompt[0]), UserPromptPart(prompt[1])])]
        )
        return json.loads(said.text or "")["answer"] == "met"


async def examine(count: int) -> tuple[float, float]:
    """The seconds for so many samples, and the share of criteria met."""
    cases = [Case(name=f"s{n}", inputs=f"What is the capital of country {n}?") for n in range(count)]
    dataset = Dataset(name="rubric", cases=cases, evaluators=[Criterion(number) for number in range(criteria)])
    began = time.perf_counter()
    report = await dataset.evaluate(answer, max_concurrency=concurrency, progress=False)
    took = time.perf_counter() - began
    met = sum(result.value is True for case in report.cases for result in case.assertions.values())
    return took, met / (count * criteria)


async def main() -> None:
    """Print the seconds it took, and the score as a proof of work; the first samples warm it up."""
    await examine(WARM)
    took, score = await examine(samples)
    print(json.dumps({"seconds": took, "score": score}))


asyncio.run(main())
