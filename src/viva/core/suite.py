"""A suite: a file of cases plus defaults."""

from __future__ import annotations

from typing import Any

from viva.core.case import Case
from viva.core.data import Data
from viva.core.limits import RunLimits
from viva.core.ref import Ref
from viva.core.threshold import Threshold


class Roles(Data, frozen=True):
    """Which model plays which part; None means: ask the command line, then the environment."""

    model: str | None = None
    """Passed on to the agent under test."""
    user: str | None = None
    """Plays the user."""
    judge: str | None = None


class Source(Data, frozen=True):
    """A file a suite was read from, and the hash of its bytes."""

    path: str
    hash: str


class Suite(Data, frozen=True):
    """Cases with the subject they examine; every default is already resolved into the cases."""

    name: str
    cases: tuple[Case, ...] = ()
    subject: Ref | None = None
    description: str = ""
    roles: Roles = Roles()
    limits: RunLimits = RunLimits()
    concurrency: int = 16
    thresholds: tuple[Threshold, ...] = ()
    """Thresholds of the whole run; those of a trial are on the case."""
    seed: int = 0
    """Where every seeded choice (greeting, sampling) starts from."""
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    templates: dict[str, str] = {}
    """Texts of templates the suite put in the place of viva's own, by name."""
    format: str = "viva"
    folder: str = ""
    """The folder that files named by the suite must lie below."""
    sources: tuple[Source, ...] = ()
