"""Stopping early: when every first call fails in the same way, a thousand more will too."""

from __future__ import annotations

from viva.core.errors import SubjectError, VivaError

REFUSED = (401, 403)
UNREACHABLE = frozenset({"dns", "connection", "connection_refused", "tls"})
ENOUGH = 3
MISWIRED = frozenset(
    {"not_json", "invalid_json", "empty_body", "missing_field", "null_content", "wrong_shape", "redirect", "malformed"}
)
"""What an agent answers that is not the one the suite was written for: a wrong path, a proxy, another service."""
MISWIRED_STATUS = frozenset({404, 405, 410, 501, 502, 503})
ENOUGH_MISWIRED = 10
"""Such failures may also be the agent's own, so more of them must agree before the run is stopped."""


class EarlyStop:
    """Watches the first trials of a run. The first success switches it off."""

    def __init__(self, owed: int) -> None:
        self._owed = owed
        self._kinds: list[str] = []
        self.is_over = False

    def success(self) -> None:
        """A trial came to an answer: the way to the agent is open."""
        self.is_over = True

    def is_suspect(self, error: BaseException | None) -> bool:
        """Whether a failure may be everybody's: such a trial is not kept until that is decided."""
        if self.is_over or not isinstance(error, SubjectError):
            return False
        return _is_fatal(error) or (_is_miswired(error) and self._owed > ENOUGH_MISWIRED)

    def failure(self, error: BaseException | None) -> str:
        """Count a failure; returns why the run should stop, or ''."""
        if self.is_over or not isinstance(error, VivaError):
            return self._other_failure()
        if not self.is_suspect(error):
            return self._other_failure()
        assert isinstance(error, SubjectError)
        self._kinds.append(f"{error.kind} {error.status or ''}")
        if len(set(self._kinds)) > 1:
            return self._other_failure()
        enough = ENOUGH if _is_fatal(error) else ENOUGH_MISWIRED
        if error.status in REFUSED or len(self._kinds) >= max(1, min(enough, self._owed)):
            return f"every first call failed in the same way: {error}"
        return ""

    def _other_failure(self) -> str:
        # A failure of another sort: the trials do not all fail alike.
        self.is_over = True
        return ""


def _is_fatal(error: SubjectError) -> bool:
    return error.fatal or error.status in REFUSED or error.kind in UNREACHABLE


def _is_miswired(error: SubjectError) -> bool:
    return error.kind in MISWIRED or error.status in MISWIRED_STATUS
