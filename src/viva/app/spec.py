"""What somebody wants to be run, in one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.core.limits import RunLimits
from viva.core.suite import Roles, Suite
from viva.engine.course import LEASE_S
from viva.engine.events import Listener
from viva.engine.stop import GRACE_S, Stopper

NO_ROLES = Roles()


@dataclass(frozen=True, slots=True)
class RunSpec:
    """A suite and everything the caller says about running it; None means: as the suite says."""

    suite: Suite | str | Path
    subject: Any = None
    """In place of the suite's subject: a function, a class, an object with `open`, or a Ref."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Over the settings of the suite's subject; `headers.X-Team` reaches inside one. A variant's own stay."""
    roles: Roles = NO_ROLES
    repeats: int | None = None
    concurrency: int | None = None
    match: str = ""
    """Only cases whose id matches: words joined by and, or, not and brackets."""
    tags: tuple[str, ...] = ()
    """Only cases with one of these tags."""
    limit: int | None = None
    """At most so many cases."""
    limits: RunLimits | None = None
    store: str | Path | None = None
    allow: tuple[str, ...] = ()
    """Modules whose classes and functions the suite may name."""
    allow_env: tuple[str, ...] = ()
    """Variables the suite may name as env:NAME."""
    fresh: bool = False
    """Begin a new run even where an unfinished one could go on."""
    fork: bool = False
    """Begin a new run where the suite has changed since the unfinished one began."""
    cache: bool = True
    """Use stored replies of models."""
    lenient: bool = False
    """Unknown keys in a suite are warnings."""
    on_notice: Listener | None = None
    hear_signals: bool = True
    """Ctrl-C drains the run (only where the run is in the main thread)."""
    grace_s: float = GRACE_S
    lease_s: float = LEASE_S
    stopper: Stopper = field(default_factory=Stopper)

    @property
    def filters(self) -> dict[str, Any]:
        """Which part of the suite is asked for, and with which settings, as a run remembers it."""
        wanted = {
            "match": self.match,
            "tags": list(self.tags),
            "limit": self.limit,
            "repeats": self.repeats,
            "settings": dict(self.settings),
        }
        return {name: value for name, value in wanted.items() if value not in ("", [], {}, None)}
