"""Reading an export back: every whole record is taken, every other line is named."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

import msgspec

from viva.core.case import Case
from viva.core.data import Data, replace
from viva.core.errors import StoreError
from viva.core.run import Run
from viva.ports.store import Store
from viva.store.failure import DISK_KINDS, explain
from viva.store.records import CaseLine, EndLine, EvidenceLine, Line, ResultLine, RunLine

MOST_LINE_BYTES = 64_000_000
_BLOCK_BYTES = 1_000_000
_MOST_WAITING = 256
_MOST_WAITING_BYTES = 16_000_000
_MOST_NAMED = 1_000

_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


class BadLine(Data, frozen=True):
    """A line that could not be used, and why."""

    number: int
    reason: str


class ImportReport(Data, frozen=True):
    """What an import found."""

    run: str = ""
    """The run's id; empty when not even that could be read."""
    cases: int = 0
    evidence: int = 0
    results: int = 0
    already_there: int = 0
    bad: tuple[BadLine, ...] = ()
    """The first thousand."""
    bad_lines: int = 0
    complete: bool = False
    """Whether the file's own last line confirms that nothing is missing."""


async def import_run(store: Store, path: str | Path, *, most_line_bytes: int = MOST_LINE_BYTES) -> ImportReport:
    """Take a run from a file; importing the same file again adds what is missing. Raises StoreError."""
    importer = _Importer(store)
    file_path = Path(path)
    try:
        for number, raw in _lines(file_path, most_line_bytes):
            await importer.take(number, raw)
        return await importer.end()
    except OSError as cause:
        raise explain(cause, file_path, "importing a run") from cause


class _Importer:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._run: Run | None = None
        self._is_created = False
        self._cases: dict[str, Case] = {}
        self._waiting: list[tuple[int, str, Callable[[], Awaitable[bool]]]] = []
        self._waiting_bytes = 0
        self._counts = {"evidence": 0, "results": 0}
        self._already_there = 0
        self._bad: list[BadLine] = []
        self._bad_lines = 0
        self._end: EndLine | None = None

    async def take(self, number: int, raw: bytes | None) -> None:
        """Use one line, or name it as bad; None stands for a line that was too long to read."""
        if raw is None:
            self._refuse(number, "the line is too long")
        elif raw.strip():
            try:
                line = _DECODER.decode(raw)
            except (msgspec.MsgspecError, ValueError, RecursionError) as cause:
                self._refuse(number, f"not a whole record: {cause}")
            else:
                await self._use(number, line, len(raw))

    async def end(self) -> ImportReport:
        """Finish, and say what was found."""
        await self._create()
        await self._flush()
        found = EndLine(cases=len(self._cases), **self._counts)
        return ImportReport(
            run=self._run.id if self._run else "",
            cases=found.cases,
            evidence=found.evidence,
            results=found.results,
            already_there=self._already_there,
            bad=tuple(self._bad),
            bad_lines=self._bad_lines,
            complete=self._end == found and not self._bad_lines,
        )

    async def _use(self, number: int, line: Line, size: int) -> None:
        match line:
            case RunLine():
                self._begin(number, line.run)
            case EndLine():
                self._end = line
            case _ if self._run is None:
                self._refuse(number, "there is no run before it")
            case CaseLine():
                self._add_case(number, line.case)
            case EvidenceLine() | ResultLine():
                await self._create()
                await self._add(number, line, size)

    def _begin(self, number: int, run: Run) -> None:
        if self._run is not None:
            self._refuse(number, f"a second run, {run.id!r}; one file holds one run")
        else:
            self._run = run

    def _add_case(self, number: int, case: Case) -> None:
        if self._is_created:
            self._refuse(number, "a case after the first trial")
        elif case.id in self._cases:
            self._refuse(number, f"a second case {case.id!r}")
        else:
            self._cases[case.id] = case

    async def _create(self) -> None:
        if self._run is None or self._is_created:
            return
        self._is_created = True
        known = [run for run in await self._store.runs(self._run.suite) if run.id == self._run.id]
        if not known:
            await self._store.create_run(self._run, tuple(self._cases.values()))
        elif known[0].suite_hash != self._run.suite_hash:
            raise StoreError(
                f"another run {self._run.id!r}, of a different suite, is in the store",
                kind="exists",
                hint="import into another store",
            )

    async def _add(self, number: int, line: EvidenceLine | ResultLine, size: int) -> None:
        run = self._run.id if self._run else ""
        add: Callable[[], Awaitable[bool]]
        if isinstance(line, ResultLine):
            what, add = "results", partial(self._store.add_result, run, line.result, line.scores, line.scoring)
        else:
            case = self._cases.get(line.evidence.case.id)
            if case is None:
                self._refuse(number, f"its case {line.evidence.case.id!r} is missing")
                return
            what, add = "evidence", partial(self._store.add_evidence, run, replace(line.evidence, case=case))
        self._waiting.append((number, what, add))
        self._waiting_bytes += size
        if len(self._waiting) >= _MOST_WAITING or self._waiting_bytes >= _MOST_WAITING_BYTES:
            await self._flush()

    async def _flush(self) -> None:
        waiting, self._waiting, self._waiting_bytes = self._waiting, [], 0
        answers = await asyncio.gather(*(add() for _, _, add in waiting), return_exceptions=True)
        for (number, what, _), answer in zip(waiting, answers, strict=True):
            self._note(number, what, answer)

    def _note(self, number: int, what: str, answer: bool | BaseException) -> None:
        if isinstance(answer, StoreError) and answer.kind not in DISK_KINDS:
            self._refuse(number, answer.message)
        elif isinstance(answer, BaseException):
            raise answer
        else:
            self._counts[what] += 1
            self._already_there += not answer

    def _refuse(self, number: int, reason: str) -> None:
        self._bad_lines += 1
        if len(self._bad) < _MOST_NAMED:
            self._bad.append(BadLine(number=number, reason=reason))


def _lines(path: Path, most_bytes: int) -> Iterator[tuple[int, bytes | None]]:
    with path.open("rb") as file:
        number = 0
        while raw := file.readline(most_bytes):
            number += 1
            if len(raw) == most_bytes and not raw.endswith(b"\n"):
                _skip_line(file)
                yield number, None
            else:
                yield number, raw


def _skip_line(file: BinaryIO) -> None:
    while (block := file.readline(_BLOCK_BYTES)) and not block.endswith(b"\n"):
        pass
