"""What reading one suite needs to know besides its text."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from viva.config.files import hash_bytes, hash_file, resolve
from viva.config.tree import Node
from viva.core.suite import Source
from viva.registry import Registry

Warn = Callable[[str], None]


@dataclass(frozen=True)
class Document:
    """A file that has been read, not yet understood."""

    root: Node
    file: str
    """As the author calls it, for error messages."""


@dataclass
class Context:
    """The registry, the permissions, the folder; and the files that were read on the way."""

    registry: Registry
    folder: Path | None = None
    lenient: bool = False
    allow_env: tuple[str, ...] = ()
    warn: Warn = field(default_factory=lambda: logging.getLogger("viva.config").warning)
    sources: list[Source] = field(default_factory=list)

    def file(self, name: str, where: str = "") -> Path:
        """Find a file the suite names, and remember what it held."""
        path = resolve(self.folder, name, where=where)
        self.sources.append(Source(path=name, hash=hash_file(path)))
        return path

    def remember(self, name: str, raw: bytes) -> None:
        """Remember the content of the suite's own file."""
        self.sources.append(Source(path=name, hash=hash_bytes(raw)))
