"""What an implementation may ask for when it is built."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from viva.core.clock import Clock
from viva.core.evidence import Evidence
from viva.core.secret import Secret
from viva.ports.judge import Judge
from viva.ports.model import Embedder, Model


class Kit(Protocol):
    """The hallway's services, handed to every implementation that is built from a suite."""

    @property
    def clock(self) -> Clock: ...

    @property
    def folder(self) -> Path | None:
        """The suite's folder; None for suites built in Python."""
        ...

    def file(self, name: str) -> Path:
        """Resolve a file named by the suite: below its folder, links resolved, size capped. Raises SuiteError."""
        ...

    def secret(self, text: str) -> Secret:
        """Resolve `env:NAME` where the name is allowed. Raises SuiteError or SetupError."""
        ...

    def allow_program(self, program: str) -> None:
        """Let a program be started that the user allowed (`--allow command:NAME`). Raises SuiteError otherwise."""
        ...

    def env(self, name: str) -> str | None:
        """A setting of viva's own from the environment (NEO_URI, OPENAI_BASE_URL); never for secrets of a suite."""
        ...

    def load(self, target: str) -> Any:
        """Import `module:attr` where the user allowed its module (for function subjects). Raises SuiteError."""
        ...

    def model(self, role: str) -> Model:
        """The model that plays a role (`user`, `judge`), or one named outright (`openai/…`). Raises SetupError."""
        ...

    def judge(self) -> Judge:
        """The judge of this run."""
        ...

    def embedder(self, name: str = "") -> Embedder:
        """An embedding model by name; '' is the offline default."""
        ...

    def recorded(self, run: str) -> Callable[[str], Awaitable[Evidence | None]]:
        """How to find the evidence of a stored run's trials by their keys."""
        ...

    def template_file(self, name: str) -> str:
        """The text of a template file of the suite's own, where the user allowed those. Raises SuiteError."""
        ...

    def template(self, name: str) -> str:
        """The text of a template the suite replaced (`each`, `persona`, …), or '' for the built-in one."""
        ...
