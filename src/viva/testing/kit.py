"""A kit for tests of implementations: an environment, a folder and a clock, and nothing else of the hallway."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from viva.core.clock import Clock, SystemClock
from viva.core.errors import SetupError, SuiteError
from viva.core.secret import Secret, redactor
from viva.ports.judge import Judge
from viva.ports.model import Embedder, Model


class FakeKit:
    """Answers from what it was given; whatever it was not given is a SetupError."""

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        folder: Path | None = None,
        clock: Clock | None = None,
        models: Mapping[str, Model] | None = None,
        judge: Judge | None = None,
        embedder: Embedder | None = None,
        templates: Mapping[str, str] | None = None,
    ) -> None:
        self._env = dict(env or {})
        self._models = dict(models or {})
        self._judge = judge
        self._embedder = embedder
        self._templates = dict(templates or {})
        self.folder = folder
        self.clock: Clock = clock or SystemClock()

    def file(self, name: str) -> Path:
        """A file below the folder."""
        if self.folder is None:
            raise SuiteError(f"{name!r}: this kit has no folder")
        path = (self.folder / name).resolve()
        if not path.is_relative_to(self.folder.resolve()):
            raise SuiteError(f"{name!r} lies outside the folder", kind="not_allowed")
        return path

    def secret(self, text: str) -> Secret:
        """`env:NAME` from the given environment."""
        name = text.removeprefix("env:")
        if name not in self._env:
            raise SetupError(f"{name} is not set")
        secret = Secret(self._env[name], name)
        redactor.learn(secret)
        return secret

    def env(self, name: str) -> str | None:
        """A variable of the given environment."""
        return self._env.get(name)

    def model(self, role: str) -> Model:
        """A model given for a role."""
        if role not in self._models:
            raise SetupError(f"this kit has no model for {role!r}")
        return self._models[role]

    def judge(self) -> Judge:
        """The judge that was given."""
        if self._judge is None:
            raise SetupError("this kit has no judge")
        return self._judge

    def embedder(self, name: str = "") -> Embedder:
        """The embedder that was given."""
        if self._embedder is None:
            raise SetupError("this kit has no embedder")
        return self._embedder

    def allow_program(self, program: str) -> None:
        """Every program is allowed in a test."""

    def template_file(self, name: str) -> str:
        """The text of a template file."""
        return self.file(name).read_text(encoding="utf-8")

    def template(self, name: str) -> str:
        """A template that was given, or ''."""
        return self._templates.get(name, "")
