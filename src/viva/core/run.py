"""A run: what exactly was executed."""

from __future__ import annotations

from typing import Any, Literal

from viva.core.data import Data
from viva.core.limits import RunLimits
from viva.core.ref import Ref
from viva.core.suite import Roles, Source
from viva.core.threshold import Threshold

RunStatus = Literal["running", "finished", "interrupted", "aborted"]


class Run(Data, frozen=True):
    """One execution of a suite, with the hashes of everything that could change its numbers."""

    id: str
    suite: str
    suite_hash: str
    """Of the whole suite as it was meant: cases, subject, scorers, formula."""
    hashes: dict[str, str] = {}
    """By part: subject, cases, scorers, formula, prompts; compared part by part when a run is resumed or compared."""
    status: RunStatus = "running"
    reason: str = ""
    planned: int = 0
    """Trials in all."""
    created_at: str = ""
    finished_at: str = ""
    subject: Ref | None = None
    roles: Roles = Roles()
    sources: tuple[Source, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    limits: RunLimits = RunLimits()
    concurrency: int = 16
    seed: int = 0
    folder: str = ""
    templates: dict[str, str] = {}
    """Texts of the suite's own templates, so that a re-scoring asks in the same words."""
    format: str = "viva"
    viva_version: str = ""
    forked_from: str = ""
    filters: dict[str, Any] = {}
    """Which part of the suite was asked for: match, tags, limit."""
    tags: dict[str, str] = {}
