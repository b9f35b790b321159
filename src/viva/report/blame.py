"""Whose fault was it: the agent's, the simulated user's, the judge's, the suite's or the harness's?"""

from __future__ import annotations

from viva.core.score import TrialResult

USER_FLAG = "user:"
"""Flags of trials in which the simulated user did what it should not have."""

_SUITE = frozenset(
    {
        *("suite_error", "expression_error", "bad_pattern", "settle_expression", "too_costly"),
        *("cypher_syntax", "cypher_not_reading", "sql_not_reading", "too_many_rows"),
        *("jq_error", "jq_empty", "schema_error", "no_such_field", "no_such_name", "no_such_function"),
        *("no_expected", "no_expectations", "no_tasks", "no_input", "missing_input"),
        *("missing_score", "no_score", "cost_unknown"),
        *("not_allowed", "literal_secret", "outside_folder", "missing_file"),
        *("no_stage", "no_graph", "no_database", "unknown_source", "not_observable", "seed_unsupported"),
    }
)
"""Errors that the author of the suite can mend: it asks for what there is not, or in words that cannot be read."""

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
    "not_observed",
    "observation_failed",
    "missing_package",
    "missing_key",
    "missing_variable",
    "missing_model",
    "missing_setting",
    "http_",
    "scorer_error",
    "jq_",
    "limit",
)


def is_spoilt(result: TrialResult) -> bool:
    """Whether the simulated user misbehaved in a trial, so that its score says less about the agent."""
    return any(flag.startswith(USER_FLAG) for flag in result.flags)


def whose_fault(result: TrialResult) -> str:
    """Who a trial that did not pass is to be looked into with first; '' for one that passed or was skipped."""
    if result.outcome in ("pass", "skipped"):
        return ""
    if result.outcome == "error":
        return whose_error(result.error)
    return "user" if is_spoilt(result) else "agent"


def whose_error(kind: str) -> str:
    """Who can mend an error of this kind."""
    if kind in _SUITE:
        return "suite"
    if kind.startswith("judge_") or kind == "cannot_tell":
        return "judge"
    if kind.startswith(("user_", "driver_")):
        return "user"
    return "harness" if kind.startswith(_HARNESS) else "agent"
