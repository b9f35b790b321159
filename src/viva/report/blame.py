"""Whose fault was it: the agent's, the simulated user's, the judge's or the harness's?"""

from __future__ import annotations

from viva.core.score import TrialResult

USER_FLAG = "user:"
"""Flags of trials in which the simulated user did what it should not have."""

_HARNESS = (
    "stage",
    "harness",
    "graph",
    "sql",
    "cypher",
    "setup",
    "seed",
    "not_settled",
    "undo",
    "no_stage",
    "no_graph",
    "no_database",
    "not_observed",
    "http_",
    "scorer_error",
    "expression",
    "limit",
    "missing_score",
    "no_score",
)


def is_spoilt(result: TrialResult) -> bool:
    """Whether the simulated user misbehaved in a trial, so that its score says less about the agent."""
    return any(flag.startswith(USER_FLAG) for flag in result.flags)


def whose_fault(result: TrialResult) -> str:
    """Who a trial that did not pass is to be looked into with first; '' for one that passed or was skipped."""
    if result.outcome in ("pass", "skipped"):
        return ""
    if result.outcome == "error":
        return _whose_error(result.error)
    return "user" if is_spoilt(result) else "agent"


def _whose_error(kind: str) -> str:
    if kind.startswith("judge_") or kind == "cannot_tell":
        return "judge"
    if kind.startswith(("user_", "driver_")):
        return "user"
    return "harness" if kind.startswith(_HARNESS) else "agent"
