"""What tests of subjects need: a kit with an environment, and an opening."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from viva.core.case import Case
from viva.core.clock import SystemClock
from viva.core.limits import Limits
from viva.core.secret import Secret
from viva.core.variant import DEFAULT_VARIANT
from viva.ports.subject import Opening
from viva.registry import Registry


class SubjectKit:
    """A kit of real parts: the system's clock, files below a folder, secrets from a dictionary."""

    def __init__(self, folder: Path | None = None, allow: tuple[str, ...] = (), **env: str) -> None:
        self.clock = SystemClock()
        self.folder = folder
        self._env = env
        self._registry = Registry(allow=allow)

    def file(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / name

    def secret(self, text: str) -> Secret:
        scheme, _, name = text.rpartition("env:")
        return Secret(scheme + self._env[name], text)

    def allow_program(self, program: str) -> None:
        pass

    def env(self, name: str) -> str | None:
        return self._env.get(name)

    def load(self, target: str) -> Any:
        return self._registry.import_object(target)


def build(name: str, settings: dict[str, Any], kit: Any = None) -> Any:
    """A subject by its name, from settings as a suite writes them."""
    return Registry().build("subjects", name, settings, kit or SubjectKit())


def opening(case: str = "france", seconds: float = 5.0, max_bytes: int = 10_000_000, **more: Any) -> Opening:
    """What a subject is told when a session begins."""
    known: dict[str, Any] = {"run": "run1", "trial": case, "variant": DEFAULT_VARIANT}
    limits = Limits(turn_seconds=seconds, bytes=max_bytes)
    return Opening(case=Case(id=case), limits=limits, **{**known, **more})
