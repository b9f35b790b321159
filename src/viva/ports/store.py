"""Where runs are kept: append-only facts keyed by trial."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Protocol

from viva.core.case import Case
from viva.core.data import Data
from viva.core.evidence import Evidence
from viva.core.run import Run, RunStatus
from viva.core.score import AnyScore, TrialResult


class Tally(Data, frozen=True):
    """How far a run has come."""

    planned: int = 0
    evidence: int = 0
    """Trials whose conversation is stored."""
    results: int = 0
    """Trials that are scored as well."""


class Store(Protocol):
    """Durable when awaited: a method that has returned has been committed. Raises StoreError."""

    async def create_run(self, run: Run, cases: Iterable[Case]) -> None:
        """Keep a new run and the cases it will execute, in order."""
        ...

    async def run(self, run_id: str) -> Run:
        """Read a run; `latest` and unambiguous prefixes of an id work too."""
        ...

    async def runs(self, suite: str | None = None) -> list[Run]:
        """All runs, newest first."""
        ...

    async def finish_run(self, run_id: str, status: RunStatus, reason: str = "") -> None:
        """Say how a run ended; a resumed run is set to `running` first."""
        ...

    async def tally(self, run_id: str) -> Tally:
        """Count without reading."""
        ...

    async def cases(self, run_id: str) -> list[Case]:
        """The cases of a run, in order."""
        ...

    async def evidence_keys(self, run_id: str) -> set[str]:
        """Keys of trials whose evidence is stored."""
        ...

    async def result_keys(self, run_id: str, scoring: str = "") -> set[str]:
        """Keys of trials that are scored."""
        ...

    async def claim(self, run_id: str, keys: Sequence[str], owner: str, lease_s: float) -> list[str]:
        """Claim trials for one process; returns those it got. Expired leases of others are taken over."""
        ...

    async def heartbeat(self, run_id: str, owner: str, lease_s: float) -> None:
        """Prolong all leases of a process."""
        ...

    async def release(self, run_id: str, owner: str) -> None:
        """Give up all claims of a process."""
        ...

    async def add_evidence(self, run_id: str, evidence: Evidence) -> bool:
        """Keep the evidence of a trial; False when it was already there (a late writer), and nothing is changed."""
        ...

    async def add_result(self, run_id: str, result: TrialResult, scores: Sequence[AnyScore], scoring: str = "") -> bool:
        """Keep a trial's scores and result together. `scoring` names a re-scoring; '' is the run's own."""
        ...

    async def evidence(self, run_id: str, key: str) -> Evidence:
        """Read the evidence of one trial."""
        ...

    def all_evidence(self, run_id: str) -> AsyncIterator[Evidence]:
        """Read all evidence, in the order of the plan, a little at a time."""
        ...

    async def scores(self, run_id: str, key: str, scoring: str = "") -> list[AnyScore]:
        """Read the scores of one trial."""
        ...

    def all_results(self, run_id: str, scoring: str = "") -> AsyncIterator[tuple[TrialResult, list[AnyScore]]]:
        """Read all results with their scores, in the order of the plan, a little at a time."""
        ...

    async def scorings(self, run_id: str) -> list[str]:
        """Names of the re-scorings of a run, oldest first."""
        ...

    async def close(self) -> None:
        """Commit what is queued and release the files."""
        ...


class ResponseCache(Protocol):
    """Replies of models kept on disk."""

    async def get(self, key: str) -> bytes | None:
        """A stored reply, or None."""
        ...

    async def put(self, key: str, reply: bytes, model: str) -> None:
        """Keep a reply; may return before it is on disk."""
        ...

    async def close(self) -> None:
        """Write what is queued."""
        ...
