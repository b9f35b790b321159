"""The store in one SQLite file: durable when awaited, readable meanwhile, shared by several processes."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from viva.core.case import Case
from viva.core.clock import Clock, SystemClock
from viva.core.data import replace
from viva.core.errors import StoreError
from viva.core.evidence import Evidence
from viva.core.run import Run, RunStatus
from viva.core.score import AnyScore, TrialResult
from viva.core.secret import redactor
from viva.ports.store import Tally
from viva.store import appends, claims, creation, queries
from viva.store.bodies import CASE, EVIDENCE, RESULT, SCORES, Body, apart, hash_of, seal
from viva.store.connection import open_read_only, open_reader, open_writer
from viva.store.failure import explain
from viva.store.reader import Reader
from viva.store.writer import Work, Writer

T = TypeVar("T")

_MOST_KNOWN_CASES = 10_000


class SqliteStore:
    """Implements `viva.ports.store.Store`. Open it with `await SqliteStore.open(path)`."""

    def __init__(self, path: Path, reader: Reader, writer: Writer | None, clock: Clock) -> None:
        self.path = path
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._numbers: dict[str, int] = {}
        self._known_cases: dict[int, tuple[Case, bytes]] = {}
        """Cases whose bodies are certainly stored, with their hashes, by identity; bounded."""

    @classmethod
    async def open(cls, path: str | Path, *, clock: Clock | None = None, read_only: bool = False) -> Self:
        """Open a store, creating it unless it is only to be read. Raises StoreError."""
        return await asyncio.to_thread(cls._open, Path(path), clock or SystemClock(), read_only)

    @classmethod
    def _open(cls, path: Path, clock: Clock, read_only: bool) -> Self:
        path = path.absolute()
        try:
            if read_only:
                open_read_only(path).close()
                return cls(path, Reader(path, open_read_only), None, clock)
            return cls(path, Reader(path, open_reader), Writer(open_writer(path), path), clock)
        except (sqlite3.Error, OSError) as cause:
            raise explain(cause, path, "opening the store") from cause

    async def create_run(self, run: Run, cases: Iterable[Case]) -> None:
        """Keep a new run and the cases it will execute, in order."""
        listed = cases if isinstance(cases, list | tuple) else list(cases)
        created: creation.Created = await self._write(lambda c: creation.create_run(c, run, listed))
        self._numbers[run.id] = created.number
        for case, name in zip(listed[:_MOST_KNOWN_CASES], created.hashes, strict=False):
            self._remember(case, name)

    async def run(self, run_id: str) -> Run:
        """Read a run; `latest` and unambiguous prefixes of an id work too."""
        return (await self._reader.ask(partial(queries.find_run, run_id)))[1]

    async def runs(self, suite: str | None = None) -> list[Run]:
        """All runs, newest first."""
        return await self._reader.ask(partial(queries.list_runs, suite))

    async def finish_run(self, run_id: str, status: RunStatus, reason: str = "") -> None:
        """Say how a run ended; a resumed run is set to `running` first."""
        number = await self._number(run_id)
        at = self._clock.now().isoformat()
        await self._write(lambda c: creation.add_state(c, number, status, redactor.text(reason), at))

    async def tally(self, run_id: str) -> Tally:
        """Count without reading."""
        return await self._ask(run_id, queries.count)

    async def cases(self, run_id: str) -> list[Case]:
        """The cases of a run, in order."""
        return await self._ask(run_id, queries.list_cases)

    async def evidence_keys(self, run_id: str) -> set[str]:
        """Keys of trials whose evidence is stored."""
        return await self._ask(run_id, queries.evidence_keys)

    async def result_keys(self, run_id: str, scoring: str = "") -> set[str]:
        """Keys of trials that are scored."""
        return await self._ask(run_id, queries.result_keys, scoring)

    async def claim(self, run_id: str, keys: Sequence[str], owner: str, lease_s: float) -> list[str]:
        """Claim unfinished trials for one process; returns those it got, in the order asked for.

        Leases that are over, and those of dead processes, are taken over.
        """
        number = await self._number(run_id)
        now = claims.moment(self._clock)
        lease = claims.Lease(owner, lease_s)
        got: list[str] = await self._write(lambda c: claims.claim(c, number, keys, lease, now), flushed=False)
        return got

    async def heartbeat(self, run_id: str, owner: str, lease_s: float) -> None:
        """Prolong all leases of a process."""
        number = await self._number(run_id)
        now = claims.moment(self._clock)
        await self._write(lambda c: claims.heartbeat(c, number, claims.Lease(owner, lease_s), now), flushed=False)

    async def release(self, run_id: str, owner: str) -> None:
        """Give up all claims of a process."""
        number = await self._number(run_id)
        await self._write(lambda c: claims.release(c, number, owner), flushed=False)

    async def add_evidence(self, run_id: str, evidence: Evidence) -> bool:
        """Keep the evidence of a trial; False when it was already there (a late writer), and nothing is changed.

        It survives a kill when this returns, and a loss of power when anything that is flushed has returned later.
        """
        number = self._numbers.get(run_id) or await self._number(run_id)
        trial = f"evidence of trial {evidence.trial!r}"
        case = evidence.case
        case_hash, case_body = self._case(case, trial)
        raw = seal(replace(evidence, case=Case(id=case.id)), EVIDENCE, trial)
        body = apart(raw)
        append = appends.Append(
            appends.EVIDENCE,
            (number, evidence.trial),
            (number, case.id, _variant_ordinal(evidence), evidence.repeat, evidence.ending.kind, evidence.ending.ok,
             case_hash, body and body.hash, None if body else raw),
            tuple(needed for needed in (case_body, body) if needed),
            evidence.trial,
        )  # fmt: skip
        is_new = await self._append(append, len(raw), flushed=False)
        if case_body:
            self._remember(case, case_hash)
        return is_new

    async def add_result(self, run_id: str, result: TrialResult, scores: Sequence[AnyScore], scoring: str = "") -> bool:
        """Keep a trial's scores and result together; False when that scoring already has one for the trial."""
        number = self._numbers.get(run_id) or await self._number(run_id)
        trial = f"result of trial {result.trial!r}"
        result_raw = seal(result, RESULT, trial)
        raw = seal(list(scores), SCORES, trial)
        body = apart(raw)
        append = appends.Append(
            appends.RESULTS,
            (number, scoring, result.trial),
            (number, result.case, number, result.trial, result.repeat, result.outcome, result.score,
             result_raw, body and body.hash, None if body else raw),
            (body,) if body else (),
            result.trial,
        )  # fmt: skip
        return await self._append(append, len(raw) + len(result_raw), flushed=True)

    async def evidence(self, run_id: str, key: str) -> Evidence:
        """Read the evidence of one trial."""
        return await self._ask(run_id, queries.one_evidence, key)

    async def all_evidence(self, run_id: str) -> AsyncIterator[Evidence]:
        """Read all evidence, in the order of the plan, a little at a time."""
        number = await self._number(run_id)
        place: queries.Place | None = queries.BEGINNING
        while place is not None:
            page = await self._reader.ask(partial(queries.evidence_page, number, place))
            for evidence in page.rows:
                yield evidence
            place = page.next

    async def result(self, run_id: str, key: str, scoring: str = "") -> tuple[TrialResult, list[AnyScore]]:
        """Read the result of one trial, with its scores."""
        return await self._ask(run_id, queries.one_result, key, scoring)

    async def scores(self, run_id: str, key: str, scoring: str = "") -> list[AnyScore]:
        """Read the scores of one trial."""
        return (await self.result(run_id, key, scoring))[1]

    async def all_results(self, run_id: str, scoring: str = "") -> AsyncIterator[tuple[TrialResult, list[AnyScore]]]:
        """Read all results with their scores, in the order of the plan, a little at a time."""
        number = await self._number(run_id)
        place: queries.Place | None = queries.BEGINNING
        while place is not None:
            page = await self._reader.ask(partial(queries.result_page, number, scoring, place))
            for result in page.rows:
                yield result
            place = page.next

    async def scorings(self, run_id: str) -> list[str]:
        """Names of the re-scorings of a run, oldest first."""
        return await self._ask(run_id, queries.list_scorings)

    async def close(self) -> None:
        """Commit what is queued and release the files."""
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._reader.close()
        if self._writer is not None:
            self._writer.close()  # Last, so that its connection is the one that folds the log into the file.

    async def _number(self, run_id: str) -> int:
        known = self._numbers.get(run_id)
        if known is not None:
            return known
        number, run = await self._reader.ask(partial(queries.find_run, run_id))
        if run.id == run_id:  # Neither `latest` nor a prefix stays true.
            self._numbers[run_id] = number
        return number

    async def _ask(self, run_id: str, question: Callable[..., T], *details: Any) -> T:
        return await self._reader.ask(partial(question, await self._number(run_id), *details))

    async def _write(self, work: Work, *, flushed: bool = True) -> Any:
        return await self._writing().submit(work, flushed=flushed)

    async def _append(self, append: appends.Append, size: int, *, flushed: bool) -> bool:
        size += sum(len(body.raw) for body in append.bodies)
        is_new: bool = await self._writing().submit(append, size, flushed=flushed)
        return is_new

    def _writing(self) -> Writer:
        if self._writer is None:
            raise StoreError("the store was opened for reading only", kind="read_only", where=str(self.path))
        return self._writer

    def _case(self, case: Case, what: str) -> tuple[bytes, Body | None]:
        """The name of a case's body, and the body where it may not be stored yet."""
        known = self._known_cases.get(id(case))
        if known is not None:
            return known[1], None
        raw = seal(case, CASE, what)
        body = Body(hash_of(raw), raw)
        return body.hash, body

    def _remember(self, case: Case, name: bytes) -> None:
        if len(self._known_cases) >= _MOST_KNOWN_CASES:
            self._known_cases.clear()
        # The case is kept with its hash: an id alone could be given to another object later.
        self._known_cases[id(case)] = (case, name)


def _variant_ordinal(evidence: Evidence) -> int:
    names = [variant.name for variant in evidence.case.variants]
    name = evidence.variant.name
    return names.index(name) if name in names else len(names)
