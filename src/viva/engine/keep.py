"""Committing what a trial gave; what cannot be written as it is, is written as far as it can be."""

from __future__ import annotations

from viva.core.errors import StoreError
from viva.core.evidence import Evidence
from viva.core.faultpoint import fault
from viva.core.score import AnyScore, TrialResult
from viva.engine.sanitise import storable_evidence, storable_scores
from viva.ports.store import Store


class Keeper:
    """Keeps evidence and results of one run. Raises StoreError when the store fails."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id

    async def keep(self, evidence: Evidence) -> Evidence:
        """Commit evidence, and return what is stored: another process's, where that was faster."""
        try:
            is_new = await self._store.add_evidence(self._run_id, evidence)
        except StoreError as error:
            if error.kind != "unstorable":
                raise
            evidence = storable_evidence(evidence, error)
            is_new = await self._store.add_evidence(self._run_id, evidence)
        fault("engine.kept")
        return evidence if is_new else await self._store.evidence(self._run_id, evidence.trial)

    async def keep_result(self, result: TrialResult, scores: list[AnyScore]) -> bool:
        """Commit a result with its scores; False when the trial already has one."""
        try:
            return await self._store.add_result(self._run_id, result, scores)
        except StoreError as error:
            if error.kind != "unstorable":
                raise
            return await self._store.add_result(self._run_id, result, storable_scores(scores))
