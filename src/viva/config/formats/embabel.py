"""Job files of Embabel Agent Eval, unchanged: camelCase keys, variants told apart by their keys, every default.

A job becomes a suite of one case: a persona drives the conversation, each task is a graded criterion, assertions are
checks, response time is a measure, and `embabel@1` makes one number of them. It runs twice, with the facts withheld
and with the facts supplied. The reduced form (seeds, tasks, facts, thresholds) puts its tasks to the agent directly.
Keys of viva's own (a subject, limits, further checks, …) may be added to either.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import msgspec

from viva.config.context import Context, Document
from viva.config.criteria import check_criteria, with_ids
from viva.config.formats.embabel_keys import (
    FAMILIES,
    AddedKeys,
    ConversationSeedKeys,
    CypherKeys,
    CypherSetupKeys,
    ExpressionKeys,
    JobKeys,
    ReducedKeys,
    ScorerKeys,
    TaskKeys,
    TextSeedKeys,
)
from viva.config.metrics import check_thresholds
from viva.config.parts import Listed, Parts
from viva.config.plugs import Plugs
from viva.config.reader import Reader, misfit
from viva.config.tasks import AUDIT, LEVELS, TASKS, task_criteria
from viva.config.tree import Node, from_python
from viva.core.case import Case, Task
from viva.core.check import Check, Measure
from viva.core.criterion import Criterion
from viva.core.data import Data, replace
from viva.core.errors import SuiteError
from viva.core.limits import Limits
from viva.core.ref import Ref
from viva.core.stage import NO_STAGE, Settle, StagePlan
from viva.core.suite import Suite
from viva.core.threshold import Threshold
from viva.core.variant import Variant
from viva.registry import suggest

NAME = "embabel"

ASSERTIONS = "assertions"
BUILT_IN_PROMPTS = ("eval/socrates", "eval/score")
VARIANTS = {
    "withheld": Variant(name="withheld", facts="withheld"),
    "supplied": Variant(name="supplied", facts="supplied"),
}

REDUCED = frozenset({"minTaskScore", "minAverageScore", "seeds"})


def recognises(root: Node) -> bool:
    """Whether a document is a job: it has tasks, and is no suite of viva's own."""
    if not isinstance(root.value, dict) or not {"suite", "cases", "dataset"}.isdisjoint(root.value):
        return False
    keys = set(root.value)
    return bool(keys & {"evaluator", "aspirationalAverage", "target"}) or ("tasks" in keys and bool(keys & REDUCED))


def read(document: Document, context: Context) -> Suite:
    """Read a job. Raises SuiteError with the line."""
    reader = Reader(lenient=context.lenient, warn=context.warn)
    reader.special["node"] = lambda node: node
    job = _Job(document, context, reader)
    case, subject = job.read()
    check_thresholds((case,), job.of_the_run, job.parts.places, context.registry)
    return Suite(
        name=job.name,
        cases=(case,),
        subject=subject,
        thresholds=job.of_the_run,
        format=NAME,
        folder=str(context.folder or ""),
        sources=tuple(context.sources),
    )


class _Job:
    """One document on its way to a case."""

    def __init__(self, document: Document, context: Context, reader: Reader) -> None:
        self.root = document.root
        self.name = PurePath(document.file).stem.strip("<>") or "job"
        self.context = context
        self.reader = reader
        self.plugs = Plugs(context.registry, reader, context.allow_env)
        self.parts = Parts(reader, self.plugs)
        self.of_the_run: tuple[Threshold, ...] = ()

    def read(self) -> tuple[Case, Ref]:
        """Read the full or the reduced form."""
        if not {"evaluator", "target", "aspirationalAverage"}.isdisjoint(self.root.value):
            return self._full()
        return self._reduced()

    def _full(self) -> tuple[Case, Ref]:
        keys: JobKeys = self.reader.struct(JobKeys, "a job")(self.root)
        if not keys.tasks:
            raise SuiteError("a job needs at least one task", where=self.root.value["tasks"].where)
        tasks = self._tasks(keys.tasks)
        tone = Criterion(
            id="tone",
            text="The assistant's tone is appropriate to the conversation.",
            title="tone",
            levels=LEVELS,
            section="tone",
        )
        case = Case(
            id=self.name,
            tasks=tasks,
            facts=keys.facts,
            criteria=(*task_criteria(tasks), tone),
            checks=(*self._assertions(keys.assertions), AUDIT),
            measures=(self._timing(keys.aspirational_average),),
            judging=self._judging(keys.scorer),
            driver=self._persona(keys),
            # maxTurns counts messages; a turn of ours is a pair.
            limits=Limits(turns=-(-keys.max_turns // 2)),
            stage=self._stage(keys),
            where=self.root.where,
        )
        case = self._with_additions(case, keys)
        return case, self._subject(keys.subject, {"user": keys.target.user, "chatbot": keys.target.chatbot})

    def _reduced(self) -> tuple[Case, Ref]:
        keys: ReducedKeys = self.reader.struct(ReducedKeys, "a reduced job")(self.root)
        if not _items(keys.seeds, "seeds"):
            raise SuiteError("seeds must not be empty", where=self.root.value["seeds"].where)
        tasks = self._tasks(keys.tasks)
        criteria = task_criteria(tasks)
        case = Case(
            id=self.name,
            tasks=tasks,
            facts=keys.facts,
            criteria=criteria,
            driver=Ref(name="direct"),
            thresholds=(
                *(Threshold(metric=criterion.id, value=keys.min_task_score) for criterion in criteria),
                Threshold(metric=TASKS, value=keys.min_average_score),
            ),
            stage=self._stage(keys),
            where=self.root.where,
        )
        # What the original asserts, the exit code tells: every task and the average reach their marks.
        self.of_the_run = (Threshold(metric="pass_rate", value=1.0, scope="run"),)
        return self._with_additions(case, keys), self._subject(keys.subject, {"user": "viva", "chatbot": "agent"})

    def _with_additions(self, case: Case, keys: AddedKeys) -> Case:
        """The case with the job's keys of viva's own."""
        thresholds: tuple[Threshold, ...] = keys.thresholds or ()
        self.of_the_run += tuple(t for t in thresholds if t.scope == "run")
        criteria = (*case.criteria, *with_ids(_added(keys.criteria), {one.id: one.where for one in case.criteria}))
        check_criteria(criteria, self.root.where)
        return replace(
            case,
            criteria=criteria,
            checks=(*case.checks, *_added(keys.checks)),
            measures=(*case.measures, *_added(keys.measures)),
            formula=keys.formula or Ref(name="embabel@1"),
            thresholds=(*case.thresholds, *(t for t in thresholds if t.scope == "trial")),
            variants=tuple(VARIANTS[name] for name in dict.fromkeys(keys.conditions)),
            repeats=keys.repeats,
            limits=replace(case.limits, **keys.limits or {}),
            retry=replace(case.retry, **keys.retry or {}),
        )

    def _tasks(self, keys: tuple[TaskKeys, ...]) -> tuple[Task, ...]:
        nodes = self.root.value["tasks"].value
        return tuple(
            Task(text=task.task, kind=task.type, acceptance=task.acceptance_criteria, where=node.where)
            for task, node in zip(keys, nodes, strict=True)
        )

    def _persona(self, keys: JobKeys) -> Ref:
        evaluator = keys.evaluator
        settings: dict[str, Any] = {
            "name": evaluator.name,
            "voice": evaluator.voice,
            "temperature": evaluator.temperature,
            "signoff": evaluator.signoff,
            "greetings": list(keys.greetings),
        }
        if evaluator.prompt not in BUILT_IN_PROMPTS:
            settings["template"] = self._template(evaluator.prompt)
        at = self.root.value["evaluator"]
        return self.plugs.make("drivers", "persona", from_python(settings, at.file, at.line), at)

    def _template(self, prompt: str) -> str:
        """A prompt is named without its ending, below the job's folder or its `prompts` folder."""
        node = self.root.value["evaluator"].value["prompt"]
        tried = [prompt, f"{prompt}.jinja", f"prompts/{prompt}.jinja"]
        for name in tried:
            if self.context.folder is not None and (self.context.folder / name).is_file():
                self.context.file(name, node.where)
                return name
        raise SuiteError(f"no template called {prompt!r}", hint=f"looked for: {', '.join(tried)}", where=node.where)

    def _judging(self, scorer: ScorerKeys) -> Ref:
        if scorer.prompt not in BUILT_IN_PROMPTS:
            node = self.root.value["scorer"].value["prompt"]
            self.context.warn(
                f"{node.where}: scorer.prompt is not used: viva judges each task in a call of its own; "
                "replace the template `each` instead"
            )
        return Ref(name="each", settings={"temperature": scorer.temperature} if scorer.temperature else {})

    def _timing(self, target_ms: int) -> Measure:
        where = self.root.value["aspirationalAverage"].where
        return Measure(
            scorer="timing", settings={"target_ms": float(target_ms)}, label="timing", section="timing", where=where
        )

    def _assertions(self, node: Node | None) -> tuple[Check, ...]:
        checks: list[Check] = []
        for item in _items(node, ASSERTIONS):
            keys = self._variant("an assertion", item)
            if isinstance(keys, CypherKeys):
                name, settings = "cypher", {"query": keys.cypher, "expected": keys.expected}
                text = keys.cypher
            else:
                assert isinstance(keys, ExpressionKeys)
                name, settings = "expression", {"source": keys.expression, "language": "kotlin"}
                text = keys.expression
            ref = self.plugs.make("scorers", name, from_python(settings, item.file, item.line), item)
            checks.append(
                Check(
                    scorer=name, settings=ref.settings, weight=keys.weight, section=ASSERTIONS, where=item.where,
                    label=_unique(f"{name}: {' '.join(text.split())}", checks),
                )
            )  # fmt: skip
        return tuple(checks)

    def _stage(self, keys: JobKeys | ReducedKeys) -> StagePlan:
        setups = [self._setup(item) for item in _items(getattr(keys, "setups", None), "setups")]
        seeds = [self._seed(item) for item in _items(keys.seeds, "seeds")]
        asks_graph = any("cypher" in item.value for item in _items(getattr(keys, "assertions", None), ASSERTIONS))
        graph: Ref | None = keys.graph
        if graph is None and (setups or asks_graph):
            graph = Ref(name="neo4j", where=self.root.where)
        if graph is None and not seeds:
            return NO_STAGE
        settle = Settle(**msgspec.structs.asdict(keys.settle)) if keys.settle is not None else None
        return StagePlan(setups=tuple(setups), seeds=tuple(seeds), settle=settle, graph=graph)

    def _setup(self, item: Node) -> Ref:
        keys = self._variant("a setup", item)
        assert isinstance(keys, CypherSetupKeys)
        return Ref(name="cypher", settings={"script": keys.cypher}, where=item.where)

    def _seed(self, item: Node) -> Ref:
        keys = self._variant("a seed", item)
        if isinstance(keys, TextSeedKeys):
            settings = {"text": keys.text, "if_unsupported": keys.if_unsupported}
            return Ref(name="text", settings=settings, where=item.where)
        assert isinstance(keys, ConversationSeedKeys)
        lines = [{"content": line.content, "role": line.role} for line in keys.conversation]
        return Ref(name="conversation", settings={"lines": lines}, where=item.where)

    def _variant(self, family: str, item: Node) -> Data:
        """Tell the members of a family apart by their keys; mixed or unknown keys are an error that lists them."""
        variants = FAMILIES[family]
        if not isinstance(item.value, dict):
            raise misfit(item, family, "a mapping")
        named = [key for key in variants if key in item.value]
        if len(named) != 1:
            listed = "; ".join(f"{{{', '.join(_keys_of(kind))}}}" for kind in variants.values())
            found = ", ".join(item.value) or "no keys"
            near = suggest(next(iter(item.value), ""), list(variants)) if not named else ""
            raise SuiteError(
                f"{family} with {found} is none that is known",
                hint=f"{near or 'choose one'}; {family} is one of: {listed}",
                where=item.where,
            )
        found_keys: Data = self.reader.struct(variants[named[0]], family)(item)
        return found_keys

    def _subject(self, node: Node | None, target: dict[str, str]) -> Ref:
        if node is None:
            return Ref(name="embabel", settings=target, where=self.root.where)
        if (
            isinstance(node.value, dict)
            and len(node.value) == 1
            and self.plugs.registry.knows("subjects", next(iter(node.value)))
        ):
            return self.plugs.read("subjects", node)
        if not isinstance(node.value, dict):
            return self.plugs.read("subjects", node)
        settings = Node({**from_python(target, node.file, node.line).value, **node.value}, node.file, node.line)
        return self.plugs.make("subjects", "embabel", settings, node)


def _items(node: Node | None, name: str) -> list[Node]:
    if node is None or node.value is None:
        return []
    if not isinstance(node.value, list):
        raise misfit(node, name, "a list")
    return node.value


def _added(listed: Listed | None) -> tuple[Any, ...]:
    return () if listed is None else listed.items


def _keys_of(kind: type[Data]) -> tuple[str, ...]:
    return kind.__struct_encode_fields__


def _unique(label: str, checks: list[Check]) -> str:
    """Two assertions may have the same text; their labels tell them apart."""
    taken = {check.label for check in checks}
    number, found = 2, label
    while found in taken:
        found = f"{label} ({number})"
        number += 1
    return found
