"""Cases with every default of the suite filled in; what is not overridden is shared, not copied."""

from __future__ import annotations

from typing import Any, TypeVar

from viva.config.criteria import check_criteria, with_ids
from viva.config.keys import CaseKeys, SuiteKeys
from viva.config.parts import Listed
from viva.config.plugs import Plugs
from viva.config.reader import Reader
from viva.config.tasks import AUDIT, task_criteria
from viva.config.tree import Node, from_python
from viva.core.case import Case
from viva.core.check import Check, Measure
from viva.core.criterion import Criterion
from viva.core.data import replace
from viva.core.errors import SuiteError
from viva.core.limits import Limits, Retry
from viva.core.ref import Ref
from viva.core.stage import NO_STAGE, StagePlan
from viva.core.threshold import Threshold
from viva.core.variant import DEFAULT_VARIANT, Variant

T = TypeVar("T")

_PLAIN = frozenset({"id", "input", "expected", "context", "description", "metadata"})
"""Keys that touch nothing else: a row of a data set with only these needs no more than a copy of the defaults."""


class CaseMaker:
    """Makes cases from the suite's defaults and each case's own keys."""

    def __init__(self, reader: Reader, plugs: Plugs, suite: SuiteKeys, root: Node) -> None:
        self._reader = reader
        self._plugs = plugs
        self._ids: dict[str, str] = {}
        self._root = root
        self._subject: Ref | None = suite.subject
        self._defaults = self._read_defaults(suite)
        self._taken = {criterion.id: criterion.where for criterion in self._defaults.criteria}

    def _read_defaults(self, suite: SuiteKeys) -> Case:
        criteria: tuple[Criterion, ...] = with_ids(_items(suite.criteria), {})
        if suite.criteria is not None:
            check_criteria(criteria, suite.criteria.where)
        checks: tuple[Check, ...] = _items(suite.checks)
        measures: tuple[Measure, ...] = _items(suite.measures)
        _check_labels((*checks, *measures))
        return Case(
            id="",
            criteria=criteria,
            checks=checks,
            measures=measures,
            judging=suite.judging or Ref(name="each"),
            formula=suite.formula or Ref(name="mean@1"),
            thresholds=tuple(t for t in suite.thresholds or () if t.scope == "trial"),
            driver=suite.driver or Ref(name="once"),
            variants=self._variants(suite.variants, self._root) or (DEFAULT_VARIANT,),
            repeats=suite.repeats,
            stage=_merge(NO_STAGE, suite.stage),
            limits=_merge(Limits(), suite.limits),
            retry=_merge(Retry(), suite.retry),
            tags=as_tags(suite.tags),
        )

    def row(self, values: dict[str, Any], file: str, line: int, tags: tuple[str, ...]) -> Case:
        """Make a case from a row of a data set."""
        if not _is_plain_row(values):
            if tags:
                values = {**values, "tags": [*as_tags(values.get("tags") or ()), *tags]}
            return self.read(from_python(values, file, line))
        where = f"{file}:{line}"
        defaults = replace(self._defaults, tags=(*self._defaults.tags, *tags)) if tags else self._defaults
        case = replace(defaults, **values | {"id": self._identify(values.get("id"), where), "where": where})
        return self._checked(case, where)

    def read(self, node: Node) -> Case:
        """Make a case from what an author wrote."""
        if isinstance(node.value, Case):
            self._identify(node.value.id, node.where)
            return node.value
        keys: CaseKeys = self._reader.struct(CaseKeys, "a case")(node)
        base = self._defaults
        case = Case(
            id=self._identify(keys.id, node.where),
            input=keys.input,
            tasks=keys.tasks,
            facts=keys.facts,
            expected=keys.expected,
            context=keys.context,
            criteria=self._criteria(keys.criteria),
            checks=_added(base.checks, keys.checks),
            measures=_added(base.measures, keys.measures),
            judging=keys.judging or base.judging,
            formula=keys.formula or base.formula,
            thresholds=base.thresholds if keys.thresholds is None else _of_trial(keys.thresholds, node),
            driver=self._driver(keys, node),
            variants=self._variants(keys.variants, node) or base.variants,
            repeats=keys.repeats or base.repeats,
            stage=_merge(base.stage, keys.stage),
            limits=_merge(base.limits, keys.limits),
            retry=_merge(base.retry, keys.retry),
            tags=_joined(base.tags, as_tags(keys.tags)),
            description=keys.description,
            metadata=keys.metadata,
            where=node.where,
        )
        if keys.checks is not None or keys.measures is not None:
            _check_labels((*case.checks, *case.measures))
        if keys.judging is not None and not case.criteria:
            raise _nothing_to_judge(node.value["judging"].key_where)
        return self._checked(_with_tasks(case), node.where)

    def _checked(self, case: Case, where: str) -> Case:
        if case.driver.name == "persona" and not case.tasks:
            hint = "add `tasks:` to the case: what the simulated user wants"
            raise SuiteError("a persona without tasks has nothing to talk about", hint=hint, where=where)
        return case

    def _identify(self, given: str | int | None, where: str) -> str:
        identity = f"case-{len(self._ids) + 1}" if given is None else str(given)
        if not identity.strip() or not identity.isprintable():
            hint = "use letters, digits, punctuation and spaces: an id is printed, and commands find a case by it"
            raise SuiteError(f"the case id {identity!r} cannot be shown", hint=hint, where=where)
        if identity in self._ids:
            raise SuiteError(f"the case id {identity!r} is used twice, first at {self._ids[identity]}", where=where)
        self._ids[identity] = where
        return identity

    def _criteria(self, listed: Listed | None) -> tuple[Criterion, ...]:
        if listed is None:
            return self._defaults.criteria
        own = with_ids(listed.items, {} if listed.replaces else self._taken)
        criteria = own if listed.replaces else (*self._defaults.criteria, *own)
        check_criteria(criteria, listed.where)
        return criteria

    def _driver(self, keys: CaseKeys, node: Node) -> Ref:
        driver: Ref = keys.driver or self._defaults.driver
        if keys.turns is None:
            return driver
        if keys.driver is not None and driver.name != "script":
            where = node.value["turns"].key_where
            raise SuiteError(f"turns are for the script driver, not for {driver.name!r}", where=where)
        settings = from_python(driver.settings if driver.name == "script" else {}, keys.turns.file, keys.turns.line)
        settings.value["turns"] = keys.turns
        return self._plugs.make("drivers", "script", settings, keys.turns)

    def _variants(self, variants: tuple[Variant, ...] | None, node: Node) -> tuple[Variant, ...] | None:
        """Check what each variant changes against the subject it changes."""
        for number, variant in enumerate(variants or ()):
            subject = variant.subject or self._subject
            if variant.settings and subject is not None:
                written = node.value["variants"].value[number]
                settings = from_python(subject.settings, written.file, written.line)
                changed = (
                    written.value["settings"] if isinstance(written.value, dict) else from_python(variant.settings)
                )
                settings.value.update(changed.value)
                self._plugs.make("subjects", subject.name, settings, written)
        return variants


def _with_tasks(case: Case) -> Case:
    """Judge each task that says when it is done, and keep an eye on a simulated user."""
    judged = task_criteria(case.tasks)
    if judged:
        check_criteria((*case.criteria, *judged), case.where)
        case = replace(case, criteria=(*case.criteria, *judged))
    if case.driver.name == "persona" and not any(check.scorer == AUDIT.scorer for check in case.checks):
        case = replace(case, checks=(*case.checks, AUDIT))
    return case


def _is_plain_row(values: dict[str, Any]) -> bool:
    return (
        _PLAIN.issuperset(values)
        and isinstance(values.get("id", ""), str)
        and isinstance(values.get("description", ""), str)
        and isinstance(values.get("metadata", {}), dict)
    )


def as_tags(tags: tuple[str, ...] | list[str] | str) -> tuple[str, ...]:
    """One tag, or many."""
    return (tags,) if isinstance(tags, str) else tuple(tags)


def _items(listed: Listed | None) -> tuple[Any, ...]:
    return () if listed is None else listed.items


def _added(base: tuple[T, ...], listed: Listed | None) -> tuple[T, ...]:
    if listed is None:
        return base
    return listed.items if listed.replaces else (*base, *listed.items)


def _joined(base: tuple[str, ...], own: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*base, *own))) if own else base


M = TypeVar("M", Limits, Retry, StagePlan)


def _merge(base: M, written: dict[str, Any] | None) -> M:
    return replace(base, **written) if written else base


def _of_trial(thresholds: tuple[Threshold, ...], node: Node) -> tuple[Threshold, ...]:
    for number, threshold in enumerate(thresholds):
        if threshold.scope == "run":
            where = node.value["thresholds"].value[number].where
            hint = "put it under the suite's `thresholds:`"
            raise SuiteError(f"{threshold} is about the whole run, not about one case", hint=hint, where=where)
    return thresholds


def _check_labels(scored: tuple[Check | Measure, ...]) -> None:
    first: dict[str, str] = {}
    for item in scored:
        if item.label and item.label in first:
            message = f"the label {item.label!r} is used twice, first at {first[item.label]}"
            raise SuiteError(message, where=item.where)
        if item.label:
            first[item.label] = item.where


def _nothing_to_judge(where: str) -> SuiteError:
    hint = "add `criteria:`, or leave `judging:` out"
    return SuiteError("there are no criteria to judge", hint=hint, where=where)


def check_judging(cases: list[Case], root: Node) -> None:
    """Refuse a suite that says how to judge and nothing to judge by."""
    if "judging" in root.value and not any(case.criteria for case in cases):
        raise _nothing_to_judge(root.value["judging"].key_where)
