"""A whole examination in a test: a job in a folder, and models behind HTTP that keep every prompt.

Nothing is stood in for but the minds: what the user's and the judge's model answer is decided here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import viva
from viva.app.view import RunView, TrialView
from viva.core.suite import Roles
from viva.models.rules import Answer, Prompt
from viva.testing.model_server import ModelServer

SIGNOFF = "So Long, and Thanks for All the Fish"
REMINDER = "Ask the assistant to create a reminder for tomorrow at 9am"
CAPITAL = "Ask what the capital of France is"
FACTS = ("The user's timezone is Australia/Sydney", "The user prefers formal language")

JOB = f"""\
evaluator:
  name: Socrates
target: {{user: test-user, chatbot: my-agent}}
aspirationalAverage: 3000
greetings: [Hello]
tasks:
  - task: {REMINDER}
    acceptanceCriteria: A reminder exists for 9am tomorrow
  - type: question
    task: {CAPITAL}
    acceptanceCriteria: The assistant answers Paris
facts:
  - "{FACTS[0]}"
  - "{FACTS[1]}"
"""

_NONCE = re.compile(r"<<<[\w-]+ (\S+)")

Mind = Callable[[Prompt], "Answer | str | dict[str, Any]"]


def says(message: str, *, task: int = 1, stop: bool = False, because: str = "") -> dict[str, Any]:
    """A decision of the simulated user."""
    return {"message": message, "task": task, "stop": stop, "because": because}


BYE = says(SIGNOFF, task=0, stop=True, because="everything is settled")
PLAIN_USER = (
    says("Please create a reminder for tomorrow at 9am."),
    says("And what is the capital of France?", task=2),
    BYE,
)


def user_who(*decisions: dict[str, Any] | str) -> Mind:
    """A user that decides these things in order, the last for ever; greetings are not counted."""

    def decide(prompt: Prompt) -> Answer | str | dict[str, Any]:
        said = prompt.text.count('{"you":') - 1
        return decisions[min(max(said, 0), len(decisions) - 1)]

    return decide


def judge_who(answers: dict[str, str | dict[str, Any]] | str = "1") -> Mind:
    """A judge that answers by a text that occurs in the criterion; `""` stands for all others."""

    def judge(prompt: Prompt) -> Answer | str | dict[str, Any]:
        by_text = {"": answers} if isinstance(answers, str) else answers
        asked = prompt.text.partition("Criterion: ")[2].partition("\n")[0]
        answer = next((said for text, said in by_text.items() if text and text in asked), by_text.get("", "1"))
        if isinstance(answer, dict):
            return answer
        return {"id": _NONCE.search(prompt.text).group(1), "reason": "It is so.", "answer": answer}  # type: ignore[union-attr]

    return judge


@dataclass
class Exam:
    """What came of an examination."""

    view: RunView
    trials: dict[str, TrialView]
    asked: list[dict[str, Any]] = field(default_factory=list)
    """Bodies of the requests to models, in order."""

    def prompts(self, role: str) -> list[str]:
        """The prompts one role was given: `user` or `judge`."""
        return ["\n".join(message["content"] for message in body["messages"]) for body in self.bodies(role)]

    def bodies(self, role: str) -> list[dict[str, Any]]:
        """The whole requests one role was given."""
        return [body for body in self.asked if body["model"] == f"{role}-model"]

    def __getitem__(self, variant: str) -> TrialView:
        return next(trial for trial in self.trials.values() if trial.result.variant == variant)

    def score(self, variant: str, name: str) -> Any:
        """One score of a trial, by its name."""
        return next(score for score in self[variant].scores if score.name == name)

    async def evidence(self, variant: str) -> Any:
        """What was recorded of a trial."""
        return await self[variant].read_evidence()


async def examine(
    folder: Path,
    job: str = JOB,
    *,
    user: Mind | Sequence[dict[str, Any]] = PLAIN_USER,
    judge: Mind | None = None,
    **options: Any,
) -> Exam:
    """Write the job into the folder and run it against models of our own."""
    (folder / "job.yml").write_text(job)
    minds = {"user-model": user if callable(user) else user_who(*user), "judge-model": judge or judge_who()}
    async with ModelServer(lambda prompt: minds[prompt.model](prompt)) as server:
        at = f"@{server.url}"
        roles = Roles(model="agent-model", user=f"openai/user-model{at}", judge=f"openai/judge-model{at}")
        options = {"store": folder / "runs.db", "cache": False, "fresh": True, "hear_signals": False, **options}
        view = await viva.arun(folder / "job.yml", roles=roles, **options)
        trials = {trial.key: trial async for trial in view.walk()}
        return Exam(view, trials, [json.loads(seen.body) for seen in server.seen])


def viva_command(
    folder: Path, *words: str, env: dict[str, str] | None = None, timeout_s: float = 60
) -> subprocess.CompletedProcess[str]:
    """The command line as a process of its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("VIVA_", "NEO_", "OPENAI_"))}
    return subprocess.run(
        [sys.executable, "-m", "viva", *words],
        cwd=folder,
        env={**kept, "NO_COLOR": "1", **(env or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def scripted(folder: Path, user: Sequence[dict[str, Any]] = PLAIN_USER, answer: str = "1") -> list[str]:
    """Rule files for a user and a judge, and the options that name them: for runs in a process of their own."""
    rules = [
        {"when": {"regex": '(?s)(?:"you":.*){' + str(turn + 1) + "}"}, "reply": decision}
        for turn, decision in reversed(list(enumerate(user)))
    ]
    (folder / "user.yml").write_text(json.dumps(rules))
    (folder / "judge.yml").write_text(
        json.dumps([{"reply": {"id": "$nonce", "reason": "It is so.", "answer": answer}}])
    )
    return ["--user", "scripted:user.yml", "--judge", "scripted:judge.yml"]
