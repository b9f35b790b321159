"""What the tests of judging share: evidence, judges that say what they are told, and a kit."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from viva.core.case import Case
from viva.core.clock import SystemClock
from viva.core.criterion import Criterion
from viva.core.evidence import Evidence
from viva.core.transcript import ToolCall, Transcript, Turn
from viva.core.usage import Usage
from viva.core.variant import DEFAULT_VARIANT
from viva.judging.judge import JudgeSettings, ModelJudge, build_judge
from viva.ports.model import ModelReply, ModelRequest

CALL = Usage(calls=1, input_tokens=10, output_tokens=5)


class Says:
    """A model that answers each request with a function of it, and remembers the requests."""

    def __init__(self, answer: Callable[[ModelRequest], Any], name: str = "fake") -> None:
        self.name = name
        self._answer = answer
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        said = self._answer(request)
        if isinstance(said, BaseException):
            raise said
        if isinstance(said, ModelReply):
            return said
        text = said if isinstance(said, str) else json.dumps(said)
        return ModelReply(text=text, model=self.name, usage=CALL)

    def stream(self, request: ModelRequest) -> Any:
        raise AssertionError("a judge does not stream")

    async def close(self) -> None:
        return None


def verdict(request: ModelRequest, answer: Any = "met", reason: str = "It says so.", **extra: Any) -> dict[str, Any]:
    """A proper verdict on a request."""
    return {"id": request.nonce, "reason": reason, "answer": answer, **extra}


def always(answer: Any, **extra: Any) -> Says:
    return Says(lambda request: verdict(request, answer, **extra))


def in_turn(*answers: Any) -> Says:
    """Give these answers one after the other, the last again and again; a callable is called with the request."""
    left = list(answers)

    def answer(request: ModelRequest) -> Any:
        said = left.pop(0) if len(left) > 1 else left[0]
        return said(request) if callable(said) else said

    return Says(answer)


def batch_verdicts(request: ModelRequest, answer: Callable[[str, str], str | None]) -> dict[str, Any]:
    """Answer a batch: `answer(number, criterion)` gives each verdict, or None to leave it out."""
    found = re.findall(r'^(\d+)\. (".*")$', request.messages[1].text, re.MULTILINE)
    said = [(number, answer(number, json.loads(text))) for number, text in found]
    return {
        "id": request.nonce,
        "verdicts": [{"criterion": n, "reason": "so", "answer": a} for n, a in said if a is not None],
    }


def judge_of(model: Any, **settings: Any) -> ModelJudge:
    return ModelJudge(model, settings=JudgeSettings(**settings))


def evidence(reply: str | None = "Paris.", *, case: Case | None = None, **more: Any) -> Evidence:
    """One question and one reply."""
    case = case or Case(id="france", input="What is the capital of France?", **more)
    turns: tuple[Turn, ...] = (Turn(role="user", text=str(case.input)),)
    if reply is not None:
        turns += (Turn(role="assistant", text=reply),)
    return Evidence(trial=case.id, case=case, variant=DEFAULT_VARIANT, transcript=Transcript(turns=turns))


def criterion(text: str = "Names Paris.", **more: Any) -> Criterion:
    return Criterion(id=more.pop("id", "c1"), text=text, **more)


def criteria(count: int, **more: Any) -> tuple[Criterion, ...]:
    return tuple(Criterion(id=f"c{i}", text=f"Criterion number {i} holds.", **more) for i in range(1, count + 1))


def used_tool(name: str = "search", **more: Any) -> ToolCall:
    return ToolCall(name=name, **more)


class FakeKit:
    """The services a scorer asks for, with one model for every role."""

    def __init__(self, *models: Any, templates: dict[str, str] | None = None, embedder: Any = None) -> None:
        self._models = {model.name: model for model in models}
        self._first = models[0] if models else None
        self._templates = templates or {}
        self._embedder = embedder
        self.clock = SystemClock()
        self.folder = None

    def model(self, role: str) -> Any:
        return self._models.get(role, self._first)

    def judge(self) -> ModelJudge:
        return build_judge(self)

    def template(self, name: str) -> str:
        return self._templates.get(name, "")

    def embedder(self, name: str = "") -> Any:
        return self._embedder

    def file(self, name: str) -> Path:
        raise AssertionError("no files here")

    def secret(self, text: str) -> Any:
        raise AssertionError("no secrets here")

    def env(self, name: str) -> str | None:
        return None
