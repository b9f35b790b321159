"""A name and its settings: how a suite points at an implementation."""

from __future__ import annotations

from typing import Any

from viva.core.data import Data


class Ref(Data, frozen=True):
    """The name of an implementation (`http`, `persona`, `my.module:Class`) with its settings."""

    name: str
    settings: dict[str, Any] = {}
    where: str = ""
    """The file and line that said so, for error messages; no part of what the reference means."""

    def __str__(self) -> str:
        return self.name
