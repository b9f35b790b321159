"""Stopping early: when every first call fails in the same way, a thousand more will too."""

from __future__ import annotations

from viva.core.errors import SubjectError, VivaError

REFUSED = (401, 403)
UNREACHABLE = frozenset({"dns", "connection", "connection_refused", "tls"})
ENOUGH = 3


class EarlyStop:
    """Watches the first trials of a run. The first success switches it off."""

    def __init__(self, owed: int) -> None:
        self._enough = max(1, min(ENOUGH, owed))
        self._kinds: list[str] = []
        self.is_over = False

    def success(self) -> None:
        """A trial came to an answer: the way to the agent is open."""
        self.is_over = True

    def is_suspect(self, error: BaseException | None) -> bool:
        """Whether a failure may be everybody's: such a trial is not kept until that is decided."""
        if self.is_over or not isinstance(error, SubjectError):
            return False
        return error.fatal or error.status in REFUSED or error.kind in UNREACHABLE

    def failure(self, error: BaseException | None) -> str:
        """Count a failure; returns why the run should stop, or ''."""
        if self.is_over or not isinstance(error, VivaError):
            return self._other_failure()
        if not self.is_suspect(error):
            return self._other_failure()
        self._kinds.append(error.kind)
        refused = isinstance(error, SubjectError) and error.status in REFUSED
        if refused or (len(self._kinds) >= self._enough and len(set(self._kinds)) == 1):
            return f"every first call failed in the same way: {error}"
        return ""

    def _other_failure(self) -> str:
        # A failure of another sort: the trials do not all fail alike.
        self.is_over = True
        return ""
