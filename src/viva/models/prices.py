"""What a call costs, from `genai-prices`; an unknown price is None, never 0."""

from __future__ import annotations

from typing import Any

from viva.core.errors import SetupError
from viva.core.usage import Usage
from viva.registry import need

SAMPLE_TOKENS = 1000
PLAIN_TOKENS = 20_000
"""Below this, prices are taken as proportional to tokens; above it, tiers may begin and the table is asked itself."""

PROVIDERS = {
    "openai": "openai",
    "azure": "azure",
    "anthropic": "anthropic",
    "google": "google",
    "openrouter": "openrouter",
}


class Prices:
    """The prices of one model. The table is asked three times, then remembered: one look-up takes 0.15 ms."""

    def __init__(self, name: str) -> None:
        provider, _, model = name.partition("/")
        self._model = model
        self._provider = PROVIDERS.get(provider) if "@" not in name else None
        self._rates: tuple[float, float, float] | None = None
        self._asked = self._provider is None

    def cost_usd(self, usage: Usage) -> float | None:
        """What this usage costs, or None when nobody knows."""
        if not self._asked:
            self._learn()
        if self._rates is None:
            return None
        if usage.input_tokens > PLAIN_TOKENS:
            return self._look_up(usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        fresh, written, cached = self._rates
        reused = min(usage.cached_tokens, usage.input_tokens)
        return (usage.input_tokens - reused) * fresh + reused * cached + usage.output_tokens * written

    def _learn(self) -> None:
        self._asked = True
        fresh = self._look_up(SAMPLE_TOKENS, 0, 0)
        written = self._look_up(0, SAMPLE_TOKENS, 0)
        cached = self._look_up(SAMPLE_TOKENS, 0, SAMPLE_TOKENS)
        if fresh is not None and written is not None:
            cached = fresh if cached is None else cached
            self._rates = (fresh / SAMPLE_TOKENS, written / SAMPLE_TOKENS, cached / SAMPLE_TOKENS)

    def _look_up(self, read: int, written: int, cached: int) -> float | None:
        try:
            table: Any = need("genai_prices")
            usage = table.Usage(input_tokens=read, output_tokens=written, cache_read_tokens=cached)
            return float(table.calc_price(usage, self._model, provider_id=self._provider).total_price)
        except (SetupError, LookupError, ValueError):
            return None
