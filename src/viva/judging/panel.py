"""A panel: several judges on the same question. Where they differ, the report says so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.core.criterion import Criterion
from viva.core.data import content_hash, replace
from viva.core.errors import SuiteError
from viva.core.evidence import Evidence
from viva.judging.ask import together
from viva.judging.votes import AnyVerdict, settle
from viva.ports.judge import Judge, Verdict


class Panel:
    """Judges that vote. More than half must agree; a verdict that was not unanimous is flagged `panel_disagrees`."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        if len(judges) < 2:
            raise SuiteError("a panel needs at least two judges", hint="name several models, best of different makers")
        self.judges = tuple(judges)

    @property
    def name(self) -> str:
        """The names of its members."""
        return " + ".join(judge.name for judge in self.judges)

    @property
    def hash(self) -> str:
        """Of its members and their templates."""
        return content_hash([[judge.name, judge.hash] for judge in self.judges])

    async def judge(self, evidence: Evidence, criteria: Sequence[Criterion]) -> list[AnyVerdict]:
        """Let every member judge each criterion."""
        rounds = await together([_judged(judge, evidence, criteria) for judge in self.judges])
        return [self._settle(votes) for votes in zip(*rounds, strict=True)]

    async def rate(
        self, evidence: Evidence, template: str, values: dict[str, Any], levels: Sequence[str]
    ) -> AnyVerdict:
        """Let every member answer one question."""
        return self._settle(
            await together([_rated(judge, evidence, template, values, levels) for judge in self.judges])
        )

    def _settle(self, votes: Sequence[AnyVerdict]) -> AnyVerdict:
        settled = settle(votes, stable_at=1.0, unstable="panel_disagrees", undecided="panel_split")
        told = "; ".join(_opinion(vote) for vote in votes)
        if isinstance(settled, Verdict):
            return replace(settled, model=self.name, reason=told)
        return replace(settled, model=self.name, detail=f"{settled.detail} ({told})")


def _opinion(vote: AnyVerdict) -> str:
    if isinstance(vote, Verdict):
        return f"{vote.model}: {vote.answer}, {vote.reason}" if vote.reason else f"{vote.model}: {vote.answer}"
    return f"{vote.model}: no verdict ({vote.kind})"


async def _judged(judge: Judge, evidence: Evidence, criteria: Sequence[Criterion]) -> list[AnyVerdict]:
    return await judge.judge(evidence, criteria)


async def _rated(
    judge: Judge, evidence: Evidence, template: str, values: dict[str, Any], levels: Sequence[str]
) -> AnyVerdict:
    return await judge.rate(evidence, template, values, levels)
