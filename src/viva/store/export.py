"""A run as lines of JSON: to keep, to send, and to read back even when the file was torn."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO

from viva.core.case import Case
from viva.core.data import replace
from viva.ports.store import Store
from viva.store.bodies import sealed
from viva.store.failure import explain
from viva.store.importing import BadLine, ImportReport, import_run
from viva.store.records import CaseLine, EndLine, EvidenceLine, Line, ResultLine, RunLine
from viva.version import __version__

__all__ = ["BadLine", "ImportReport", "export_run", "import_run", "lines_of"]


async def export_run(store: Store, run_id: str, path: str | Path) -> EndLine:
    """Write a run to a file, which appears whole or not at all; returns the counts. Raises StoreError."""
    end = EndLine()
    whole = Path(path)
    part = whole.with_name(f"{whole.name}.part-{os.getpid()}")
    try:
        with _create(part) as file:
            async for line in lines_of(store, run_id):
                file.write(sealed(line) + b"\n")
                end = line if isinstance(line, EndLine) else end
            _put_in_place(file, part, whole)
    except OSError as cause:
        raise explain(cause, whole, "exporting a run") from cause
    finally:
        _remove(part)
    return end


async def lines_of(store: Store, run_id: str) -> AsyncIterator[Line]:
    """The lines of an export, one at a time, in an order that does not depend on what finished first."""
    run = await store.run(run_id)
    yield RunLine(run=run, viva_version=__version__)
    cases = evidence_count = results = 0
    for case in await store.cases(run.id):
        cases += 1
        yield CaseLine(case=case)
    async for evidence in store.all_evidence(run.id):
        evidence_count += 1
        yield EvidenceLine(evidence=replace(evidence, case=Case(id=evidence.case.id)))
    for scoring in ("", *await store.scorings(run.id)):
        async for result, scores in store.all_results(run.id, scoring):
            results += 1
            yield ResultLine(result=result, scores=tuple(scores), scoring=scoring)
    yield EndLine(cases=cases, evidence=evidence_count, results=results)


def _create(path: Path) -> BinaryIO:
    return path.open("wb")


def _put_in_place(file: BinaryIO, part: Path, whole: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    part.replace(whole)


def _remove(part: Path) -> None:
    part.unlink(missing_ok=True)
