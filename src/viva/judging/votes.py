"""Several answers to one question become one verdict, or a named disagreement; nothing is averaged away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from viva.core.data import replace
from viva.core.usage import NO_USAGE, Usage
from viva.ports.judge import Verdict, VerdictError

AnyVerdict = Verdict | VerdictError


def settle(results: Sequence[AnyVerdict], *, stable_at: float, unstable: str, undecided: str) -> AnyVerdict:
    """Take the answer that more than half of all voters gave; an error counts as a vote for nothing.

    `stable_at` is the agreement below which the verdict is flagged with `unstable`; `undecided` is the kind of error
    when no answer has a majority.
    """
    verdicts = [result for result in results if isinstance(result, Verdict)]
    errors = [result for result in results if isinstance(result, VerdictError)]
    votes = Counter(verdict.answer for verdict in verdicts)
    usage = sum((result.usage for result in results), NO_USAGE)
    if not verdicts or len(verdicts) * 2 <= len(results):
        return _failed(errors[0], len(errors), len(results), usage)
    answer, count = votes.most_common(1)[0]
    if count * 2 <= len(results):
        return _undecided(verdicts[0], votes, len(errors), usage, undecided)
    speaker = next(verdict for verdict in verdicts if verdict.answer == answer)
    agreement = count / len(results)
    flags = _union(verdicts) + ((unstable,) if agreement < stable_at else ())
    return replace(speaker, usage=usage, agreement=agreement, votes=dict(votes), flags=flags)


def tell(votes: dict[str, int], errors: int = 0) -> str:
    """Say how the votes fell: `met 2, not_met 1`."""
    told = ", ".join(f"{answer} {count}" for answer, count in votes.items())
    return f"{told}, no answer {errors}" if errors else told


def _undecided(one: Verdict, votes: Counter[str], errors: int, usage: Usage, kind: str) -> VerdictError:
    detail = f"no answer has a majority: {tell(votes, errors)}"
    return VerdictError(
        criterion=one.criterion, kind=kind, detail=detail, model=one.model, usage=usage, template=one.template
    )


def _failed(error: VerdictError, errors: int, asked: int, usage: Usage) -> VerdictError:
    detail = f"{errors} of {asked} gave no verdict; the first: {error.detail}"
    return replace(error, detail=detail, usage=usage)


def _union(verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(flag for verdict in verdicts for flag in verdict.flags))
