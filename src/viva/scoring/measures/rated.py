"""Ratings from 1 to 5 by the judge: coherence, fluency, relevance, groundedness, similarity, retrieval, tone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from viva.core.criterion import Criterion
from viva.core.data import Data, content_hash, replace
from viva.core.evidence import Evidence
from viva.core.score import AnyScore, Score, ScoreError
from viva.judging.ask import together
from viva.judging.template import Shelf
from viva.ports.judge import Verdict, VerdictError
from viva.ports.kit import Kit
from viva.registry import Registry
from viva.scoring.criteria import judge_detail, rating_error, rating_score
from viva.scoring.scorer import AskingScorer

LEVELS = ("1", "2", "3", "4", "5")

INPUTS: dict[str, Callable[[Evidence], Any]] = {
    "query": lambda evidence: evidence.case.input,
    "response": lambda evidence: evidence.text,
    "context": lambda evidence: evidence.case.context,
    "expected": lambda evidence: evidence.case.expected,
}
"""Where a rating finds what it needs."""
_WHERE = {
    "query": "the case's `input`",
    "response": "a reply of the agent",
    "context": "the case's `context`",
    "expected": "the case's `expected`",
}


class RatedSettings(Data, frozen=True):
    """How a rating is taken."""

    at_least: int | None = None
    """The rating from which it passes; without it, it has no opinion on passing."""


class Rated(AskingScorer):
    """One question to the judge, answered with a whole number from 1 to 5; the score is (rating - 1) / 4."""

    Settings: ClassVar[type[Data]] = RatedSettings
    shorthand: ClassVar[str] = "at_least"
    name: str
    version = "1"
    needs: ClassVar[tuple[str, ...]] = ("response",)
    may_use: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: RatedSettings, kit: Kit) -> None:
        self.settings = settings
        self.judge = kit.judge()
        self._template = Shelf(replaced=kit.template).get(self.name).hash

    @property
    def hash(self) -> str:
        """Of the judge, the template and these settings."""
        return content_hash([self.name, self.judge.name, self.judge.hash, self._template, self.settings])

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Ask for the rating."""
        if missing := missing_input(self.name, evidence, self.needs):
            return [missing]
        values = self.values(evidence)
        verdict = await self.judge.rate(evidence, self.name, values, LEVELS)
        if isinstance(verdict, VerdictError):
            return [rating_error(self.name, verdict, "measures")]
        return [self._passing(rating_score(self.name, verdict, LEVELS, "measures"))]

    def values(self, evidence: Evidence) -> dict[str, Any]:
        """What the template is given."""
        return {name: INPUTS[name](evidence) for name in (*self.needs, *self.may_use)}

    def _passing(self, score: Score) -> Score:
        if self.settings.at_least is None or score.raw is None:
            return score
        return replace(score, passed=score.raw >= self.settings.at_least)


class Coherence(Rated):
    """How well the ideas of the reply follow from each other."""

    name = "coherence"
    needs = ("query", "response")


class Fluency(Rated):
    """How well the language of the reply reads."""

    name = "fluency"


class Relevance(Rated):
    """How far the reply answers what was asked."""

    name = "relevance"
    needs = ("query", "response")


class Groundedness(Rated):
    """How far the reply keeps to the documents it had."""

    name = "groundedness"
    needs = ("response", "context")
    may_use = ("query",)


class Similarity(Rated):
    """How far the reply means the same as the expected answer."""

    name = "similarity"
    needs = ("query", "response", "expected")


class Retrieval(Rated):
    """How well the documents found serve the question."""

    name = "retrieval"
    needs = ("query", "context")


class ToneSettings(RatedSettings, frozen=True):
    """How tone is rated."""

    wanted: str = ""
    """The tone that is wanted, in words, where it is a special one."""


class Tone(Rated):
    """How the agent treats its user over the whole conversation."""

    Settings = ToneSettings
    name = "tone"

    def values(self, evidence: Evidence) -> dict[str, Any]:
        """The wanted tone; the conversation itself is always there."""
        wanted = self.settings.wanted if isinstance(self.settings, ToneSettings) else ""
        return {"wanted": wanted or None}


class Qa(AskingScorer):
    """The six numbers of a question-answering evaluation, named `qa.f1`, `qa.groundedness`, …"""

    Settings = RatedSettings
    name = "qa"
    version = "1"
    parts: ClassVar[tuple[type[Rated], ...]] = (Groundedness, Relevance, Coherence, Fluency, Similarity)

    def __init__(self, settings: RatedSettings, kit: Kit) -> None:
        self.settings = settings
        self._f1 = Registry().build("scorers", "token_f1", {}, kit)
        self._rated = [part(settings, kit) for part in self.parts]

    @property
    def hash(self) -> str:
        """Of all its parts."""
        return content_hash([self._f1.hash, *(part.hash for part in self._rated)])

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Take all six at once."""
        if missing := missing_input("f1", evidence, ("response", "expected")):
            f1: AnyScore = missing
        else:
            f1 = (await self._f1.score(evidence))[0]
        rated = await together([_only(part, evidence) for part in self._rated])
        named = [("f1", f1), *((part.name, score) for part, score in zip(self._rated, rated, strict=True))]
        return [replace(score, name=f"{self.name}.{name}", section="measures") for name, score in named]


class Completion(AskingScorer):
    """Whether the agent did what it was asked, and whether it checked that it worked: two scores, 1 or 0."""

    Settings = Data
    name = "completion"
    version = "1"
    criteria: ClassVar[tuple[Criterion, ...]] = (
        Criterion(
            id="completed",
            text="The agent carried out the whole of what it was asked. Asking for more information, only explaining "
            "or planning how it could be done, or ending on an error it did not recover from, is not carrying it out.",
        ),
        Criterion(
            id="verified",
            text="After acting, the agent checked the result (read it back, tested it, looked at what was returned) "
            "before it said that it was done.",
        ),
    )

    def __init__(self, settings: Data, kit: Kit) -> None:
        self.judge = kit.judge()

    @property
    def hash(self) -> str:
        """Of the judge and the two criteria."""
        return content_hash([self.judge.name, self.judge.hash, self.criteria])

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Ask both."""
        if missing := missing_input(self.name, evidence, ("response",)):
            return [missing]
        verdicts = await self.judge.judge(evidence, self.criteria)
        return [_flag(f"{self.name}.{one.criterion}", one) for one in verdicts]


def missing_input(name: str, evidence: Evidence, needs: Sequence[str]) -> ScoreError | None:
    """The error that names an input which is not there; None when all are."""
    for need in needs:
        found = INPUTS[need](evidence)
        if found is None or (need != "response" and found in ("", [], {})):
            detail = f"{name} needs `{need}`: {_WHERE[need]}, which is missing"
            return ScoreError(name=name, kind="missing_input", detail=detail, section="measures")
    return None


async def _only(part: Rated, evidence: Evidence) -> AnyScore:
    return (await part.score(evidence))[0]


def _flag(name: str, verdict: Verdict | VerdictError) -> AnyScore:
    if isinstance(verdict, VerdictError):
        return rating_error(name, verdict, "measures")
    if verdict.answer not in ("met", "not_met"):
        return ScoreError(name=name, kind="cannot_tell", detail=verdict.reason, section="measures", usage=verdict.usage)
    return Score(
        name=name,
        value=1.0 if verdict.answer == "met" else 0.0,
        passed=verdict.answer == "met",
        reason=verdict.reason,
        section="measures",
        hash=verdict.template,
        detail=judge_detail(verdict),
        usage=verdict.usage,
        flags=verdict.flags,
    )
