"""The parts of a suite that are more than their type: checks, criteria, thresholds, tasks, variants, what is merged."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from viva.config.bounds import check_share
from viva.config.criteria import read_criterion, read_weight
from viva.config.keys import (
    LimitKeys,
    RetryKeys,
    SettleKeys,
    StageKeys,
    TaskKeys,
    ThresholdKeys,
    VariantKeys,
)
from viva.config.metrics import Places
from viva.config.plugs import Plugs
from viva.config.reader import Reader, misfit
from viva.config.tree import Node
from viva.core.case import Task
from viva.core.check import Check, Measure
from viva.core.errors import SuiteError
from viva.core.stage import Settle
from viva.core.threshold import Threshold
from viva.core.variant import Variant

BESIDE = ("weight", "label", "section")
"""What may stand beside the scorer's name in a check or measure."""

_THRESHOLD = re.compile(r"(?P<metric>[^<>=!]+)(?P<comparator>>=|<=|==|!=|>|<)\s*(?P<value>[-+]?[0-9.]+(?:e-?\d+)?)\Z")
_OF_THE_RUN = ("pass_rate", "error_rate")


class Listed(NamedTuple):
    """Items of a list that add to the suite's, or replace them."""

    items: tuple[Any, ...]
    replaces: bool
    where: str


class Parts:
    """Teaches a reader the parts of viva's own format."""

    def __init__(self, reader: Reader, plugs: Plugs) -> None:
        self.reader = reader
        self.plugs = plugs
        self.places = Places()
        for kind in ("subjects", "drivers", "formulas", "setups", "seeds", "graphs", "databases", "probes"):
            reader.special[kind] = plugs.ref(kind)
        reader.special |= {
            "judging": plugs.ref("scorers"),
            "checks": lambda node: self._listed(node, "checks", lambda item: self._scored(item, Check)),
            "measures": lambda node: self._listed(node, "measures", lambda item: self._scored(item, Measure)),
            "criteria": lambda node: self._listed(node, "criteria", lambda item: read_criterion(item, reader)),
            "thresholds": lambda node: tuple(self.threshold(item) for item in _items(node, "thresholds")),
            "tasks": lambda node: tuple(self.task(item) for item in _items(node, "tasks")),
            "variants": self.variants,
            "turns": lambda node: node,
            "limits": lambda node: reader.struct(LimitKeys, "limits").written(node),
            "retry": lambda node: reader.struct(RetryKeys, "retry").written(node),
            "stage": self.stage,
            "cases": lambda node: node,
            "datasets": lambda node: node,
        }

    def _listed(self, node: Node, name: str, read: Callable[[Node], Any]) -> Listed:
        content, replaces = node, False
        if isinstance(node.value, dict) and set(node.value) == {"only"}:
            content, replaces = node.value["only"], True
        if isinstance(content.value, dict):
            hint = f"begin each of the {name} with a dash; `only:` replaces those of the suite"
            raise SuiteError(f"{name}: expected a list, found a mapping", hint=hint, where=content.where)
        return Listed(tuple(read(item) for item in _items(content, name)), replaces, node.key_where)

    def _scored(self, node: Node, kind: type[Check] | type[Measure]) -> Check | Measure:
        """Read `name`, or `{name: settings, weight: …, label: …}`."""
        if isinstance(node.value, kind):
            return node.value
        if isinstance(node.value, str):
            ref = self.plugs.make("scorers", node.value, None, node)
            return kind(scorer=ref.name, where=node.where)
        if not isinstance(node.value, dict):
            raise misfit(node, f"a {kind.__name__.lower()}", "a name or {name: settings}")
        name = self._scorer_name(node, kind.__name__.lower())
        settings = node.value[name]
        ref = self.plugs.make("scorers", name, settings, Node(None, node.file, settings.key_line))
        beside = {key: self._beside(key, child) for key, child in node.value.items() if key in BESIDE}
        return kind(scorer=ref.name, settings=ref.settings, where=node.where, **beside)

    def _scorer_name(self, node: Node, what: str) -> str:
        names: list[str] = [key for key in node.value if key not in BESIDE]
        known = [name for name in names if ":" in name or "." in name or self.plugs.registry.knows("scorers", name)]
        if len(known) > 1 or not names:
            found = ", ".join(repr(name) for name in known) or "none"
            raise SuiteError(f"a {what} names one scorer; found {found}", where=node.where)
        if not known:
            return names[0]  # Unknown: whoever looks it up says so, with the nearest name.
        for key in names:
            if key != known[0]:
                self.reader.unknown_key(key, node.value[key], f"a {what}", list(BESIDE))
        return known[0]

    def _beside(self, key: str, node: Node) -> Any:
        if key == "weight":
            return read_weight(node)
        if not isinstance(node.value, str) or not node.value:
            raise misfit(node, key, "text")
        return node.value

    def threshold(self, node: Node) -> Threshold:
        """Read `metric >= number`, or the same as a mapping."""
        threshold = self._threshold(node)
        check_share(threshold, node.where)
        return self.places.note(threshold, node.where)

    def _threshold(self, node: Node) -> Threshold:
        if isinstance(node.value, Threshold):
            return node.value
        if isinstance(node.value, str):
            return parse_threshold(node.value, node.where)
        keys: ThresholdKeys = self.reader.struct(ThresholdKeys, "a threshold")(node)
        run = keys.run or keys.metric in _OF_THE_RUN
        return Threshold(
            value=keys.value, metric=keys.metric, comparator=keys.comparator, scope="run" if run else "trial"
        )

    def task(self, node: Node) -> Task:
        """Read a text, or `{text: …, acceptance: …}`."""
        if isinstance(node.value, Task):
            return node.value
        if isinstance(node.value, str) and node.value.strip():
            return Task(text=node.value, where=node.where)
        keys: TaskKeys = self.reader.struct(TaskKeys, "a task")(node)
        return Task(text=keys.text, kind=keys.kind, acceptance=keys.acceptance, where=node.where)

    def variants(self, node: Node) -> tuple[Variant, ...]:
        """Read the variants, each name once."""
        first: dict[str, str] = {}
        found = []
        for item in _items(node, "variants"):
            variant = self._variant(item)
            if variant.name in first:
                raise SuiteError(
                    f"the variant {variant.name!r} is there twice, first at {first[variant.name]}", where=item.where
                )
            first[variant.name] = item.where
            found.append(variant)
        if not found:
            raise SuiteError("variants must not be empty", hint="leave the key out", where=node.where)
        return tuple(found)

    def _variant(self, node: Node) -> Variant:
        if isinstance(node.value, Variant):
            return node.value
        keys: VariantKeys = self.reader.struct(VariantKeys, "a variant")(node)
        return Variant(
            name=keys.name, facts=keys.facts, model=keys.model, subject=keys.subject, driver=keys.driver,
            settings=keys.settings,
        )  # fmt: skip

    def stage(self, node: Node) -> dict[str, Any]:
        """Read the keys of a stage that were written."""
        written = self.reader.struct(StageKeys, "stage").written(node)
        settle: SettleKeys | None = written.get("settle")
        if settle is not None:
            written["settle"] = Settle(
                probe=settle.probe, wait_s=settle.wait_s, every_s=settle.every_s, timeout_s=settle.timeout_s,
                fail_fast=settle.fail_fast,
            )  # fmt: skip
        return written


def parse_threshold(text: str, where: str = "") -> Threshold:
    """Read `metric >= number`; `pass_rate` and `error_rate` are of the run."""
    found = _THRESHOLD.match(text.strip())
    try:
        value = float(found["value"]) if found else math.nan
    except ValueError:
        value = math.nan
    if found is None or not math.isfinite(value):
        hint = 'write it like "score >= 0.8"; comparators: >= > <= < == !='
        raise SuiteError(f"{text!r} is no threshold", hint=hint, where=where)
    metric = found["metric"].strip()
    scope = "run" if metric in _OF_THE_RUN else "trial"
    return Threshold(value=value, metric=metric, comparator=found["comparator"], scope=scope)  # type: ignore[arg-type]


def _items(node: Node, name: str) -> list[Node]:
    if not isinstance(node.value, list):
        raise misfit(node, name, "a list")
    return node.value
