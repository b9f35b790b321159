"""Every key of viva's own suite format, as types: what the reader accepts and the JSON Schema says.

A field marked `_read("…")` is more than its type (a reference to an implementation, a check, a threshold): the
function of that name in `parts.py` reads it, and the schema's definition of that name describes it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from viva.core.criterion import Level
from viva.core.data import Data
from viva.core.suite import Roles


def _read(name: str) -> Meta:
    return Meta(extra={"read": name}, extra_json_schema={"$ref": f"#/$defs/{name}"})


Subject = Annotated[Any, _read("subjects")]
Driver = Annotated[Any, _read("drivers")]
Formula = Annotated[Any, _read("formulas")]
Judging = Annotated[Any, _read("judging")]
Setup = Annotated[Any, _read("setups")]
Seed = Annotated[Any, _read("seeds")]
Graph = Annotated[Any, _read("graphs")]
Database = Annotated[Any, _read("databases")]
Probe = Annotated[Any, _read("probes")]
Checks = Annotated[Any, _read("checks")]
Measures = Annotated[Any, _read("measures")]
Criteria = Annotated[Any, _read("criteria")]
Thresholds = Annotated[Any, _read("thresholds")]
Turns = Annotated[Any, _read("turns")]
Tasks = Annotated[Any, _read("tasks")]
Variants = Annotated[Any, _read("variants")]
SomeLimits = Annotated[Any, _read("limits")]
SomeRetry = Annotated[Any, _read("retry")]
SomeStage = Annotated[Any, _read("stage")]
Cases = Annotated[Any, _read("cases")]
Datasets = Annotated[Any, _read("datasets")]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Count = Annotated[int, Meta(ge=1)]
Tags = tuple[Name, ...] | Name


class SettleKeys(Data, frozen=True):
    """Waiting until the agent has digested its seeds."""

    probe: Probe = None
    wait_s: Annotated[float, Meta(ge=0)] = 0.0
    every_s: Annotated[float, Meta(gt=0)] = 3.0
    timeout_s: Annotated[float, Meta(ge=0)] = 30.0
    fail_fast: bool = True


class StageKeys(Data, frozen=True):
    """The world around the agent."""

    setups: tuple[Setup, ...] = ()
    seeds: tuple[Seed, ...] = ()
    settle: SettleKeys | None = None
    undo: bool = True
    graph: Graph = None
    database: Database = None


class LimitKeys(Data, frozen=True):
    """Ceilings of one trial; `null` lifts one."""

    seconds: Annotated[float, Meta(gt=0)] | None = None
    turn_seconds: Annotated[float, Meta(gt=0)] = 120.0
    turns: Count | None = None
    bytes: Count = 10_000_000
    tokens: Count | None = None
    cost_usd: Annotated[float, Meta(ge=0)] | None = None


class RunLimitKeys(Data, frozen=True):
    """Ceilings of the whole run."""

    seconds: Annotated[float, Meta(gt=0)] | None = None
    tokens: Count | None = None
    cost_usd: Annotated[float, Meta(ge=0)] | None = None
    trials: Count | None = None


class RetryKeys(Data, frozen=True):
    """Trying a failed message again."""

    attempts: Count = 4
    backoff_s: Annotated[float, Meta(ge=0)] = 0.1
    factor: Annotated[float, Meta(ge=1)] = 1.0
    longest_s: Annotated[float, Meta(ge=0)] = 30.0


class VariantKeys(Data, frozen=True):
    """A named change of conditions."""

    name: Name
    facts: Literal["supplied", "withheld"] = "supplied"
    model: str | None = None
    subject: Subject = None
    driver: Driver = None
    settings: dict[str, Any] = {}


class CriterionKeys(Data, frozen=True):
    """A requirement in words."""

    text: Annotated[str, Meta(min_length=1)]
    id: Name | None = None
    title: str = ""
    weight: float = 1.0
    pitfall: bool = False
    levels: tuple[Level, ...] = ()
    category: str = ""
    section: Name = "criteria"


class TaskKeys(Data, frozen=True):
    """Something the simulated user wants done."""

    text: Annotated[str, Meta(min_length=1)]
    kind: Literal["task", "question"] = "task"
    acceptance: str = ""


class ThresholdKeys(Data, frozen=True):
    """A number to reach."""

    value: float
    metric: Name = "score"
    comparator: Literal[">=", ">", "<=", "<", "==", "!="] = ">="
    run: bool = False


class DatasetKeys(Data, frozen=True):
    """A file of cases."""

    file: Name
    format: Literal["jsonl", "csv", "yaml"] | None = None
    map: dict[str, Any] = {}
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] | None = None
    skip_bad: bool = False
    limit: Count | None = None
    tags: Tags = ()


class CaseKeys(Data, frozen=True):
    """One situation."""

    id: Name | int | None = None
    description: str = ""
    input: Any = None
    turns: Turns = None
    tasks: Tasks = ()
    facts: tuple[str, ...] = ()
    expected: Any = None
    context: Any = None
    checks: Checks = None
    criteria: Criteria = None
    measures: Measures = None
    judging: Judging = None
    formula: Formula = None
    thresholds: Thresholds = None
    driver: Driver = None
    variants: Variants = None
    repeats: Count | None = None
    stage: SomeStage = None
    limits: SomeLimits = None
    retry: SomeRetry = None
    tags: Tags = ()
    metadata: dict[str, Any] = {}


class SuiteKeys(Data, frozen=True):
    """A whole file."""

    suite: Name
    description: str = ""
    subject: Subject = None
    driver: Driver = None
    roles: Roles = Roles()
    repeats: Count = 1
    variants: Variants = None
    limits: SomeLimits = None
    run_limits: RunLimitKeys = RunLimitKeys()
    retry: SomeRetry = None
    concurrency: Annotated[int, Meta(ge=1, le=10_000)] = 16
    stage: SomeStage = None
    judging: Judging = None
    formula: Formula = None
    thresholds: Thresholds = None
    checks: Checks = None
    criteria: Criteria = None
    measures: Measures = None
    templates: dict[str, str] = {}
    dataset: Datasets = None
    cases: Cases = None
    seed: int = 0
    tags: Tags = ()
    metadata: dict[str, Any] = {}
