"""What model calls used and cost."""

from __future__ import annotations

from viva.core.data import Data


class Usage(Data, frozen=True):
    """Tokens, calls and money; `cost_usd` is None when the price is not known, never 0."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_hits: int = 0
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        costs = [c for c in (self.cost_usd, other.cost_usd) if c is not None]
        return Usage(
            calls=self.calls + other.calls,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_hits=self.cache_hits + other.cache_hits,
            cost_usd=sum(costs) if costs else None,
        )

    @property
    def tokens(self) -> int:
        """Everything read and written."""
        return self.input_tokens + self.output_tokens


NO_USAGE = Usage()
