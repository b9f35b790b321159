"""What viva's exit codes mean; documented in docs/reference/exit-codes.md."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """The answer a script gets."""

    FINE = 0
    """Everything ran, and every threshold holds."""
    BELOW_THRESHOLD = 1
    """Everything ran, but a threshold of the run, or --fail-under, does not hold."""
    CONFIGURATION = 2
    """The command line, a suite, the machine or the store is not as it must be."""
    TRIAL_ERRORS = 3
    """Some trials ended in an error, or the run stopped early; their scores are missing, not zero."""
    BUG = 70
    """viva itself failed."""
    HUNG_UP = 129
    """Stopped because the terminal was closed (SIGHUP); the run can be resumed."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C; the run can be resumed."""
    TERMINATED = 143
    """Stopped by SIGTERM; the run can be resumed."""
