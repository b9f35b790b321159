"""Two runs side by side: the same cases, scored in the same way, or not compared at all."""

from __future__ import annotations

from viva.core.data import Data, replace
from viva.core.errors import SuiteError
from viva.core.run import Run
from viva.core.score import TrialResult
from viva.ports.store import Store
from viva.report.paired import Lift, paired_lift

SCORING = {
    "scorers": "the scorers or their versions",
    "formula": "the formula or the thresholds",
    "prompts": "the prompts of the judge or of the simulated user",
}
"""Parts of a run that make its numbers what they are; two runs that differ here measured different things."""

CONDITIONS = {"cases": "cases", "drivers": "drivers", "limits": "limits"}
"""Parts that may differ, and must be said."""


class Comparison(Data, frozen=True):
    """What changed from one run to another, case by case."""

    before: Run
    after: Run
    lift: Lift
    differing: tuple[str, ...] = ()
    """Conditions that are not the same, though the numbers may be compared."""


def why_not_comparable(before: Run, after: Run) -> list[str]:
    """What keeps two runs from being compared; empty when nothing does."""
    reasons = [text for part, text in SCORING.items() if before.hashes.get(part) != after.hashes.get(part)]
    if before.roles.judge != after.roles.judge:
        reasons.append(f"the judge ({before.roles.judge} and {after.roles.judge})")
    return reasons


async def compare_runs(store: Store, before: Run, after: Run) -> Comparison:
    """Compare two runs case by case. Raises SuiteError where they are not comparable."""
    if before.id == after.id:
        raise SuiteError(f"{before.id} is one and the same run", kind="not_comparable")
    if reasons := why_not_comparable(before, after):
        raise SuiteError(
            f"not comparable: {', '.join(reasons)} differ",
            kind="not_comparable",
            hint="score the older run again in the new way: viva score RUN --suite FILE",
        )
    results = [*await _results(store, before), *await _results(store, after)]
    differing = tuple(name for part, name in CONDITIONS.items() if before.hashes.get(part) != after.hashes.get(part))
    return Comparison(before=before, after=after, lift=paired_lift(results, before.id, after.id), differing=differing)


async def _results(store: Store, run: Run) -> list[TrialResult]:
    """The results of a run, each under the run's name; a case under one variant is a case of its own here."""
    found = []
    async for result, _ in store.all_results(run.id):
        case = result.case if result.variant == "default" else f"{result.case}@{result.variant}"
        found.append(replace(result, case=case, variant=run.id))
    return found
