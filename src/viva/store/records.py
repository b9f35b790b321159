"""The lines of an export.

The first line is the run, then its cases, then its evidence (the case left out: it stands above), then its results,
and last a line that counts them. Every line stands for itself.
"""

from __future__ import annotations

from viva.core.case import Case
from viva.core.data import Data
from viva.core.evidence import Evidence
from viva.core.run import Run
from viva.core.score import AnyScore, TrialResult


class RunLine(Data, frozen=True, tag="run", tag_field="record"):
    """The first line."""

    run: Run
    format: int = 1
    viva_version: str = ""


class CaseLine(Data, frozen=True, tag="case", tag_field="record"):
    """One case; cases stand in the order of the suite."""

    case: Case


class EvidenceLine(Data, frozen=True, tag="evidence", tag_field="record"):
    """One trial, with its case named only."""

    evidence: Evidence


class ResultLine(Data, frozen=True, tag="result", tag_field="record"):
    """One trial's result and scores under one scoring."""

    result: TrialResult
    scores: tuple[AnyScore, ...] = ()
    scoring: str = ""


class EndLine(Data, frozen=True, tag="end", tag_field="record"):
    """The last line: without it, or with other counts than were read, something is missing."""

    cases: int = 0
    evidence: int = 0
    results: int = 0


Line = RunLine | CaseLine | EvidenceLine | ResultLine | EndLine
