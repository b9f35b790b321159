"""What the engine is given: built objects. It never builds one itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from viva.core.case import Case
from viva.core.trial import Trial
from viva.engine.observe import Look, looks_for
from viva.ports.driver import Driver
from viva.ports.scorer import Formula, Scorer
from viva.ports.stage import Stage
from viva.ports.subject import Subject


@dataclass(frozen=True, slots=True)
class Scoring:
    """How a case is scored; shared by all cases that are scored alike."""

    scorers: tuple[Scorer, ...]
    formula: Formula
    looks: tuple[Look, ...] = field(init=False)
    formula_name: str = field(init=False)
    """Name and version, as results carry it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "looks", looks_for(self.scorers))
        object.__setattr__(self, "formula_name", f"{self.formula.name}@{self.formula.version}")


class Parts(Protocol):
    """Hands out the objects a trial needs; equal trials share them. Raises SuiteError or SetupError."""

    def subject(self, trial: Trial) -> Subject:
        """The thing under test, under the trial's variant."""
        ...

    def driver(self, trial: Trial) -> Driver:
        """Who talks to it."""
        ...

    def stage(self, trial: Trial) -> Stage | None:
        """The world around it; None where nothing is prepared or observed outside the session."""
        ...

    def scoring(self, case: Case) -> Scoring:
        """Scorers and formula of a case."""
        ...
