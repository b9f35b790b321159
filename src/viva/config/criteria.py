"""Criteria as an author writes them: what each may say, what it is called, and which sets make no sense."""

from __future__ import annotations

import re

from viva.config.keys import CriterionKeys
from viva.config.reader import Reader, misfit
from viva.config.tree import Node
from viva.core.criterion import Criterion
from viva.core.data import replace
from viva.core.errors import SuiteError

MOST_CRITERIA = 5_000
"""Of one case. Each costs a judge's call; more is a mistake or an attack."""

_LONGEST_ID = 40


def read_criterion(node: Node, reader: Reader) -> Criterion:
    """Read a text, or `{text: …, weight: …}`; an id that was not given stays empty for `with_ids`."""
    if isinstance(node.value, Criterion):
        return node.value
    if isinstance(node.value, str) and node.value.strip():
        return Criterion(id="", text=node.value, where=node.where)
    keys: CriterionKeys = reader.struct(CriterionKeys, "a criterion")(node)
    if "weight" in node.value:
        read_weight(node.value["weight"])
    _check_levels(keys, node)
    return Criterion(
        id=keys.id or "", text=keys.text, title=keys.title, weight=keys.weight, pitfall=keys.pitfall,
        levels=keys.levels, category=keys.category, section=keys.section, where=node.where,
    )  # fmt: skip


def read_weight(node: Node) -> float:
    """Read a weight, which is never negative."""
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise misfit(node, "weight", "a number")
    if value < 0:
        hint = "weights are positive; mark something bad with `pitfall: true`"
        raise SuiteError(f"weight must be at least 0, not {value}", hint=hint, where=node.where)
    return float(value)


def with_ids(criteria: tuple[Criterion, ...], taken: dict[str, str]) -> tuple[Criterion, ...]:
    """Name the criteria that have no id after their title or text; `taken` maps ids already given to their places."""
    taken = dict(taken)
    for criterion in criteria:
        if criterion.id and criterion.id in taken:
            first = taken[criterion.id]
            message = f"the criterion id {criterion.id!r} is used twice, first at {first}"
            raise SuiteError(message, where=criterion.where)
        if criterion.id:
            taken[criterion.id] = criterion.where
    counts: dict[str, int] = {}
    named = []
    for number, criterion in enumerate(criteria, start=1):
        identity = criterion.id
        if not identity:
            # From the words where there are any, so that it does not change when the list does.
            name = _slug(criterion.title or criterion.text) or f"criterion-{number}"
            identity = _free(name, taken, counts)
        named.append(criterion if criterion.id else replace(criterion, id=identity))
    return tuple(named)


def check_criteria(criteria: tuple[Criterion, ...], where: str) -> None:
    """Refuse sets no formula can make a number of."""
    if len(criteria) > MOST_CRITERIA:
        message = f"{len(criteria):,} criteria; a case may have {MOST_CRITERIA:,}"
        raise SuiteError(message, hint="each one is a call to the judge", where=where)
    if criteria and not any(criterion.weight for criterion in criteria):
        hint = "give at least one of them a weight above 0"
        raise SuiteError("all criteria have weight 0, so there is nothing to score", hint=hint, where=where)


def _check_levels(keys: CriterionKeys, node: Node) -> None:
    if not keys.levels:
        return
    names = [level.name for level in keys.levels]
    problem = ""
    if len(names) < 2:
        problem = "levels need two or more rungs"
    elif len(set(names)) < len(names):
        problem = "two levels have the same name"
    elif any(not 0 <= level.value <= 1 for level in keys.levels):
        problem = "the value of a level lies in [0, 1]"
    if problem:
        raise SuiteError(problem, where=node.value["levels"].where)


def _free(name: str, taken: dict[str, str], counts: dict[str, int]) -> str:
    free = name
    while free in taken:
        counts[name] = counts.get(name, 1) + 1
        free = f"{name}-{counts[name]}"
    taken[free] = ""
    return free


def _slug(text: str) -> str:
    slug = ""
    for word in re.findall(r"\w+", text[:500].lower()):
        if slug and len(slug) + len(word) >= _LONGEST_ID:
            break
        slug = f"{slug}-{word}" if slug else word[:_LONGEST_ID]
    return slug
