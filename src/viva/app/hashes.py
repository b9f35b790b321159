"""What would change a run's numbers, hashed part by part, so that a change can be named."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from viva.core.case import Case
from viva.core.check import Check, Measure
from viva.core.criterion import Criterion
from viva.core.data import content_hash, replace
from viva.core.ref import Ref
from viva.core.run import Run
from viva.core.suite import Roles
from viva.core.variant import Variant
from viva.registry import Registry

PARTS = ("subject", "cases", "scorers", "formula", "drivers", "limits", "prompts", "roles")


def hash_parts(cases: Sequence[Case], subject: Ref, roles: Roles, registry: Registry, prompts: str) -> dict[str, str]:
    """Hash each part of what will be run; places in files and descriptions are left out."""
    hashers = {part: hashlib.sha256() for part in ("cases", "scorers", "formula", "drivers", "limits")}
    stripped = _Stripper()
    names: dict[str, set[str]] = {"scorers": set(), "formulas": set(), "drivers": set()}
    for case in cases:
        for part, value in _parts_of(case, stripped):
            hashers[part].update(f"{case.id}\0{value}\n".encode("utf-8", "surrogatepass"))
        names["formulas"].add(case.formula.name)
        names["drivers"].update((case.driver.name, *(v.driver.name for v in case.variants if v.driver)))
        names["scorers"].update(check.scorer for check in case.checks)
        names["scorers"].update(measure.scorer for measure in case.measures)
        if case.criteria:
            names["scorers"].add(case.judging.name)
    for part, kind in (("scorers", "scorers"), ("formula", "formulas"), ("drivers", "drivers")):
        hashers[part].update(_versions(kind, names[kind], registry).encode())
    found = {part: hasher.hexdigest()[:16] for part, hasher in hashers.items()}
    found["subject"] = content_hash(_plain_ref(subject))
    found["prompts"] = prompts
    found["roles"] = content_hash(roles)
    return {part: found[part] for part in PARTS}


def changed_parts(run: Run, now: dict[str, str]) -> list[str]:
    """The parts that differ from what a run was begun with."""
    return [part for part in PARTS if run.hashes.get(part, "") != now.get(part, "")]


def describe_change(parts: Sequence[str], before: Sequence[Case], after: Sequence[Case]) -> str:
    """Name what changed, down to the cases where that can be told."""
    text = ", ".join(parts)
    old, new = {case.id: case for case in before}, {case.id: case for case in after}
    stripped = _Stripper()
    edited = [name for name in old if name in new and not _same(old[name], new[name], stripped)]
    told = [
        *(f"{name} changed" for name in edited),
        *(f"{name} added" for name in new if name not in old),
        *(f"{name} removed" for name in old if name not in new),
    ]
    if not told:
        return text
    shown = ", ".join(told[:5]) + (f" and {len(told) - 5} more" if len(told) > 5 else "")
    return f"{text} ({shown})"


def _same(before: Case, after: Case, stripped: _Stripper) -> bool:
    return list(_parts_of(before, stripped)) == list(_parts_of(after, stripped))


def _parts_of(case: Case, stripped: _Stripper) -> Iterable[tuple[str, str]]:
    yield (
        "cases",
        content_hash(
            (
                (case.id, case.input, case.expected, case.context, case.facts, case.metadata, case.repeats),
                [(task.text, task.kind, task.acceptance) for task in case.tasks],
                stripped.of(case.variants),
                stripped.of((case.stage.graph, case.stage.database, *case.stage.setups, *case.stage.seeds)),
                case.stage.settle,
                case.stage.undo,
            )
        ),
    )
    yield "scorers", "|".join(map(stripped.of, (case.checks, case.measures, case.criteria, (case.judging,))))
    yield "formula", stripped.of((case.formula,)) + content_hash(case.thresholds)
    yield "drivers", stripped.of((case.driver,))
    yield "limits", stripped.of_value((case.limits, case.retry))


class _Stripper:
    """Hashes specifications without their places in files; tuples shared by many cases are hashed once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}

    def of(self, specs: tuple[Any, ...]) -> str:
        return self._hash(specs, lambda: content_hash([_strip(spec) for spec in specs]))

    def of_value(self, value: Any) -> str:
        return content_hash(value)

    def _hash(self, key: Any, make: Any) -> str:
        known = self._known.get(id(key))
        if known is None:
            known = (key, make())
            if len(self._known) < 10_000:
                self._known[id(key)] = known
        return known[1]


def _strip(spec: Any) -> Any:
    if isinstance(spec, Ref):
        return _plain_ref(spec)
    if isinstance(spec, Variant):
        return (
            replace(spec, subject=None, driver=None),
            _strip(spec.subject) if spec.subject else None,
            _strip(spec.driver) if spec.driver else None,
        )
    if isinstance(spec, Check | Measure | Criterion):
        return replace(spec, where="")
    return spec


def _plain_ref(ref: Ref) -> Ref:
    return replace(ref, where="") if ref.where else ref


def _versions(kind: str, names: Iterable[str], registry: Registry) -> str:
    return " ".join(f"{name}@{getattr(registry.find(kind, name), 'version', '')}" for name in sorted(names))
