"""The scorers of criteria: each by itself, or all in one rating. The judge decides; the arithmetic is ours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from viva.core.case import Case
from viva.core.criterion import Criterion
from viva.core.data import content_hash, replace
from viva.core.errors import SuiteError
from viva.core.evidence import Evidence
from viva.core.score import AnyScore, Score, ScoreError, ScoreSkipped
from viva.judging.ask import together
from viva.judging.controls import control
from viva.judging.judge import JudgeSettings, build_judge
from viva.judging.panel import Panel
from viva.judging.template import Shelf
from viva.judging.verdict import CANNOT_TELL
from viva.judging.votes import AnyVerdict
from viva.ports.judge import Judge, Verdict, VerdictError
from viva.ports.kit import Kit
from viva.scoring.early import Course
from viva.scoring.scorer import UNSCALED, AskingScorer

CONTROLS = "judge_false_positives"
"""The score of null-answer controls: the share of requirements the judge found met in an answer that says nothing."""
HOLISTIC_LEVELS = tuple(str(rating) for rating in range(1, 11))


class EachSettings(JudgeSettings, frozen=True):
    """How criteria are judged one by one."""

    panel: tuple[str, ...] = ()
    """Names of models that judge together, in place of the run's judge."""
    cannot_tell: Literal["error", "not_met"] = "error"
    """What `cannot_tell` means: no score (the default), or not met."""
    stop_early: bool = False
    """Judge the heaviest criteria first, and stop when the rest cannot change whether the threshold holds."""
    pass_above: float = 0.6
    """A graded criterion passes above this value."""
    controls: int = 0
    """In so many trials the judge is shown a null answer too; how often it credits one stands beside the scores."""


class Each(AskingScorer):
    """Judges each criterion by itself: one score per criterion, 1 or 0 or the value of a level.

    For a pitfall, 1 means that the problem is present, and its weight is negative.
    """

    Settings = EachSettings
    name = "each"
    version = "1"

    def __init__(self, settings: EachSettings, kit: Kit) -> None:
        self.settings = settings
        self.judge = choose_judge(kit, settings, settings.panel)
        self._controls = 0

    @property
    def hash(self) -> str:
        """Of the judge's templates and these settings."""
        return content_hash([self.judge.name, self.judge.hash, self.settings])

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Judge the criteria of the case."""
        if evidence.transcript.last_reply is None:
            return [_no_reply(criterion) for criterion in evidence.case.criteria]
        if self._controls >= self.settings.controls:
            return await self._score_criteria(evidence)
        self._controls += 1
        scores, found = await together([self._score_criteria(evidence), self._control(evidence.case, self._controls)])
        return [*scores, *found]

    async def _score_criteria(self, evidence: Evidence) -> list[AnyScore]:
        criteria = evidence.case.criteria
        course = Course.of(evidence.case) if self.settings.stop_early else None
        if course is None:
            verdicts = await self.judge.judge(evidence, criteria)
            return [self._score(*pair) for pair in zip(criteria, verdicts, strict=True)]
        return await self._score_in_waves(evidence, course)

    async def _score_in_waves(self, evidence: Evidence, course: Course) -> list[AnyScore]:
        found: dict[str, AnyScore] = {}
        while wave := course.next_wave():
            verdicts = await self.judge.judge(evidence, wave)
            for criterion, verdict in zip(wave, verdicts, strict=True):
                found[criterion.id] = score = self._score(criterion, verdict)
                course.learn(criterion, score)
        return [found.get(criterion.id) or _skipped(criterion, course) for criterion in evidence.case.criteria]

    async def _control(self, case: Case, number: int) -> list[AnyScore]:
        found = await control(self.judge, case, number)
        if found.rate is None:
            return [ScoreSkipped(name=CONTROLS, reason=str(found), weight=0.0, section="controls")]
        # Unscaled: it says something about the judge, nothing about the agent, and no formula counts it.
        return [
            Score(
                name=CONTROLS,
                value=found.rate,
                raw=found.rate,
                reason="; ".join(found.examples) or str(found),
                weight=0.0,
                section="controls",
                detail={"asked": found.asked, "false_positives": found.false_positives, "errors": found.errors},
                usage=found.usage,
                flags=(UNSCALED,),
            )
        ]

    def _score(self, criterion: Criterion, verdict: AnyVerdict) -> AnyScore:
        if isinstance(verdict, VerdictError):
            return _error(criterion, verdict.kind, verdict.detail, verdict)
        if verdict.answer == CANNOT_TELL and self.settings.cannot_tell == "error":
            return _error(criterion, "cannot_tell", verdict.reason, verdict)
        value = value_of(criterion, verdict.answer)
        return Score(
            name=criterion.id,
            value=value,
            reason=verdict.reason,
            passed=self._passes(criterion, value),
            weight=criterion.signed_weight,
            section=criterion.section,
            hash=verdict.template,
            detail=_detail(criterion, verdict),
            usage=verdict.usage,
            flags=verdict.flags,
        )

    def _passes(self, criterion: Criterion, value: float) -> bool:
        good = value > self.settings.pass_above if criterion.levels else value == 1.0
        if not criterion.pitfall:
            return good
        return value == 0.0 if not criterion.levels else not good


class HolisticSettings(JudgeSettings, frozen=True):
    """How all criteria are rated at once."""

    panel: tuple[str, ...] = ()
    """Names of models that judge together, in place of the run's judge."""


class Holistic(AskingScorer):
    """Rates a conversation against all criteria at once: one rating from 1 to 10, as one score from 0 to 1."""

    Settings = HolisticSettings
    name = "holistic"
    version = "1"

    def __init__(self, settings: HolisticSettings, kit: Kit) -> None:
        if settings.batch > 1 or settings.canary:
            raise SuiteError("holistic asks one question: it has no batches and no canary", hint="use each for those")
        self.settings = settings
        self.judge = choose_judge(kit, settings, settings.panel)
        self._template = Shelf(replaced=kit.template).get(self.name).hash

    @property
    def hash(self) -> str:
        """Of the judge's templates and these settings."""
        return content_hash([self.judge.name, self.judge.hash, self._template, self.settings])

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Ask for one rating."""
        if evidence.transcript.last_reply is None:
            return [ScoreError(name=self.name, kind="no_reply", detail=_SILENT, section="criteria")]
        told = [_told(criterion) for criterion in evidence.case.criteria]
        verdict = await self.judge.rate(evidence, "holistic", {"criteria": told}, HOLISTIC_LEVELS)
        if isinstance(verdict, VerdictError):
            return [rating_error(self.name, verdict, "criteria")]
        rated = rating_score(self.name, verdict, HOLISTIC_LEVELS, "criteria")
        return [replace(rated, scorer=f"{self.name}@{self.version}")]


def choose_judge(kit: Kit, settings: JudgeSettings, panel: Sequence[str] = ()) -> Judge:
    """The run's judge, unless the suite wants it to judge in another way, or wants a panel."""
    plain = JudgeSettings(**{name: getattr(settings, name) for name in JudgeSettings.__struct_fields__})
    if panel:
        return Panel([build_judge(kit, plain, model) for model in panel])
    return kit.judge() if plain == JudgeSettings() else build_judge(kit, plain)


def value_of(criterion: Criterion, answer: str) -> float:
    """The number of an answer: of its level, or 1 for met and 0 for anything else."""
    for level in criterion.levels:
        if level.name == answer:
            return level.value
    return 1.0 if answer == "met" else 0.0


def rating_score(name: str, verdict: Verdict, levels: Sequence[str], section: str) -> Score:
    """A rating as a score: the rating itself as raw, and its place between the lowest and the highest as value."""
    rating, low, high = float(verdict.answer), float(levels[0]), float(levels[-1])
    return Score(
        name=name,
        value=(rating - low) / (high - low),
        raw=rating,
        unit=f"{levels[0]}–{levels[-1]}",
        reason=verdict.reason,
        section=section,
        hash=verdict.template,
        detail=judge_detail(verdict),
        usage=verdict.usage,
        flags=verdict.flags,
    )


def rating_error(name: str, error: VerdictError, section: str) -> ScoreError:
    """A rating that was not given."""
    return ScoreError(
        name=name,
        kind=error.kind,
        detail=error.detail,
        section=section,
        hash=error.template,
        usage=error.usage,
        flags=error.flags,
    )


def judge_detail(verdict: Verdict) -> dict[str, Any]:
    """Who judged, what exactly it answered, and how the votes fell where there were several."""
    detail: dict[str, Any] = {"judge": verdict.model, "answer": verdict.answer}
    if verdict.agreement is not None:
        detail |= {"agreement": round(verdict.agreement, 4), "votes": verdict.votes}
    return detail


def _detail(criterion: Criterion, verdict: Verdict) -> dict[str, Any]:
    about = {"criterion": criterion.text, "title": criterion.title, "category": criterion.category}
    said = {key: value for key, value in about.items() if value}
    return {**said, "pitfall": True, **judge_detail(verdict)} if criterion.pitfall else said | judge_detail(verdict)


def _told(criterion: Criterion) -> dict[str, str]:
    told = {"kind": "pitfall" if criterion.pitfall else "requirement", "text": criterion.text}
    return told | {"category": criterion.category} if criterion.category else told


_SILENT = "the agent never answered: there is nothing to judge"


def _no_reply(criterion: Criterion) -> ScoreError:
    return ScoreError(
        name=criterion.id,
        kind="no_reply",
        detail=_SILENT,
        weight=criterion.signed_weight,
        section=criterion.section,
    )


def _error(criterion: Criterion, kind: str, detail: str, verdict: AnyVerdict) -> ScoreError:
    return ScoreError(
        name=criterion.id,
        kind=kind,
        detail=detail,
        weight=criterion.signed_weight,
        section=criterion.section,
        hash=verdict.template,
        usage=verdict.usage,
        flags=verdict.flags,
    )


def _skipped(criterion: Criterion, course: Course) -> ScoreSkipped:
    return ScoreSkipped(
        name=criterion.id, reason=course.decided, weight=criterion.signed_weight, section=criterion.section
    )
