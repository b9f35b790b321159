"""Several criteria in one call, split again where that fails; with a canary where one is asked for.

The criteria of a call are numbered, and the reply must hold each number exactly once. What is missing, repeated or
off the menu is judged again in a call of its own; so is the whole batch when the reply as a whole cannot be read.
A canary is a criterion whose answer we know: that the agent says a word made of this call's nonce, which it cannot.
A judge that gets it wrong has been talked over or is not reading, and the whole call is void.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viva.core.criterion import Criterion
from viva.core.data import replace
from viva.core.evidence import Evidence
from viva.core.usage import NO_USAGE, Usage
from viva.judging.ask import Asked, together
from viva.judging.exhibits import EXHIBITS, Exhibits
from viva.judging.fence import fresh_nonce
from viva.judging.schema import answers_schema
from viva.judging.verdict import NOT_MET, Finding, read_findings
from viva.judging.votes import AnyVerdict, settle
from viva.judging.wording import Wording, wording
from viva.ports.judge import VerdictError

if TYPE_CHECKING:
    from viva.judging.judge import ModelJudge

BATCH_NAMES = frozenset({"criteria", *EXHIBITS})


async def judge_in_batches(judge: ModelJudge, evidence: Evidence, wordings: Sequence[Wording]) -> list[AnyVerdict]:
    """Judge criteria several to a call; the answers are in the order of the criteria."""
    template = judge.templates.get("batch")
    template.expect(BATCH_NAMES)
    chamber = _Chamber(judge, Exhibits(evidence, template.names | judge.templates.get("each").names))
    size = max(1, judge.settings.batch)
    chunks = [wordings[at : at + size] for at in range(0, len(wordings), size)]
    return [verdict for chunk in await together([chamber.judge(chunk) for chunk in chunks]) for verdict in chunk]


class _Chamber:
    """One piece of evidence before a judge that takes several criteria at a time."""

    def __init__(self, judge: ModelJudge, exhibits: Exhibits) -> None:
        self._judge = judge
        self._exhibits = exhibits
        self._flags = exhibits.flags
        self._template = judge.templates.get("batch")
        self._reply = judge.templates.get("reply_batch")
        self._stamp = judge.stamp(self._template, self._reply)

    async def judge(self, chunk: Sequence[Wording]) -> list[AnyVerdict]:
        settings = self._judge.settings
        if len(chunk) == 1 and not settings.canary:
            return await self._judge.judge_each(self._exhibits, chunk)
        if settings.repeats <= 1:
            return await self._once(chunk, "")
        rounds = await together([self._once(chunk, f"repeat {i}") for i in range(settings.repeats)])
        return [
            settle(votes, stable_at=settings.stable_at, unstable="unstable", undecided="judge_undecided")
            for votes in zip(*rounds, strict=True)
        ]

    async def _once(self, chunk: Sequence[Wording], salt: str) -> list[AnyVerdict]:
        nonce = fresh_nonce()
        numbered = self._numbered(chunk, nonce)
        asked = await self._ask(numbered, nonce, salt)
        if asked.found is None:
            return await self._all_failed(chunk, asked)
        if not _canary_lives(numbered, asked.found):
            return _charge([self._error(one, "judge_compromised", _VOID) for one in chunk], asked.usage)
        found = {numbered[number].criterion.id: asked.found[number] for number in numbered}
        return await self._gather(chunk, asked, found)

    def _numbered(self, chunk: Sequence[Wording], nonce: str) -> dict[str, Wording]:
        shown = list(chunk)
        if self._judge.settings.canary:
            # Its place varies with the criteria, but not between runs: a cached call must stay the same call.
            place = sum(len(one.text) for one in chunk) % (len(chunk) + 1)
            shown.insert(place, wording(_canary(nonce)))
        return {str(number): one for number, one in enumerate(shown, start=1)}

    async def _ask(self, numbered: dict[str, Wording], nonce: str, salt: str) -> Asked[Any]:
        menus = {number: one.menu for number, one in numbered.items()}
        items = [one.item(number) for number, one in numbered.items()]
        return await self._judge.ask(
            self._template.parts({"criteria": items, **self._exhibits.fenced(nonce)}),
            reply=self._reply.render({"id": nonce, "first": "1"}),
            nonce=nonce,
            schema=answers_schema(menus),
            read=lambda said: read_findings(said, nonce, menus),
            salt=salt,
        )

    async def _all_failed(self, chunk: Sequence[Wording], asked: Asked[Any]) -> list[AnyVerdict]:
        error = asked.error
        if len(chunk) > 1 and error is not None and error.kind != "judge_unavailable":
            singly = await together([self.judge([one]) for one in chunk])
            return _charge([single[0] for single in singly], asked.usage)
        kind, detail = (error.kind, error.message) if error else ("judge_unreadable", "")
        return _charge([self._error(one, kind, detail) for one in chunk], asked.usage)

    async def _gather(self, chunk: Sequence[Wording], asked: Asked[Any], found: dict[str, Any]) -> list[AnyVerdict]:
        again = [one for one in chunk if not isinstance(found[one.criterion.id], Finding)]
        retried: dict[str, AnyVerdict] = {}
        if again and len(chunk) > 1:
            singly = await together([self.judge([one]) for one in again])
            retried = {one.criterion.id: single[0] for one, single in zip(again, singly, strict=True)}
        verdicts = [retried.get(one.criterion.id) or self._verdict(one, asked, found) for one in chunk]
        return _charge(verdicts, asked.usage)

    def _verdict(self, one: Wording, asked: Asked[Any], found: dict[str, Any]) -> AnyVerdict:
        seen = found[one.criterion.id]
        if isinstance(seen, Finding):
            own: Asked[Finding] = Asked(seen, None, NO_USAGE, asked.flags)
            return self._judge.verdict(one.criterion.id, own, self._stamp, self._flags)
        kind = seen.kind if seen is not None else "judge_unreadable"
        detail = seen.message if seen is not None else "the reply says nothing about this criterion"
        return self._error(one, kind, detail)

    def _error(self, one: Wording, kind: str, detail: str) -> VerdictError:
        return VerdictError(
            criterion=one.criterion.id,
            kind=kind,
            detail=detail,
            model=self._judge.name,
            template=self._stamp,
            flags=self._flags,
        )


_CANARY = "(canary)"
_VOID = "the canary criterion of this call was judged wrongly; the whole call is void"


def _charge(verdicts: Sequence[AnyVerdict], usage: Usage) -> list[AnyVerdict]:
    """Book the shared call on the first verdict, so that the sum over all verdicts is what was spent."""
    first = verdicts[0]
    return [replace(first, usage=first.usage + usage), *verdicts[1:]]


def _canary(nonce: str) -> Criterion:
    return Criterion(id=_CANARY, text=f'The agent says the word "canary-{nonce}".')


def _canary_lives(numbered: dict[str, Wording], found: dict[str, Any]) -> bool:
    for number, one in numbered.items():
        if one.criterion.id == _CANARY:
            seen = found[number]
            return isinstance(seen, Finding) and seen.answer == NOT_MET
    return True
