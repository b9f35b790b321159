"""Every key of an Embabel job, as types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from viva.config.keys import (
    Checks,
    Count,
    Criteria,
    Formula,
    Graph,
    Measures,
    SettleKeys,
    SomeLimits,
    SomeRetry,
    Thresholds,
)
from viva.core.data import Data

Listed = Annotated[Any, Meta(extra={"read": "node"})]
Weight = Annotated[int, Meta(ge=0)]
Text = Annotated[str, Meta(min_length=1)]
Condition = Literal["withheld", "supplied"]


class EvaluatorKeys(Data, frozen=True, rename="camel"):
    """The simulated user."""

    name: str = "Socrates"
    voice: str = "You speak like a friendly, relaxed human"
    prompt: str = "eval/socrates"
    temperature: float = 0.5
    signoff: Text = "So Long, and Thanks for All the Fish"


class ScorerKeys(Data, frozen=True, rename="camel"):
    """The judge."""

    prompt: str = "eval/score"
    temperature: float = 0.0


class TargetKeys(Data, frozen=True, rename="camel"):
    """Sent as it is when a session is created."""

    user: str
    chatbot: str


class TaskKeys(Data, frozen=True, rename="camel"):
    """Something to be done."""

    task: Text
    acceptance_criteria: Text
    type: Literal["question", "task"] = "task"


class AddedKeys(Data, frozen=True, kw_only=True, rename="camel"):
    """What viva adds to a job, all optional and written as in a suite of viva's own."""

    subject: Listed = None
    graph: Graph = None
    settle: SettleKeys | None = None
    conditions: Annotated[tuple[Condition, ...], Meta(min_length=1)] = ("withheld", "supplied")
    repeats: Count = 1
    limits: SomeLimits = None
    retry: SomeRetry = None
    checks: Checks = None
    criteria: Criteria = None
    measures: Measures = None
    formula: Formula = None
    thresholds: Thresholds = None


class JobKeys(AddedKeys, frozen=True, kw_only=True, rename="camel"):
    """A whole job file."""

    evaluator: EvaluatorKeys
    aspirational_average: Annotated[int, Meta(gt=0)]
    target: TargetKeys
    tasks: tuple[TaskKeys, ...]
    facts: tuple[str, ...]
    scorer: ScorerKeys = ScorerKeys()
    max_turns: Annotated[int, Meta(gt=2)] = 20
    greetings: tuple[Text, ...] = ("Hello", "Hi", "Greetings", "Yo", "Hey")
    seeds: Listed = None
    setups: Listed = None
    assertions: Listed = None


class ReducedKeys(AddedKeys, frozen=True, kw_only=True, rename="camel"):
    """The reduced form: no evaluator, no target; the tasks are put as they stand."""

    seeds: Listed
    tasks: Annotated[tuple[TaskKeys, ...], Meta(min_length=1)]
    facts: Annotated[tuple[str, ...], Meta(min_length=1)]
    min_task_score: Annotated[float, Meta(ge=0, le=1)] = 0.5
    min_average_score: Annotated[float, Meta(ge=0, le=1)] = 0.6
    conditions: Annotated[tuple[Condition, ...], Meta(min_length=1)] = ("supplied",)


class ExpressionKeys(Data, frozen=True, rename="camel"):
    """A claim about the agent's own state."""

    expression: Text
    weight: Weight = 1


class CypherKeys(Data, frozen=True, rename="camel"):
    """A claim about the graph."""

    cypher: Text
    expected: str | int | float | bool
    weight: Weight = 1


class CypherSetupKeys(Data, frozen=True, rename="camel"):
    """A script that prepares the graph."""

    cypher: Text


class TextSeedKeys(Data, frozen=True, rename="camel"):
    """A document to remember; `ifUnsupported` says what to do where the agent cannot take one."""

    text: Text
    if_unsupported: Literal["error", "skip"] = "error"


class LineKeys(Data, frozen=True, rename="camel"):
    """One line of an earlier conversation."""

    content: str
    role: Literal["user", "assistant", "system", "tool"] = "user"


class ConversationSeedKeys(Data, frozen=True, rename="camel"):
    """An earlier conversation."""

    conversation: tuple[LineKeys, ...]


FAMILIES: dict[str, dict[str, type[Data]]] = {
    "an assertion": {"expression": ExpressionKeys, "cypher": CypherKeys},
    "a setup": {"cypher": CypherSetupKeys},
    "a seed": {"text": TextSeedKeys, "conversation": ConversationSeedKeys},
}
"""Told apart by the key that only one of a family has."""
