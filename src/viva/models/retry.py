"""The one retry policy of all model calls."""

from __future__ import annotations

import random

from viva.core.data import replace
from viva.core.errors import ModelError
from viva.core.limits import Retry

MODEL_RETRY = Retry(attempts=10, backoff_s=0.5, factor=2.0, longest_s=30.0)
"""Ten calls at most for one answer, whoever asks: clients of other packages have their own retries switched off."""

TIMED_OUT_ATTEMPTS = 2
"""A call that used up its whole deadline is tried once more, not ten times."""


def next_wait_s(policy: Retry, error: ModelError, failures: int) -> float | None:
    """Seconds to wait before trying again, or None to give up. The provider's word is a lower bound, never cut."""
    attempts = min(policy.attempts, TIMED_OUT_ATTEMPTS) if error.kind == "timed_out" else policy.attempts
    if not error.retryable or failures >= attempts:
        return None
    if error.kind == "adapted":
        return 0.0
    backoff = policy.wait_s(failures) * random.uniform(0.5, 1.0)  # noqa: S311  (spreads calls, guards nothing)
    return max(backoff, error.wait_s or 0.0)


def given_up(error: ModelError, failures: int) -> ModelError:
    """The error as callers see it: they must not multiply the tries that were already made."""
    told = f"{error.message} (gave up after {failures} attempts)" if failures > 1 else error.message
    return ModelError(
        told,
        kind=error.kind,
        hint=error.hint,
        where=error.where,
        fatal=error.fatal,
        status=error.status,
        body=error.body,
        wait_s=error.wait_s,
    )


def attempts_of(attempts: int | None) -> Retry:
    """The usual policy with another number of attempts."""
    return MODEL_RETRY if attempts is None else replace(MODEL_RETRY, attempts=max(1, attempts))
