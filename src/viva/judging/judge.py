"""The judge: one criterion and the evidence in, one verdict out.

The prompt begins with what stays the same (how to judge, then the criterion) and ends with what changes (the
evidence, the id of the call), so that providers' prompt caches find the same beginning again. Each call has a fresh
nonce of 128 bits: it closes the fences of that call, and the verdict must repeat it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from viva.core.criterion import Criterion
from viva.core.data import Data, content_hash, replace
from viva.core.errors import JudgeError
from viva.core.evidence import Evidence
from viva.judging.ask import Asked, ask, together
from viva.judging.exhibits import EXHIBITS, Exhibits
from viva.judging.fence import fresh_nonce
from viva.judging.inquiry import Inquiry, Keys, told
from viva.judging.outline import Outlines
from viva.judging.schema import answer_schema
from viva.judging.template import Shelf, Template
from viva.judging.verdict import Finding, read_finding, reason_flags
from viva.judging.votes import AnyVerdict, settle
from viva.judging.wording import Wording, wording
from viva.ports.judge import Verdict, VerdictError
from viva.ports.kit import Kit
from viva.ports.model import ChatMessage, Memory, Model, ModelReply, ModelRequest

_CACHED = ("cached",)
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


class ModelJudge:
    """A judge that is one model."""

    def __init__(self, model: Model, templates: Shelf | None = None, settings: JudgeSettings | None = None) -> None:
        self.model = model
        self.settings = settings or JudgeSettings()
        self.templates = templates or Shelf()
        self._each = self.templates.get("each")
        self._each.expect(EACH_NAMES)
        self._reply = self.templates.get("reply")
        self._outlines = Outlines()
        self._stamps: dict[str, str] = {}
        self._keys = Keys(self._request([("user", "question")], "reply", schema=answer_schema(("a", "b"))), self._reply)

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
        each, flags, stamp = self._each, exhibits.flags, self.stamp(self._each, self._reply)
        return await self._settled(
            [
                Inquiry(each, one.criterion.id, exhibits, one.values(), one.menu, one.told, stamp, flags)
                for one in wordings
            ]
        )

    async def rate(
        self, evidence: Evidence, template: str, values: dict[str, Any], levels: Sequence[str]
    ) -> AnyVerdict:
        """Ask one question from a named template whose answer is one of the levels."""
        asked = self.templates.get(template)
        asked.expect({*EXHIBITS, *values})
        exhibits, menu = Exhibits(evidence, asked.names, values), tuple(levels)
        stamp = self.stamp(asked, self._reply)
        inquiry = Inquiry(asked, template, exhibits, {}, menu, told((), menu), stamp, exhibits.flags)
        return (await self._settled([inquiry]))[0]

    async def _settled(self, inquiries: list[Inquiry]) -> list[AnyVerdict]:
        """One verdict for each question, repeated where the settings say so."""
        settings, repeats = self.settings, self.settings.repeats
        if repeats <= 1:
            return await self._answered(inquiries)
        votes = await self._answered([replace(one, salt=f"repeat {i}") for one in inquiries for i in range(repeats)])
        return [
            settle(
                votes[at : at + repeats],
                stable_at=settings.stable_at,
                unstable="unstable",
                undecided="judge_undecided",
            )
            for at in range(0, len(votes), repeats)
        ]

    async def _answered(self, inquiries: list[Inquiry]) -> list[AnyVerdict]:
        """Take what the model has kept, all at once, then put what is left to it, all at once."""
        memory: Memory | None = getattr(self.model, "memory", None)
        if memory is None:
            return await together([self._once(inquiry) for inquiry in inquiries])
        keys = [self._keys.of(inquiry) for inquiry in inquiries]
        verdicts = await self._recalled(memory, inquiries, keys)
        owed = [at for at, verdict in enumerate(verdicts) if verdict is None]
        fresh = await together([self._once(inquiries[at], keys[at]) for at in owed])
        for at, verdict in zip(owed, fresh, strict=True):
            verdicts[at] = verdict
        return [verdict for verdict in verdicts if verdict is not None]

    async def _recalled(self, memory: Memory, inquiries: list[Inquiry], keys: list[str]) -> list[AnyVerdict | None]:
        nonce = fresh_nonce()
        kept = await memory.recall(keys, nonce)
        return [
            None if reply is None else self._replayed(inquiry, reply, nonce)
            for inquiry, reply in zip(inquiries, kept, strict=True)
        ]

    def _replayed(self, inquiry: Inquiry, reply: ModelReply, nonce: str) -> AnyVerdict | None:
        """Read a kept reply as strictly as a new one; what cannot be read is asked, and repaired, as usual."""
        try:
            found = read_finding(reply, nonce, inquiry.menu)
        except JudgeError:
            return None
        return self.verdict(inquiry.about, Asked(found, None, reply.usage, _CACHED), inquiry.stamp, inquiry.flags)

    async def _once(self, inquiry: Inquiry, key: str = "") -> AnyVerdict:
        nonce = fresh_nonce()
        menu, draw = inquiry.menu, self._outlines.parts
        form = draw(self._reply, menu, {"answers": menu}, {"id": nonce})
        asked = await self.ask(
            draw(inquiry.template, inquiry.told, inquiry.values, inquiry.exhibits.fenced(nonce)),
            reply="\n\n".join([text for _, text in form]),
            nonce=nonce,
            schema=answer_schema(menu),
            read=lambda said: read_finding(said, nonce, menu),
            salt=inquiry.salt,
            key=key,
        )
        return self.verdict(inquiry.about, asked, inquiry.stamp, inquiry.flags)

    async def ask(
        self,
        parts: Sequence[tuple[str, str]],
        *,
        reply: str,
        nonce: str,
        schema: dict[str, Any],
        read: Callable[[ModelReply], Any],
        salt: str = "",
        key: str = "",
    ) -> Asked[Any]:
        """Put a rendered question to the model, the form of the reply last; repair once."""
        request = self._request(parts, reply, schema=schema, nonce=nonce, salt=salt, key=key)
        return await ask(self.model, request, read, lambda problem: self._repair(problem, reply))

    def _request(
        self,
        parts: Sequence[tuple[str, str]],
        reply: str,
        *,
        schema: dict[str, Any],
        nonce: str = "",
        salt: str = "",
        key: str = "",
    ) -> ModelRequest:
        settings = self.settings
        messages = [ChatMessage(role="system" if role == "system" else "user", text=text) for role, text in parts]
        messages[-1] = ChatMessage(role=messages[-1].role, text=f"{messages[-1].text}\n\n{reply}")
        return ModelRequest(
            messages=tuple(messages),
            schema=schema,
            schema_name="verdict",
            temperature=settings.temperature,
            max_tokens=settings.max_tokens,
            timeout_s=settings.timeout_s,
            purpose="judge",
            nonce=nonce,
            salt=salt,
            key=key,
        )

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
