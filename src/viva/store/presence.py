"""Noticing that the store's files were deleted or replaced while they are open.

Writing to a deleted file succeeds on most systems, so without a look at the folder a run would go on
acknowledging results that nobody will ever find.
"""

from __future__ import annotations

from pathlib import Path

from viva.core.errors import StoreError

_Identity = tuple[int, int]


class Presence:
    """The identity of the database file and of its write-ahead log, as first seen."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = (path, Path(f"{path}-wal"))
        self._seen: list[_Identity | None] = [None, None]

    def confirm(self) -> None:
        """Raise unless the files that were written are still the ones at their path."""
        for place, name in enumerate(self._files):
            identity = self._identity(name)
            if self._seen[place] is None:
                self._seen[place] = identity
            if self._seen[place] != identity:
                raise self._gone(name)

    def _identity(self, name: Path) -> _Identity:
        try:
            found = name.stat()
        except OSError as cause:
            raise self._gone(name) from cause
        return found.st_dev, found.st_ino

    def _gone(self, name: Path) -> StoreError:
        return StoreError(
            f"{name} was deleted or replaced while it was being written",
            kind="vanished",
            hint="put it back, or choose another store; what was acknowledged after that may be lost",
            where=str(self._path),
        )
