"""viva's own format: `suite:` with defaults, and cases that override them."""

from __future__ import annotations

import difflib

import msgspec

from viva.config.cases import CaseMaker, as_tags, check_judging
from viva.config.context import Context, Document
from viva.config.datasets import read_dataset
from viva.config.keys import DatasetKeys, SuiteKeys
from viva.config.metrics import check_thresholds
from viva.config.parts import Parts
from viva.config.plugs import Plugs
from viva.config.prompts import read_templates
from viva.config.reader import Reader, misfit
from viva.config.tree import Node
from viva.core.case import Case
from viva.core.errors import SuiteError
from viva.core.limits import RunLimits
from viva.core.suite import Suite

NAME = "viva"
KNOWN = SuiteKeys.__struct_encode_fields__


def recognises(root: Node) -> bool:
    """Whether a document is written in this format."""
    return isinstance(root.value, dict) and not {"suite", "cases", "dataset"}.isdisjoint(root.value)


def read(document: Document, context: Context) -> Suite:
    """Read a suite. Raises SuiteError with the line."""
    reader = Reader(lenient=context.lenient, warn=context.warn)
    plugs = Plugs(context.registry, reader, context.allow_env)
    parts = Parts(reader, plugs)
    root = document.root
    _refuse_nameless(root, reader)
    keys: SuiteKeys = reader.struct(SuiteKeys, "a suite")(root)
    cases = _cases(keys, CaseMaker(reader, plugs, keys, root), reader, context)
    if not cases:
        raise SuiteError("a suite needs cases", hint="add `cases:` or `dataset:`", where=root.where)
    check_judging(cases, root)
    of_the_run = tuple(t for t in keys.thresholds or () if t.scope == "run")
    check_thresholds(cases, of_the_run, parts.places, context.registry)
    templates = read_templates(keys.templates, root.value.get("templates"), context)
    return Suite(
        name=keys.suite,
        cases=tuple(cases),
        subject=keys.subject,
        description=keys.description,
        roles=keys.roles,
        limits=RunLimits(**msgspec.structs.asdict(keys.run_limits)),
        concurrency=keys.concurrency,
        thresholds=of_the_run,
        seed=keys.seed,
        tags=as_tags(keys.tags),
        metadata=keys.metadata,
        templates=templates,
        format=NAME,
        folder=str(context.folder or ""),
        sources=tuple(context.sources),
    )


def _refuse_nameless(root: Node, reader: Reader) -> None:
    """A suite without its name is told first: what is wrong inside may follow from it."""
    if "suite" in root.value:
        return
    for key in difflib.get_close_matches("suite", [key for key in root.value if key not in KNOWN]):
        reader.unknown_key(key, root.value[key], "a suite", list(KNOWN))
    raise SuiteError("a suite lacks its name", hint="begin with `suite: NAME`", where=root.where)


def _cases(keys: SuiteKeys, maker: CaseMaker, reader: Reader, context: Context) -> list[Case]:
    cases: list[Case] = []
    if keys.cases is not None:
        if not isinstance(keys.cases.value, list):
            raise misfit(keys.cases, "cases", "a list")
        cases.extend(maker.read(item) for item in keys.cases.value)
    for node in _listed(keys.dataset):
        dataset: DatasetKeys = reader.struct(DatasetKeys, "a dataset")(node)
        cases.extend(read_dataset(dataset, node, maker, context))
    return cases


def _listed(node: Node | None) -> list[Node]:
    """One data set, or several."""
    if node is None:
        return []
    return node.value if isinstance(node.value, list) else [node]
