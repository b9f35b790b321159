"""What a run says as a whole, from its stored results, read one at a time and then forgotten."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, Iterable, Sequence

from viva.core.data import Data
from viva.core.score import AnyScore, Outcome, Score, ScoreError, TrialResult
from viva.core.usage import NO_USAGE, Usage
from viva.report.blame import is_spoilt, whose_error, whose_fault
from viva.report.intervals import Interval
from viva.report.paired import Lift, Pairs
from viva.report.running import Estimate, Quantiles, RunningMean, RunningQuantiles
from viva.scoring.scorer import UNSCALED

MOST_NAMES = 1000
"""So many different names of scores (flags, kinds of errors) are told apart; the rest are counted together."""

OTHERS = "(others)"


class ScoreSummary(Data, frozen=True):
    """One score over all trials: by name, or by section."""

    name: str
    section: str = ""
    value: Estimate = Estimate()
    raw: Estimate = Estimate()
    """On the score's own scale, where it has one."""
    unit: str = ""
    unscaled: int = 0
    """Quantities asked for without a target: they have a raw value, and no place between 0 and 1."""
    pitfall: bool = False
    """Met counts against: 0 is good."""
    outcomes: dict[str, int] = {}
    error_kinds: dict[str, int] = {}

    @property
    def errors(self) -> int:
        """Scores that could not be had; the mean does not include them."""
        return self.outcomes.get("error", 0)


class Outcomes(Data, frozen=True):
    """How trials ended; the four add up to `n`."""

    n: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    pass_interval: Interval | None = None
    """The 95 % interval of the pass rate; repeats of a case do not pass for independent trials."""

    @property
    def pass_rate(self) -> float | None:
        """The share that passed among those that passed or failed; errors are in neither."""
        decided = self.passed + self.failed
        return self.passed / decided if decided else None

    @property
    def error_rate(self) -> float | None:
        """The share of errors among all trials that were not skipped."""
        tried = self.n - self.skipped
        return self.errors / tried if tried else None


class VariantSummary(Data, frozen=True):
    """One variant's part of a run."""

    name: str
    outcomes: Outcomes = Outcomes()
    score: Estimate = Estimate()
    latency_ms: Quantiles = Quantiles()


class Summary(Data, frozen=True):
    """A run as a whole. Means are over the trials that have a score; `n` and errors stand beside every one."""

    outcomes: Outcomes = Outcomes()
    score: Estimate = Estimate()
    scores: tuple[ScoreSummary, ...] = ()
    sections: tuple[ScoreSummary, ...] = ()
    variants: tuple[VariantSummary, ...] = ()
    latency_ms: Quantiles = Quantiles()
    """Of the trials' mean response times."""
    usage: dict[str, Usage] = {}
    """By role."""
    error_kinds: dict[str, int] = {}
    flags: dict[str, int] = {}
    """How many trials (or scores) carry each."""
    blame: dict[str, int] = {}
    """Trials that did not pass, by who is to be looked into first: agent, user, judge, suite, harness."""
    spoilt: int = 0
    """Scored trials in which the simulated user misbehaved."""
    unspoilt: Estimate = Estimate()
    """The mean score without those trials."""
    lift: Lift | None = None
    """What the second of two variants added, case by case."""
    failures: int = 0
    """Failed attempts, those that were tried again included."""
    retries: int = 0
    """Failed attempts that were tried again."""
    turns: int = 0

    @property
    def spent(self) -> Usage:
        """Usage of all roles together."""
        return sum(self.usage.values(), NO_USAGE)


class Summariser:
    """Takes results in, one by one, and keeps only sums."""

    def __init__(self) -> None:
        self._all = _Group()
        self._variants: dict[str, _Group] = {}
        self._scores: dict[str, _ScoreGroup] = {}
        self._sections: dict[str, _ScoreGroup] = {}
        self._usage: dict[str, Usage] = {}
        self._flags: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._blame: Counter[str] = Counter()
        self._unspoilt = RunningMean()
        self._pairs = Pairs()
        self._failures = self._retries = self._turns = self._spoilt = 0

    def add(self, result: TrialResult, scores: Iterable[AnyScore] = ()) -> None:
        """Count one trial."""
        scores = tuple(scores)
        self._all.add(result)
        self._variants.setdefault(result.variant, _Group()).add(result)
        self._failures += result.failures
        self._retries += result.failures - (gave_up(result, scores) if result.failures else 0)
        self._turns += result.turns
        for role, used in result.usage.items():
            self._usage[role] = self._usage.get(role, NO_USAGE) + used
        if result.outcome == "error":
            _count(self._kinds, result.error or "error")
        for flag in result.flags:
            _count(self._flags, flag)
        for score in scores:
            self._add_score(score, result)
        self._pairs.add(result)
        if at_fault := whose_fault(result):
            self._blame[at_fault] += 1
        if result.score is None:
            return
        if is_spoilt(result):
            self._spoilt += 1
        else:
            self._unspoilt.add(result.score, result.case)

    def summary(self) -> Summary:
        """What is known so far."""
        return Summary(
            outcomes=self._all.outcomes(),
            score=self._all.score.estimate(),
            scores=tuple(group.summary(name) for name, group in self._scores.items()),
            sections=tuple(group.summary(name) for name, group in self._sections.items()),
            variants=tuple(group.summary(name) for name, group in self._variants.items()),
            latency_ms=self._all.latency.quantiles(),
            usage=dict(self._usage),
            error_kinds=dict(self._kinds),
            flags=dict(self._flags),
            blame=dict(self._blame),
            spoilt=self._spoilt,
            unspoilt=self._unspoilt.estimate(),
            lift=self._pairs.lift(),
            failures=self._failures,
            retries=self._retries,
            turns=self._turns,
        )

    def _add_score(self, score: AnyScore, result: TrialResult) -> None:
        case = result.case
        name = score.name if score.name in self._scores or len(self._scores) < MOST_NAMES else OTHERS
        self._scores.setdefault(name, _ScoreGroup(score.section)).add(score, case)
        self._sections.setdefault(score.section, _ScoreGroup(score.section)).add(score, case)
        if not isinstance(score, Score | ScoreError):
            return
        for flag in score.flags:
            if flag not in result.flags:  # Counted with its trial already.
                _count(self._flags, flag)


def summarise(results: Iterable[tuple[TrialResult, Sequence[AnyScore]]]) -> Summary:
    """Summarise results that are at hand."""
    summariser = Summariser()
    for result, scores in results:
        summariser.add(result, scores)
    return summariser.summary()


async def summarise_stream(results: AsyncIterable[tuple[TrialResult, Sequence[AnyScore]]]) -> Summary:
    """Summarise results as the store reads them."""
    summariser = Summariser()
    async for result, scores in results:
        summariser.add(result, scores)
    return summariser.summary()


class _Group:
    """Sums over trials."""

    def __init__(self) -> None:
        self.counts: Counter[Outcome] = Counter()
        self.score = RunningMean()
        self.passing = RunningMean()
        self.latency = RunningQuantiles()

    def add(self, result: TrialResult) -> None:
        self.counts[result.outcome] += 1
        if result.outcome in ("pass", "fail"):
            self.passing.add(float(result.outcome == "pass"), result.case)
        if result.score is not None:
            self.score.add(result.score, result.case)
        if result.mean_ms is not None:
            self.latency.add(result.mean_ms)

    def outcomes(self) -> Outcomes:
        counts = self.counts
        return Outcomes(
            n=counts.total(),
            passed=counts["pass"],
            failed=counts["fail"],
            errors=counts["error"],
            skipped=counts["skipped"],
            pass_interval=self.passing.share_interval(),
        )

    def summary(self, name: str) -> VariantSummary:
        return VariantSummary(
            name=name,
            outcomes=self.outcomes(),
            score=self.score.estimate(),
            latency_ms=self.latency.quantiles(),
        )


class _ScoreGroup:
    """Sums over scores of one name, or of one section."""

    def __init__(self, section: str) -> None:
        self.section = section
        self.value = RunningMean()
        self.raw = RunningMean()
        self.unit = ""
        self.unscaled = 0
        self.pitfall = True
        self.outcomes: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()

    def add(self, score: AnyScore, case: str) -> None:
        self.outcomes[score.outcome] += 1
        self.pitfall = self.pitfall and score.weight < 0
        if isinstance(score, Score):
            if UNSCALED in score.flags:
                self.unscaled += 1
            else:
                self.value.add(score.value, case)
            self.unit = score.unit or self.unit
            if score.raw is not None:
                self.raw.add(score.raw, case)
        elif isinstance(score, ScoreError):
            _count(self.kinds, score.kind)

    def summary(self, name: str) -> ScoreSummary:
        return ScoreSummary(
            name=name,
            section=self.section,
            value=self.value.estimate(),
            raw=self.raw.estimate(),
            unit=self.unit,
            unscaled=self.unscaled,
            pitfall=self.pitfall,
            outcomes=dict(self.outcomes),
            error_kinds=dict(self.kinds),
        )


def gave_up(result: TrialResult, scores: Sequence[AnyScore]) -> bool:
    """Whether a trial's last failed attempt was its end: a conversation with an answer was tried again each time."""
    return result.outcome == "error" and not scores and whose_error(result.error) == "agent"


def _count(counter: Counter[str], name: str) -> None:
    counter[name if name in counter or len(counter) < MOST_NAMES else OTHERS] += 1
