"""Measures on claims: how far a reply states the facts of the expected answer, and whether it is the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from viva.core.data import Data, content_hash
from viva.core.evidence import Evidence
from viva.core.score import AnyScore, Score, ScoreError
from viva.core.usage import NO_USAGE, Usage
from viva.judging.ask import Asked, together
from viva.judging.claims import compare, support, take_apart
from viva.judging.judge import JudgeSettings, build_judge
from viva.ports.kit import Kit
from viva.scoring.measures.rated import missing_input
from viva.scoring.scorer import AskingScorer


class ClaimSettings(Data, frozen=True):
    """How factual correctness is measured."""

    mode: Literal["f1", "precision", "recall"] = "f1"
    at_least: float | None = None
    """The value from which it passes."""
    temperature: float | None = 0.0


class FactualCorrectness(AskingScorer):
    """Takes reply and expected answer apart into claims, and checks each side's claims against the other."""

    Settings = ClaimSettings
    shorthand = "mode"
    name = "factual_correctness"
    version = "1"

    def __init__(self, settings: ClaimSettings, kit: Kit) -> None:
        self.settings = settings
        self.judge = build_judge(kit, JudgeSettings(temperature=settings.temperature))

    @property
    def hash(self) -> str:
        """Of the templates and these settings."""
        templates = self.judge.templates.hash(("claims", "reply_claims", "support", "reply_batch"))
        return content_hash([self.judge.name, templates, self.settings])

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Four calls: two to take apart, two to check."""
        if missing := missing_input(self.name, evidence, ("response", "expected")):
            return [missing]
        query, response, expected = evidence.case.input, evidence.text, evidence.case.expected
        apart = await together([take_apart(self.judge, text, query) for text in (response, expected)])
        if failed := self._failed(apart):
            return [failed]
        said, wanted = (one.found or () for one in apart)
        checks = await together([support(self.judge, said, expected), support(self.judge, wanted, response)])
        if failed := self._failed([*apart, *checks]):
            return [failed]
        true = [claim for claim, holds in zip(said, checks[0].found or (), strict=True) if holds]
        missed = [claim for claim, holds in zip(wanted, checks[1].found or (), strict=True) if not holds]
        false = [claim for claim in said if claim not in true]
        return [self._score(true, false, missed, _spent([*apart, *checks]))]

    def _score(self, true: list[str], false: list[str], missed: list[str], usage: Usage) -> AnyScore:
        found = ratios(len(true), len(false), len(missed))
        value = found[self.settings.mode]
        if value is None:
            detail = f"no claims to compute {self.settings.mode} from"
            return ScoreError(name=self.name, kind="no_claims", detail=detail, section="measures", usage=usage)
        at_least = self.settings.at_least
        return Score(
            name=self.name,
            value=value,
            passed=None if at_least is None else value >= at_least,
            reason=f"{len(true)} claims hold, {len(false)} do not, {len(missed)} are missing",
            section="measures",
            hash=self.hash,
            detail={"judge": self.judge.name, **found, "supported": true, "unsupported": false, "missing": missed},
            usage=usage,
        )

    def _failed(self, asked: Sequence[Asked[Any]]) -> ScoreError | None:
        for one in asked:
            if one.error is not None:
                kind, detail = one.error.kind, one.error.message
                return ScoreError(name=self.name, kind=kind, detail=detail, section="measures", usage=_spent(asked))
        return None


class EquivalenceSettings(Data, frozen=True):
    """How answers are compared."""

    temperature: float | None = 0.0


class AnswerEquivalence(AskingScorer):
    """Whether the reply gives the same answer as the expected one: 1 or 0, with the judge's confidence beside it."""

    Settings = EquivalenceSettings
    name = "answer_equivalence"
    version = "1"

    def __init__(self, settings: EquivalenceSettings, kit: Kit) -> None:
        self.settings = settings
        self.judge = build_judge(kit, JudgeSettings(temperature=settings.temperature))

    @property
    def hash(self) -> str:
        """Of the templates and these settings."""
        templates = self.judge.templates.hash(("equivalence", "reply_confident"))
        return content_hash([self.judge.name, templates, self.settings])

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """One call."""
        if missing := missing_input(self.name, evidence, ("query", "response", "expected")):
            return [missing]
        asked = await compare(self.judge, evidence.case.input, evidence.case.expected, evidence.text)
        found = asked.found
        if found is None:
            kind, detail = (asked.error.kind, asked.error.message) if asked.error else ("judge_unreadable", "")
            return [ScoreError(name=self.name, kind=kind, detail=detail, section="measures", usage=asked.usage)]
        return [
            Score(
                name=self.name,
                value=1.0 if found.answer == "yes" else 0.0,
                passed=found.answer == "yes",
                reason=found.reason,
                section="measures",
                hash=self.hash,
                detail={"judge": self.judge.name, "answer": found.answer, **found.extra},
                usage=asked.usage,
                flags=asked.flags,
            )
        ]


def ratios(true: int, false: int, missed: int) -> dict[str, float | None]:
    """Precision, recall and F1 of counted claims; None where there is nothing to divide by."""
    return {
        "precision": true / (true + false) if true + false else None,
        "recall": true / (true + missed) if true + missed else None,
        "f1": 2 * true / (2 * true + false + missed) if true + false + missed else None,
    }


def _spent(asked: Sequence[Asked[Any]]) -> Usage:
    return sum((one.usage for one in asked), NO_USAGE)
