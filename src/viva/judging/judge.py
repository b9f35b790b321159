"""The judge: one criterion and the evidence in, one verdict out.

The prompt begins with what stays the same (how to judge, then the criterion) and ends with what changes (the
evidence, the id of the call), so that providers' prompt caches find the same beginning again. Each call has a fresh
nonce of 128 bits: it closes the fences of that call, and the verdict must repeat it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from viva.core.criterion import Criterion
from viva.core.data import Data, content_hash
from viva.core.evidence import Evidence
from viva.judging.ask import Asked, ask, together
from viva.judging.exhibits import EXHIBITS, Exhibits
from viva.judging.fence import fresh_nonce
from viva.judging.schema import answer_schema
from viva.judging.template import Shelf, Template
from viva.judging.verdict import Finding, read_finding, reason_flags
from viva.judging.votes import AnyVerdict, settle
from viva.judging.wording import Wording, wording
from viva.ports.judge import Verdict, VerdictError
from viva.ports.kit import Kit
from viva.ports.model import ChatMessage, Model, ModelReply, ModelRequest

EACH_NAMES = frozenset({"criterion", "polarity", "menu", *EXHIBITS})


class JudgeSettings(Data, frozen=True):
    """How a judge judges; everything here changes its numbers, and is part of its hash."""

    temperature: float | None = 0.0
    repeats: int = 1
    """Ask so often, and take the majority."""
    stable_at: float = 0.8
    """A verdict on which fewer of the repeats agree is flagged `unstable`."""
    batch: int = 1
    """So many criteria per call."""
    canary: bool = False
    """Add to each call a criterion whose answer is known; a wrong answer voids the call."""
    max_tokens: int | None = None
    timeout_s: float = 120.0


@dataclass(frozen=True, slots=True)
class _Inquiry:
    """One question, before it is put: what it is about, with which template, on which exhibits."""

    template: Template
    about: str
    exhibits: Exhibits
    values: dict[str, Any]
    menu: tuple[str, ...]
    flags: tuple[str, ...]


class ModelJudge:
    """A judge that is one model."""

    def __init__(self, model: Model, templates: Shelf | None = None, settings: JudgeSettings | None = None) -> None:
        self.model = model
        self.settings = settings or JudgeSettings()
        self.templates = templates or Shelf()
        self._each = self.templates.get("each")
        self._each.expect(EACH_NAMES)
        self._reply = self.templates.get("reply")
        self._stamps: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The model that judges."""
        return self.model.name

    @property
    def hash(self) -> str:
        """Of the templates and settings in use."""
        used = self.templates.hash(("each", "batch", "reply", "reply_batch", "repair"))
        return content_hash([used, self.settings])

    def stamp(self, *templates: Template) -> str:
        """The hash that a verdict carries: of the templates that asked for it."""
        key = " ".join(template.hash for template in templates)
        if key not in self._stamps:
            self._stamps[key] = content_hash(key)
        return self._stamps[key]

    async def judge(self, evidence: Evidence, criteria: Sequence[Criterion]) -> list[AnyVerdict]:
        """Judge each criterion, all at once; the answers are in the order of the criteria."""
        if not criteria:
            return []
        wordings = [wording(criterion) for criterion in criteria]
        if self.settings.batch > 1 or self.settings.canary:
            from viva.judging.batch import judge_in_batches

            return await judge_in_batches(self, evidence, wordings)
        return await self.judge_each(Exhibits(evidence, self._each.names), wordings)

    async def judge_each(self, exhibits: Exhibits, wordings: Sequence[Wording]) -> list[AnyVerdict]:
        """Judge each criterion in a call of its own."""
        flags = exhibits.flags
        return await together([self._judge_one(exhibits, one, flags) for one in wordings])

    async def rate(
        self, evidence: Evidence, template: str, values: dict[str, Any], levels: Sequence[str]
    ) -> AnyVerdict:
        """Ask one question from a named template whose answer is one of the levels."""
        asked = self.templates.get(template)
        asked.expect({*EXHIBITS, *values})
        exhibits = Exhibits(evidence, asked.names, values)
        return await self._repeated(_Inquiry(asked, template, exhibits, {}, tuple(levels), exhibits.flags))

    async def _judge_one(self, exhibits: Exhibits, one: Wording, flags: tuple[str, ...]) -> AnyVerdict:
        return await self._repeated(_Inquiry(self._each, one.criterion.id, exhibits, one.values(), one.menu, flags))

    async def _repeated(self, inquiry: _Inquiry) -> AnyVerdict:
        settings = self.settings
        if settings.repeats <= 1:
            return await self._once(inquiry, "")
        results = await together([self._once(inquiry, f"repeat {i}") for i in range(settings.repeats)])
        return settle(results, stable_at=settings.stable_at, unstable="unstable", undecided="judge_undecided")

    async def _once(self, inquiry: _Inquiry, salt: str) -> AnyVerdict:
        nonce = fresh_nonce()
        menu = inquiry.menu
        asked = await self.ask(
            inquiry.template.parts({**inquiry.values, **inquiry.exhibits.fenced(nonce)}),
            reply=self._reply.render({"id": nonce, "answers": menu}),
            nonce=nonce,
            schema=answer_schema(menu),
            read=lambda said: read_finding(said, nonce, menu),
            salt=salt,
        )
        return self.verdict(inquiry.about, asked, self.stamp(inquiry.template, self._reply), inquiry.flags)

    async def ask(
        self,
        parts: Sequence[tuple[str, str]],
        *,
        reply: str,
        nonce: str,
        schema: dict[str, Any],
        read: Callable[[ModelReply], Any],
        salt: str = "",
    ) -> Asked[Any]:
        """Put a rendered question to the model, the form of the reply last; repair once."""
        settings = self.settings
        messages = [ChatMessage(role="system" if role == "system" else "user", text=text) for role, text in parts]
        messages[-1] = ChatMessage(role=messages[-1].role, text=f"{messages[-1].text}\n\n{reply}")
        request = ModelRequest(
            messages=tuple(messages),
            schema=schema,
            schema_name="verdict",
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            timeout_s=settings.timeout_s,
            purpose="judge",
            nonce=nonce,
            salt=salt,
        )
        return await ask(self.model, request, read, lambda problem: self._repair(problem, reply))

    def verdict(self, about: str, asked: Asked[Finding], template: str, flags: tuple[str, ...]) -> AnyVerdict:
        """Turn what came of a question into a verdict or its error."""
        if asked.found is None:
            error = asked.error
            return VerdictError(
                criterion=about,
                kind=error.kind if error else "judge_unreadable",
                detail=error.message if error else "",
                model=self.name,
                usage=asked.usage,
                template=template,
                flags=flags + asked.flags,
            )
        found = asked.found
        return Verdict(
            criterion=about,
            answer=found.answer,
            reason=found.reason,
            model=self.name,
            usage=asked.usage,
            template=template,
            flags=flags + asked.flags + reason_flags(found.answer, found.reason),
        )

    def _repair(self, problem: str, reply: str) -> str:
        return self.templates.get("repair").render({"problem": problem, "reply": reply})


def build_judge(kit: Kit, settings: JudgeSettings | None = None, model: str = "judge") -> ModelJudge:
    """The judge of a run: the model of a role (or one named outright) with the suite's templates."""
    return ModelJudge(kit.model(model), Shelf(replaced=kit.template), settings)
