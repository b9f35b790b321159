"""A store that fails when it is told to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from viva.core.errors import StoreError
from viva.ports.store import Store

WRITES = frozenset({"create_run", "claim", "heartbeat", "release", "add_evidence", "add_result", "finish_run"})


class FaultyStore:
    """Wraps a real store; the n-th write (counted from 1) and all after it raise a StoreError."""

    def __init__(self, store: Store, fail_from: int, *, only: frozenset[str] = WRITES) -> None:
        self._store = store
        self._fail_from = fail_from
        self._only = only
        self.writes = 0
        """Writes asked for so far."""

    @classmethod
    def around(cls, store: Store, fail_from: int, *, only: frozenset[str] = WRITES) -> Store:
        """Wrap a store, seen as a store."""
        return cast(Store, cls(store, fail_from, only=only))

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._store, name)
        return self._faulty(name, real) if name in self._only else real

    def _faulty(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        async def write(*arguments: Any, **options: Any) -> Any:
            self.writes += 1
            if self.writes >= self._fail_from:
                raise StoreError(f"write {self.writes} ({name}) failed on purpose", kind="io_error")
            return await real(*arguments, **options)

        return write
