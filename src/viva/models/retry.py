"""The one retry policy of all model calls."""

from __future__ import annotations

import random
from collections import Counter

from viva.core.clock import Clock
from viva.core.data import replace
from viva.core.errors import ModelError
from viva.core.limits import Retry
from viva.models.standing import UNREACHED, Standing, no_model_at

MODEL_RETRY = Retry(attempts=10, backoff_s=0.5, factor=2.0, longest_s=30.0)
"""Ten calls at most for one answer, whoever asks: clients of other packages have their own retries switched off."""

PATIENCE_S = 60.0
"""So long one call waits for an endpoint that answered before and cannot be reached now."""

FEWER_ATTEMPTS = {"timed_out": 2, "unreadable": 2}
"""A call that used up its whole deadline, or got what is no completion, is tried once more, not ten times."""

STRANGER_ATTEMPTS = {"reset": 3}
STRANGER_ATTEMPTS_ELSE = 2
"""For an endpoint that never answered: a server that is there may be busy, one that is not will not come."""


class Tries:
    """The tries of one call: how often it failed in which way, and whether it is worth another."""

    def __init__(self, policy: Retry, standing: Standing, clock: Clock, patience_s: float, began: float) -> None:
        self.failures = 0
        self.began = began
        self._policy = policy
        self._standing = standing
        self._clock = clock
        self._patience_s = patience_s
        self._kinds: Counter[str] = Counter()
        self._unreached_since: float | None = None

    def next_wait_s(self, error: ModelError) -> float | None:
        """Count a failure; seconds to wait before trying again, or None to give up."""
        self.failures += 1
        self._kinds[error.kind] += 1
        self._standing.failed(error)
        if not error.retryable or self.failures >= self._policy.attempts:
            return None
        if self._kinds[error.kind] >= self._attempts(error):
            return None
        return self._patient(error, self._wait_s(error))

    def final(self, error: ModelError, endpoint: str) -> ModelError:
        """The error to give up with; fatal where nothing better ever came from the endpoint."""
        hopeless = self._standing.is_hopeless(error)
        return given_up(no_model_at(endpoint, error) if hopeless else error, self.failures)

    def _attempts(self, error: ModelError) -> int:
        if self._standing.is_hopeless(error):
            return STRANGER_ATTEMPTS.get(error.kind, STRANGER_ATTEMPTS_ELSE)
        return FEWER_ATTEMPTS.get(error.kind, self._policy.attempts)

    def _wait_s(self, error: ModelError) -> float:
        """The provider's word is a lower bound, never cut."""
        if error.kind == "adapted":
            return 0.0
        backoff = self._policy.wait_s(self.failures) * random.uniform(0.5, 1.0)  # noqa: S311  (guards nothing)
        return max(backoff, error.wait_s or 0.0)

    def _patient(self, error: ModelError, wait_s: float) -> float | None:
        """Cut the waits for an endpoint that cannot be reached to what patience is left."""
        if error.kind not in UNREACHED:
            self._unreached_since = None
            return wait_s
        now = self._clock.monotonic()
        if self._unreached_since is None:
            self._unreached_since = now
        left_s = self._unreached_since + self._patience_s - now
        return min(wait_s, left_s) if left_s > 0 else None


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
