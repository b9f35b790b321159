"""Builds subjects, drivers, scorers and formulas from their names, once for all trials that are alike."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from viva.core.case import Case
from viva.core.check import Check, Measure
from viva.core.data import content_hash
from viva.core.errors import VivaError
from viva.core.ref import Ref
from viva.core.stage import NO_STAGE
from viva.core.trial import Trial
from viva.engine.ask import Labelled
from viva.engine.parts import Scoring
from viva.ports.driver import Driver
from viva.ports.kit import Kit
from viva.ports.scorer import Formula, Scorer
from viva.ports.stage import Stage
from viva.ports.subject import Subject
from viva.registry import Registry

T = TypeVar("T")

PYTHON = "python:"
"""Names of subjects that were handed over as Python objects begin so."""


class Kept:
    """Things made from specifications: found by the identity of the parts first, by their content next."""

    def __init__(self, most: int = 1024) -> None:
        self._most = most
        # The parts are kept with the answer: an id alone could be given to another object later.
        self._by_identity: OrderedDict[Hashable, tuple[tuple[Any, ...], Any]] = OrderedDict()
        self._by_content: OrderedDict[str, Any] = OrderedDict()

    def find(self, parts: tuple[Any, ...], make: Callable[[], T]) -> T:
        """The thing made of these parts; made now when there is none yet."""
        identity = tuple(map(id, parts))
        known = self._by_identity.get(identity)
        if known is not None:
            made: T = known[1]
            return made
        content = content_hash(parts)
        found: T
        if content in self._by_content:
            found = self._by_content[content]
            self._by_content.move_to_end(content)
        else:
            found = self._by_content[content] = make()
        self._by_identity[identity] = (parts, found)
        for shelf in (self._by_identity, self._by_content):
            while len(shelf) > self._most:
                shelf.popitem(last=False)
        return found


class Workshop:
    """Implements `viva.engine.parts.Parts` with the registry and a kit."""

    def __init__(self, registry: Registry, kit: Kit, own_subject: Any = None) -> None:
        self._registry = registry
        self._kit = kit
        self._own_subject = own_subject
        self._subjects = Kept(1_000_000)  # Never dropped while it may be in use.
        self._made_subjects: list[Subject] = []
        self._drivers = Kept()
        self._scorings = Kept()
        self._stage: Any = None

    def subject(self, trial: Trial) -> Subject:
        """The thing under test, under the trial's variant."""
        return self._subjects.find((trial.subject,), lambda: self._make_subject(trial.subject))

    def driver(self, trial: Trial) -> Driver:
        """Who talks to it."""
        ref = trial.driver
        driver: Driver = self._drivers.find((ref,), lambda: self._build("drivers", ref))
        return driver

    def stage(self, trial: Trial) -> Stage | None:
        """The world around it, where something is prepared there or looked at."""
        looks = self.scoring(trial.case).looks
        needs_world = bool(looks) and any(look.observation.source != "subject" for look in looks)
        if not needs_world and (trial.case.stage is NO_STAGE or trial.case.stage == NO_STAGE):
            return None
        if self._stage is None:
            from viva.stage.stage import TrialStage

            self._stage = TrialStage(self._registry, self._kit)
        stage: Stage = self._stage
        return stage

    def scoring(self, case: Case) -> Scoring:
        """Scorers and formula of a case."""
        judged = bool(case.criteria)
        parts = (case.checks, case.measures, judged, case.judging, case.formula)
        return self._scorings.find(parts, lambda: self._make_scoring(case))

    async def close(self) -> None:
        """Release what was built."""
        for subject in self._made_subjects:
            await subject.close()
        if self._stage is not None:
            await self._stage.close()

    def _make_subject(self, ref: Ref) -> Subject:
        is_own = ref.name.startswith(PYTHON)
        subject: Subject = own_subject(self._own_subject, ref) if is_own else self._build("subjects", ref)
        self._made_subjects.append(subject)
        return subject

    def _make_scoring(self, case: Case) -> Scoring:
        scorers: list[Scorer] = []
        if case.criteria:
            scorers.append(self._build("scorers", case.judging))
        labels: dict[str, int] = {}
        specs: tuple[Check | Measure, ...] = (*case.checks, *case.measures)
        for spec in specs:
            scorer: Scorer = self._build("scorers", Ref(name=spec.scorer, settings=spec.settings, where=spec.where))
            scorers.append(Labelled(scorer, spec, _unique_label(scorer, spec, labels)))
        formula: Formula = self._build("formulas", case.formula)
        return Scoring(tuple(scorers), formula)

    def _build(self, kind: str, ref: Ref) -> Any:
        try:
            return self._registry.build(kind, ref.name, ref.settings, self._kit, ref.where)
        except VivaError as error:
            error.where = error.where or ref.where  # An implementation does not know where it was named.
            raise


def _unique_label(scorer: Scorer, spec: Check | Measure, seen: dict[str, int]) -> str:
    """The label of a score, numbered from its second use on; '' leaves the scorer's own names as they are."""
    label = spec.label or scorer.label
    seen[label] = seen.get(label, 0) + 1
    return f"{label} ({seen[label]})" if seen[label] > 1 else spec.label


def own_subject(given: Any, ref: Ref) -> Subject:
    """A subject from a Python object: one that is a subject already, or anything that can be called."""
    if hasattr(given, "open") and hasattr(given, "endpoint"):
        subject: Subject = given
        return subject
    from viva.subjects.function import FunctionSubject

    return FunctionSubject.of(given, **ref.settings)


def own_ref(given: Any) -> Ref:
    """How a run remembers a subject that was handed over as a Python object."""
    if isinstance(given, Ref):
        return given
    module = getattr(given, "__module__", type(given).__module__)
    name = getattr(given, "__qualname__", type(given).__qualname__)
    return Ref(name=f"{PYTHON}{module}:{name}")
