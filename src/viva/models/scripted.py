"""A model that answers from rules: what demos and tests use, and what needs no key and no network."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from viva.core.clock import Clock
from viva.core.errors import ModelError, SetupError
from viva.core.text import shorten
from viva.core.usage import Usage
from viva.models.failures import failure
from viva.models.gate import GateSettings
from viva.models.http import ModelSettings
from viva.models.rules import Answer, Prompt, Rules, read_rules
from viva.ports.kit import Kit
from viva.ports.model import ModelReply, ModelRequest

CHARS_PER_TOKEN = 4


class ScriptedModel:
    """`scripted:FILE`: the first rule that applies answers; a prompt no rule applies to is an error."""

    Settings = ModelSettings
    gate_settings = GateSettings(start=512, ceiling=512)

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        path = Path(settings.path) if settings.path else kit.file(settings.model)
        try:
            raw = path.read_bytes()
        except OSError as error:
            raise SetupError(f"cannot read the rules of {settings.model!r}: {error.strerror}") from error
        self._begin(f"scripted:{settings.model}", read_rules(raw, settings.model), kit.clock)

    @classmethod
    def of(cls, rules: Rules, clock: Clock, name: str = "scripted:rules") -> ScriptedModel:
        """A scripted model from rules made in Python."""
        model = cls.__new__(cls)
        model._begin(name, rules, clock)
        return model

    def _begin(self, name: str, rules: Rules, clock: Clock) -> None:
        self.name = name
        self.endpoint = f"rules:{rules.hash}"
        self.account = name
        self._rules = rules
        self._clock = clock

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer from the rules."""
        started = self._clock.monotonic()
        answer = self._rules.answer(prompt_of(request, self.name))
        if answer is None:
            raise self._unmatched(request)
        await self._wait(answer, request)
        self._fail(answer)
        text = answer.text[: len(answer.text) // 2] if answer.fault == "truncated" else answer.text
        return ModelReply(
            text="" if answer.fault == "empty" else text,
            model=self.name,
            usage=answer.usage or _counted(request, text),
            finish=answer.finish,
            refused=answer.refused or answer.finish in ("refusal", "content_filter"),
            latency_ms=(self._clock.monotonic() - started) * 1000,
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Answer word by word."""
        reply = await self.complete(request)
        for word in reply.text.splitlines(keepends=True):
            yield word

    async def close(self) -> None:
        """Nothing is held."""

    async def _wait(self, answer: Answer, request: ModelRequest) -> None:
        wait_s = request.timeout_s if answer.fault in ("hang", "drip") else answer.latency_s
        if wait_s:
            await self._clock.sleep(min(wait_s, request.timeout_s))
        if wait_s >= request.timeout_s:
            raise ModelError(f"{self.name} took longer than {request.timeout_s:g} s", kind="timed_out", retryable=True)

    def _fail(self, answer: Answer) -> None:
        if answer.status != 200:
            raise failure(answer.status, answer.headers, answer.body, self.name, self._clock.now())
        if answer.fault == "reset":
            raise ModelError(f"{self.name} broke the connection", kind="reset", retryable=True)
        if answer.fault == "malformed":
            raise ModelError(f"{self.name} answered with what is no completion", kind="unreadable", retryable=True)

    def _unmatched(self, request: ModelRequest) -> ModelError:
        about = f"purpose {request.purpose!r}, schema {request.schema_name!r}" if request.purpose else "no purpose"
        return ModelError(
            f"{self.name}: no rule applies to the prompt {shorten(request.messages[-1].text, 200)!r} ({about})",
            kind="unscripted",
            hint="add a rule for it, or a last one without `when`",
        )


def prompt_of(request: ModelRequest, model: str) -> Prompt:
    """What rules may see of a request."""
    return Prompt(
        messages=tuple((message.role, message.text) for message in request.messages),
        model=model,
        schema_name=request.schema_name if request.schema is not None else "",
        purpose=request.purpose,
        nonce=request.nonce,
    )


def _counted(request: ModelRequest, text: str) -> Usage:
    read = sum(len(message.text) for message in request.messages)
    return Usage(calls=1, input_tokens=read // CHARS_PER_TOKEN, output_tokens=len(text) // CHARS_PER_TOKEN)
