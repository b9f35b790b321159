"""The run's ceilings: tokens, money, trials and seconds, asked before they are passed."""

from __future__ import annotations

from viva.core.errors import LimitError
from viva.core.limits import RunLimits
from viva.core.usage import NO_USAGE, Usage


class RunMeter:
    """Counts what a run spends, and refuses the call that would pass a ceiling.

    Calls under way are counted with what they reserved. Which call a charge belongs to is not known and need not
    be: each charge gives back the average reservation, and the last one gives back the rest.
    """

    def __init__(self, limits: RunLimits, spent: Usage = NO_USAGE, trials: int = 0) -> None:
        self._limits = limits
        self._calls = 0
        self._held_usd = 0.0
        self._held_tokens = 0.0
        self.spent = spent
        self.trials = trials
        self.exhausted = ""
        """Which ceiling was reached; '' while there is room."""

    def reserve(self, cost_usd: float | None, tokens: int | None) -> None:
        """Ask for a call of at most this size. Raises LimitError when it would pass a ceiling."""
        limits = self._limits
        if limits.cost_usd is not None:
            self._allow(self.spent.cost_usd or 0.0, self._held_usd, cost_usd, limits.cost_usd, "US$")
        if limits.tokens is not None:
            self._allow(self.spent.tokens, self._held_tokens, tokens, limits.tokens, "tokens")
        self._calls += 1
        self._held_usd += cost_usd or 0.0
        self._held_tokens += tokens or 0

    def charge(self, usage: Usage) -> None:
        """Count what a reserved call used, and give its reservation back."""
        if self._calls:
            self._held_usd -= self._held_usd / self._calls
            self._held_tokens -= self._held_tokens / self._calls
            self._calls -= 1
        if usage is not NO_USAGE:
            self.spent = self.spent + usage

    def start_trial(self) -> bool:
        """Count one more trial; False when the ceiling of trials is reached or the purse is empty."""
        ceiling = self._limits.trials
        if ceiling is not None and self.trials >= ceiling:
            self.exhausted = self.exhausted or f"{ceiling} trials"
        if self.exhausted:
            return False
        self.trials += 1
        return True

    def _allow(self, spent: float, held: float, wanted: float | None, ceiling: float, unit: str) -> None:
        need = spent + held + (wanted or 0.0)
        # A call of unknown size is let through while anything is left; one of known size only when it fits.
        if need > ceiling or (wanted is None and need >= ceiling):
            self.exhausted = f"{ceiling:g} {unit}"
            raise LimitError(
                f"the run's ceiling of {ceiling:g} {unit} would be passed: {spent:g} spent, {held:g} under way,"
                f" {wanted or 0:g} asked for",
                kind="budget",
                hint="raise the ceiling (run_limits) and resume the run",
            )
