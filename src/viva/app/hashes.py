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
OF_CASES = ("cases", "scorers", "formula", "drivers", "limits")
MOST_FRAMES = 10_000


def hash_parts(cases: Sequence[Case], subject: Ref, roles: Roles, registry: Registry, prompts: str) -> dict[str, str]:
    """Hash each part of what will be run; places in files and descriptions are left out."""
    hashers = {part: hashlib.sha256() for part in OF_CASES}
    frames = _Frames()
    names: dict[str, set[str]] = {"scorers": set(), "formulas": set(), "drivers": set()}
    for case in cases:
        frame = frames.of(case)
        name = case.id.encode("utf-8", "surrogatepass")
        hashers["cases"].update(b"%b\0%b\n" % (name, _hash_own(case, frame).encode()))
        for part, ending in frame.endings:
            hashers[part].update(name + ending)
        if not frame.is_named:
            frame.is_named = True
            _add_names(case, names)
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
    frames = _Frames()
    edited = [name for name in old if name in new and not _same(old[name], new[name], frames)]
    told = [
        *(f"{name} changed" for name in edited),
        *(f"{name} added" for name in new if name not in old),
        *(f"{name} removed" for name in old if name not in new),
    ]
    if not told:
        return text
    shown = ", ".join(told[:5]) + (f" and {len(told) - 5} more" if len(told) > 5 else "")
    return f"{text} ({shown})"


def _same(before: Case, after: Case, frames: _Frames) -> bool:
    old, new = frames.of(before), frames.of(after)
    return old.endings == new.endings and _hash_own(before, old) == _hash_own(after, new)


def _hash_own(case: Case, frame: _Frame) -> str:
    """What a case rarely shares with others, with the variants and the stage of its frame."""
    return content_hash(
        (
            (case.id, case.input, case.expected, case.context, case.facts, case.metadata, case.repeats),
            [(task.text, task.kind, task.acceptance) for task in case.tasks],
            frame.variants,
            frame.stage,
            case.stage.settle,
            case.stage.undo,
        )
    )


class _Frame:
    """What a case usually has from its suite, hashed."""

    __slots__ = ("endings", "is_named", "stage", "variants")

    def __init__(self, case: Case) -> None:
        stage, specs = case.stage, (case.checks, case.measures, case.criteria, (case.judging,))
        self.is_named = False
        self.variants = _hash_specs(case.variants)
        self.stage = _hash_specs((stage.graph, stage.database, *stage.setups, *stage.seeds))
        hashes = {
            "scorers": "|".join(map(_hash_specs, specs)),
            "formula": _hash_specs((case.formula,)) + content_hash(case.thresholds),
            "drivers": _hash_specs((case.driver,)),
            "limits": content_hash((case.limits, case.retry)),
        }
        self.endings = [(part, f"\0{value}\n".encode()) for part, value in hashes.items()]


class _Frames:
    """Finds the frame of a case by the identity of its parts: those shared by many cases are hashed once."""

    def __init__(self) -> None:
        # The parts are kept with the answer: an id alone could be given to another object later.
        self._known: dict[tuple[int, ...], tuple[tuple[Any, ...], _Frame]] = {}

    def of(self, case: Case) -> _Frame:
        parts = (
            *(case.variants, case.stage, case.checks, case.measures, case.criteria, case.judging),
            *(case.formula, case.thresholds, case.driver, case.limits, case.retry),
        )
        key = tuple(map(id, parts))
        known = self._known.get(key)
        if known is None:
            known = (parts, _Frame(case))
            if len(self._known) < MOST_FRAMES:
                self._known[key] = known
        return known[1]


def _add_names(case: Case, names: dict[str, set[str]]) -> None:
    names["formulas"].add(case.formula.name)
    names["drivers"].update((case.driver.name, *(v.driver.name for v in case.variants if v.driver)))
    names["scorers"].update(check.scorer for check in case.checks)
    names["scorers"].update(measure.scorer for measure in case.measures)
    if case.criteria:
        names["scorers"].add(case.judging.name)


def _hash_specs(specs: tuple[Any, ...]) -> str:
    """Hash specifications without their places in files."""
    return content_hash([_strip(spec) for spec in specs])


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
