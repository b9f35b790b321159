"""What a threshold may look at, as far as that is known before anything is run.

The names of scores follow from a suite: labels, what built-in scorers call their scores, ids of criteria, parts of
the formula. A plug-in may call its scores anything, and then nothing is refused.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from viva.config.bounds import check_reachable
from viva.core.case import Case
from viva.core.check import Check, Measure
from viva.core.errors import SuiteError, VivaError
from viva.core.ref import Ref
from viva.core.threshold import Threshold
from viva.registry import Registry, read_settings

OF_THE_RUN = ("score", "pass_rate", "error_rate")
PARTS: dict[str, tuple[str, ...]] = {
    "mean": (),
    "weighted": ("penalty",),
    "embabel": ("penalty", "rounded"),
    "pass_rate": ("passed", "scores"),
    "rar_explicit": ("raw", "positive", "satisfied", "at_best"),
    "rar_holistic": ("rating",),
}
"""What built-in formulas call the numbers theirs is made of, besides the sections of a weighted one."""
SEVERAL = {"qa": "qa.", "completion": "completion.", "json_schema": "json_schema"}
"""Scorers with several scores, or with a name from a file: how the names begin."""
CONTROLS = "judge_false_positives"
_OURS = "viva.scoring."
_MOST_LISTED = 20


@dataclass
class Metrics:
    """The numbers one case will have."""

    names: set[str] = field(default_factory=set)
    parts: set[str] = field(default_factory=set)
    beginnings: set[str] = field(default_factory=set)
    is_open: bool = False
    """Something of the user's own gives names that cannot be known."""

    def has_score(self, metric: str) -> bool:
        """Whether a score may be called so, or has its raw value there."""
        return (
            self.is_open
            or metric in self.names
            or metric.removesuffix(".raw") in self.names
            or any(metric.startswith(beginning) for beginning in self.beginnings)
        )


def check_thresholds(
    cases: Sequence[Case], of_the_run: Sequence[Threshold], places: Places, registry: Registry
) -> None:
    """Refuse thresholds on numbers no trial will have. Raises SuiteError with the threshold's place."""
    book = _Book(registry)
    seen: set[tuple[int, ...]] = set()
    for case in cases:
        wanted = [one for one in case.thresholds if one.metric != "score"]
        key = (*map(id, wanted), *_identity(case))
        if not wanted or key in seen:
            continue
        seen.add(key)
        for threshold in wanted:
            _check_trial(threshold, case, book.of(case), places)
    for threshold in of_the_run:
        if threshold.metric not in OF_THE_RUN:
            _check_run(threshold, cases, book, places)


class Places:
    """Where each threshold was written."""

    def __init__(self) -> None:
        # The threshold is kept with its place: an id alone could be given to another object later.
        self._where: dict[int, tuple[Threshold, str]] = {}

    def note(self, threshold: Threshold, where: str) -> Threshold:
        """Remember a place."""
        self._where[id(threshold)] = (threshold, where)
        return threshold

    def of(self, threshold: Threshold, otherwise: str) -> str:
        """The place of a threshold."""
        known = self._where.get(id(threshold))
        return otherwise if known is None else known[1]


def _identity(case: Case) -> tuple[int, ...]:
    return tuple(map(id, (case.checks, case.measures, case.criteria, case.judging, case.formula)))


class _Book:
    """The metrics of cases; those that are scored alike share them."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[tuple[int, ...], Metrics] = {}

    def of(self, case: Case) -> Metrics:
        key = _identity(case)
        if key not in self._known:
            self._known[key] = self._read(case)
        return self._known[key]

    def _read(self, case: Case) -> Metrics:
        found = Metrics()
        sections = self._add_criteria(case, found)
        seen: dict[str, int] = {}
        specs: tuple[Check | Measure, ...] = (*case.checks, *case.measures)
        for spec in specs:
            sections.add(spec.section)
            self._add_scorer(spec, seen, found)
        self._add_parts(case.formula, sections, found)
        return found

    def _add_criteria(self, case: Case, found: Metrics) -> set[str]:
        if not case.criteria:
            return set()
        if not self._is_ours("scorers", case.judging.name):
            found.is_open = True
        if case.judging.name == "holistic":
            found.names.add("holistic")
            return {"criteria"}
        found.names.update(criterion.id for criterion in case.criteria)
        if case.judging.settings.get("controls"):
            found.names.add(CONTROLS)
        return {criterion.section for criterion in case.criteria}

    def _add_scorer(self, spec: Check | Measure, seen: dict[str, int], found: Metrics) -> None:
        label = spec.label or self._label(spec)
        seen[label] = seen.get(label, 0) + 1
        numbered = f"{label} ({seen[label]})" if seen[label] > 1 else label
        found.names.add(numbered)
        if spec.label or numbered != label:
            found.beginnings.add(f"{numbered}/")  # Of several scores, each has its own name behind the label.
        elif not self._is_ours("scorers", spec.scorer):
            found.is_open = True
        elif spec.scorer in SEVERAL:
            found.beginnings.add(SEVERAL[spec.scorer])

    def _label(self, spec: Check | Measure) -> str:
        """What a scorer calls its score; its own name where it cannot be built without what a run has."""
        if not self._is_ours("scorers", spec.scorer):
            return spec.scorer
        try:
            return str(self._registry.build("scorers", spec.scorer, spec.settings, None).label)
        except (AttributeError, VivaError):
            return spec.scorer

    def _add_parts(self, formula: Ref, sections: set[str], found: Metrics) -> None:
        name = formula.name.partition("@")[0]
        if name not in PARTS or not self._is_ours("formulas", formula.name):
            found.is_open = True
            return
        found.parts.update(PARTS[name])
        if name in ("weighted", "embabel"):
            typed = self._registry.settings_type("formulas", formula.name)
            assert typed is not None
            weights = read_settings(typed, formula.settings, formula.name).weights  # type: ignore[attr-defined]
            found.parts.update(one for one in sections if not weights or weights.get(one, 0) > 0)

    def _is_ours(self, kind: str, name: str) -> bool:
        return self._registry.find(kind, name).__module__.startswith(_OURS)


def _check_trial(threshold: Threshold, case: Case, metrics: Metrics, places: Places) -> None:
    metric, where = threshold.metric, places.of(threshold, case.where)
    if metric in metrics.names and metric not in metrics.parts:
        check_reachable(threshold, where)
    if metrics.has_score(metric) or metric in metrics.parts:
        return
    message = f"the threshold {threshold} looks at a number the case {case.id!r} will not have"
    raise SuiteError(message, hint=_hint(metric, ("score", *metrics.names, *metrics.parts)), where=where)


def _check_run(threshold: Threshold, cases: Sequence[Case], book: _Book, places: Places) -> None:
    metric, where = threshold.metric, places.of(threshold, "")
    known: dict[str, None] = dict.fromkeys(OF_THE_RUN)
    for case in cases:
        metrics = book.of(case)
        if metric in metrics.names:
            check_reachable(threshold, where)
        if metrics.has_score(metric):
            return
        known |= dict.fromkeys(metrics.names)
    message = f"the threshold {threshold} looks at a number the run will not have"
    raise SuiteError(message, hint=_hint(metric, known), where=where)


def _hint(metric: str, known: Iterable[str]) -> str:
    listed = sorted(dict.fromkeys(known))
    near = difflib.get_close_matches(metric, listed, n=1, cutoff=0.6)
    guess = f"did you mean {near[0]!r}? " if near else ""
    more = f", … ({len(listed) - _MOST_LISTED} more)" if len(listed) > _MOST_LISTED else ""
    return f"{guess}known: {', '.join(listed[:_MOST_LISTED])}{more}; NAME.raw is a score on its own scale"
