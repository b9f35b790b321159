"""The environment, read here and nowhere else: the user's variables, `.env`, and what a suite may know of them.

A suite is given `env:NAME` only for names the user allowed. viva's own settings (a provider's key, a database's
address) are a fixed list that suites cannot reach.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from viva.config.secrets import is_allowed, not_allowed, variable_of
from viva.core.errors import SetupError, SuiteError
from viva.core.secret import Secret, redactor

OWN = (
    "VIVA_*",
    "OPENAI_*",
    "OPENROUTER_*",
    "AZURE_*",
    "ANTHROPIC_*",
    "GOOGLE_*",
    "GEMINI_*",
    "HF_*",
    "HUGGINGFACE_*",
    "HUGGING_FACE_*",
    "OLLAMA_*",
    "LITELLM_*",
    "NEO_*",
    "NEO4J_*",
    "NO_COLOR",
    "XDG_CACHE_HOME",
)
"""Variables viva reads for itself, for models and connections the user set up."""

_SECRET_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
_LINE = re.compile(r"\s*(?:export\s+)?([A-Za-z_]\w*)\s*=\s*(.*?)\s*\Z")
_MOST_DOTENV_BYTES = 1_000_000


class Environment:
    """Variables of the process over those of the project's `.env`; nothing is ever written back."""

    def __init__(
        self, allow: Iterable[str] = (), *, folder: Path | None = None, variables: Mapping[str, str] | None = None
    ) -> None:
        self.allow = tuple(allow)
        self._variables: Mapping[str, str] = os.environ if variables is None else variables
        self._dotenv = read_dotenv(folder / ".env") if folder is not None else {}

    def get(self, name: str) -> str | None:
        """A setting of viva's own, or one the user allowed; None where it is not set or empty. Raises SetupError."""
        if not is_allowed(name, OWN + self.allow):
            hint = f"run with --allow-env {name}"
            raise SetupError(f"{name!r} is no setting of viva's own", kind="not_allowed", hint=hint)
        return self._read(name)

    def own_secret(self, name: str) -> Secret | None:
        """A key of viva's own (a provider's), for models the user chose; never for a suite."""
        value = self.get(name)
        return None if value is None else self._learn(value, name)

    def secret(self, text: str, where: str = "") -> Secret:
        """Resolve a suite's `env:NAME`. Raises SuiteError or SetupError."""
        name = variable_of(text)
        if name is None:
            hint = "use env:NAME and run with --allow-env NAME"
            raise SuiteError("a secret cannot stand in a suite", kind="literal_secret", hint=hint, where=where)
        if not is_allowed(name, self.allow):
            raise not_allowed(name, where)
        value = self._read(name)
        if value is None:
            hint = f"export {name}=…, or put it into .env"
            raise SetupError(f"the variable {name} is not set", kind="missing_variable", hint=hint, where=where)
        return self._learn(value, name)

    def _read(self, name: str) -> str | None:
        value = self._variables.get(name) or self._dotenv.get(name) or None
        if value is not None and _SECRET_NAME.search(name):
            self._learn(value, name)
        return value

    def _learn(self, value: str, name: str) -> Secret:
        secret = Secret(value, name)
        redactor.learn(secret)
        return secret


def read_dotenv(path: Path) -> dict[str, str]:
    """Read `NAME=value` lines; quotes are taken off, comments and other lines are left alone."""
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_DOTENV_BYTES).decode("utf-8", "replace")
    except OSError:
        return {}
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match:
            found[match[1]] = _unquote(match[2])
    return found


def _unquote(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value.split(" #", 1)[0].rstrip()


def first_given(*choices: str | None) -> str | None:
    """The first choice that says something: flag, then suite, then environment, then settings, then default."""
    return next((choice for choice in choices if choice), None)
