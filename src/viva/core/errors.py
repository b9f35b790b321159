"""The whole error tree. A name starts with whose fault it is.

VivaError
├── SuiteError      the author: a file, a name, a value in a suite
├── SetupError      the machine: a missing extra, key or program
├── SubjectError    the agent under test, or the way to it
├── DriverError     who talks to the agent (the simulated user, a script)
├── StageError      preparing, seeding or undoing the world around the agent
├── ScorerError     a scorer that could not do its work
│   └── JudgeError  a judge's reply that is not a verdict
├── ModelError      a provider of models
├── StoreError      the store on disk
├── LimitError      we stopped it: a ceiling of time, turns, bytes, tokens or money
└── StoppedError    the user stopped it

Every error has a `kind`, a stable word that ends up in stored results and reports.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class VivaError(Exception):
    """Something viva can explain: what, where, and what to do."""

    default_kind = "error"

    def __init__(self, message: str, *, kind: str = "", hint: str = "", where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind or self.default_kind
        self.hint = hint
        self.where = where

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.message}{advice}"


class SuiteError(VivaError):
    """The suite (or a file it names) says something that cannot be meant."""

    default_kind = "suite_error"


class SetupError(VivaError):
    """This machine lacks something: an extra, a key, a program, a permission."""

    default_kind = "setup_error"


class SubjectError(VivaError):
    """The agent under test failed, or could not be reached.

    `retryable` says that sending the same message again is safe and sensible; `fatal` says that every other
    trial would fail in the same way (a wrong key, a wrong host).
    """

    default_kind = "subject_error"

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        hint: str = "",
        where: str = "",
        retryable: bool = False,
        fatal: bool = False,
        status: int | None = None,
        body: str = "",
        wait_s: float | None = None,
    ) -> None:
        super().__init__(message, kind=kind, hint=hint, where=where)
        self.retryable = retryable
        self.fatal = fatal
        self.status = status
        self.body = body
        self.wait_s = wait_s


class DriverError(VivaError):
    """Whoever plays the user could not go on."""

    default_kind = "driver_error"


class StageError(VivaError):
    """The world around the agent could not be prepared, observed or undone."""

    default_kind = "stage_error"


class ScorerError(VivaError):
    """A scorer could not do its work; never a score."""

    default_kind = "scorer_error"


class JudgeError(ScorerError):
    """A judge's reply is not a verdict: unreadable, refused, off the menu, contradictory, compromised."""

    default_kind = "judge_unreadable"


class ModelError(VivaError):
    """A provider of models refused, failed or could not be reached."""

    default_kind = "model_error"

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        hint: str = "",
        where: str = "",
        retryable: bool = False,
        fatal: bool = False,
        status: int | None = None,
        body: str = "",
        wait_s: float | None = None,
    ) -> None:
        super().__init__(message, kind=kind, hint=hint, where=where)
        self.retryable = retryable
        self.fatal = fatal
        self.status = status
        self.body = body
        self.wait_s = wait_s


class StoreError(VivaError):
    """The store could not be opened, read or written."""

    default_kind = "store_error"


class LimitError(VivaError):
    """A ceiling was reached, and viva stopped the work itself."""

    default_kind = "limit"


class StoppedError(VivaError):
    """The user asked to stop."""

    default_kind = "stopped"


@contextmanager
def blame(error: type[VivaError], doing: str) -> Iterator[None]:
    """Give an unexpected exception at a boundary an owner and a place; let viva's own errors pass."""
    try:
        yield
    except VivaError:
        raise
    except Exception as cause:
        raise error(f"{doing}: {type(cause).__name__}: {cause}", kind="raised") from cause
