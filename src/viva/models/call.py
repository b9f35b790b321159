"""A call from beginning to end: cache, budget, gate, one try, accounting, and trying again. The same for all models."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from weakref import WeakKeyDictionary

from viva.core.clock import Clock
from viva.core.data import replace
from viva.core.errors import ModelError
from viva.core.faultpoint import fault
from viva.core.limits import Retry
from viva.core.usage import NO_USAGE, Usage
from viva.models.cache import CachedReplies
from viva.models.failures import THROTTLED
from viva.models.gate import Gate, GateSettings
from viva.models.prices import Prices
from viva.models.retry import PATIENCE_S, Tries, given_up
from viva.models.standing import standing_of, trouble
from viva.ports.meter import Meter
from viva.ports.model import Memory, Model, ModelReply, ModelRequest

CHARS_PER_TOKEN = 4
GUESSED_REPLY_TOKENS = 500
TELL_AFTER_S = 5.0
"""A call that takes longer because it is tried again is worth a word to the user."""

_gates: WeakKeyDictionary[Clock, dict[str, Gate]] = WeakKeyDictionary()


def gate_for(account: str, clock: Clock, settings: GateSettings | None = None) -> Gate:
    """The one gate of an account: all models and roles of a process that use it wait at the same one."""
    gates = _gates.setdefault(clock, {})
    if account not in gates:
        gates[account] = Gate(clock, account.partition("#")[0], settings)
    return gates[account]


class CalledModel:
    """Wraps a model that tries once into one that is called with everything around it."""

    def __init__(
        self,
        model: Model,
        *,
        clock: Clock,
        gate: Gate,
        retry: Retry,
        cache: CachedReplies | None = None,
        meter: Meter | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.name = model.name
        self.endpoint: str = getattr(model, "endpoint", model.name)
        self.cache = cache
        self._model = model
        self._clock = clock
        self._gate = gate
        self._retry = retry
        self._patience_s = patience_s
        self._standing = standing_of(self.endpoint, clock)
        self._meter = meter
        self._prices = Prices(model.name)
        self._dead: ModelError | None = None

    @property
    def memory(self) -> Memory | None:
        """The replies kept of this model."""
        return self.cache

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer one request, from the cache where it holds an answer."""
        cache = self.cache
        if cache is None or not request.cache:
            return await self._paid(request)
        key = cache.key(request)
        found = await cache.find(key, request)
        if found is not None:
            return found
        reply = await self._paid(request)
        await cache.keep(key, request, reply)
        return reply

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Answer one request piece by piece; tried again only while nothing has been handed out."""
        usage = NO_USAGE
        self._reserve(request)
        try:
            async with aclosing(self._streamed(request)) as pieces:
                written = 0
                async for piece in pieces:
                    written += len(piece)
                    yield piece
            read = sum(len(message.text) for message in request.messages)
            usage = Usage(calls=1, input_tokens=read // CHARS_PER_TOKEN, output_tokens=written // CHARS_PER_TOKEN)
        finally:
            self._charge(self._priced(usage))

    async def close(self) -> None:
        """Release what the model holds."""
        await self._model.close()

    async def _paid(self, request: ModelRequest) -> ModelReply:
        if self._meter is None:
            return await self._tried(request)
        self._reserve(request)
        usage = NO_USAGE
        try:
            reply = await self._tried(request)
            usage = reply.usage
            return reply
        finally:
            self._meter.charge(usage)

    async def _tried(self, request: ModelRequest) -> ModelReply:
        tries: Tries | None = None
        while True:
            let_in_at = await self._enter(tries is not None)
            try:
                reply = await self._model.complete(request)
            except ModelError as error:
                tries = tries or self._tries(let_in_at)
                await self._after(error, tries, let_in_at)
            except BaseException:
                self._gate.failed()
                raise
            else:
                self._succeeded()
                return self._accounted(reply, 0 if tries is None else tries.failures)

    async def _streamed(self, request: ModelRequest) -> AsyncGenerator[str, None]:
        tries: Tries | None = None
        begun = False
        while True:
            let_in_at = await self._enter(tries is not None)
            try:
                async for piece in self._model.stream(request):
                    begun = True
                    yield piece
            except ModelError as error:
                tries = tries or self._tries(let_in_at)
                if begun:
                    self._gate.failed()
                    raise given_up(error, tries.failures + 1) from error
                await self._after(error, tries, let_in_at)
            except BaseException:
                self._gate.failed()
                raise
            else:
                self._succeeded()
                return

    def _tries(self, began: float) -> Tries:
        return Tries(self._retry, self._standing, self._clock, self._patience_s, began)

    def _succeeded(self) -> None:
        self._gate.succeeded()
        if not self._standing.readable:
            self._standing.succeeded()

    async def _enter(self, again: bool) -> float:
        let_in_at = await self._gate.enter(self.name, again)
        if self._dead is not None:
            # Another call found out meanwhile that none can succeed (no quota, a wrong key): send no more.
            self._gate.failed()
            raise given_up(self._dead, 0)
        return let_in_at

    async def _after(self, error: ModelError, tries: Tries, let_in_at: float) -> None:
        """Tell the gate, then wait before the next try, or give up."""
        wait_s = tries.next_wait_s(error)
        throttled = error.status in THROTTLED and error.retryable
        if throttled:
            self._gate.refused(let_in_at, error.wait_s)
        else:
            self._gate.failed()
            if error.wait_s and error.retryable:
                self._gate.hold(error.wait_s)
        if wait_s is None:
            raise self._given_up(error, tries) from error
        self._tell(error, tries, wait_s)
        fault("models.retry")
        if not throttled or error.wait_s is None:
            # Where the provider named a time, the gate keeps everyone waiting for it.
            await self._clock.sleep(wait_s)

    def _given_up(self, error: ModelError, tries: Tries) -> ModelError:
        final = tries.final(error, self.endpoint)
        if final.fatal:
            self._dead = final
        return final

    def _tell(self, error: ModelError, tries: Tries, wait_s: float) -> None:
        """Say once for each endpoint why nothing comes from it; of long pauses the gate tells."""
        notice, standing = self._gate.notice, self._standing
        if notice is None or standing.told or self._gate.is_pause(wait_s):
            return
        if self._clock.monotonic() + wait_s - tries.began > TELL_AFTER_S:
            standing.told = True
            notice(f"{self.name}: {trouble(error)}, trying again…")

    def _accounted(self, reply: ModelReply, failures: int) -> ModelReply:
        usage = self._priced(reply.usage)
        if usage is reply.usage and not failures:
            return reply
        return replace(reply, usage=usage, attempts=failures + 1)

    def _priced(self, usage: Usage) -> Usage:
        if usage.cost_usd is not None or not usage.calls:
            return usage
        cost_usd = self._prices.cost_usd(usage)
        return usage if cost_usd is None else replace(usage, cost_usd=cost_usd)

    def _reserve(self, request: ModelRequest) -> None:
        if self._meter is None:
            return
        read = sum(len(message.text) for message in request.messages) // CHARS_PER_TOKEN
        guess = Usage(calls=1, input_tokens=read, output_tokens=request.max_tokens or GUESSED_REPLY_TOKENS)
        self._meter.reserve(self._prices.cost_usd(guess), guess.tokens)

    def _charge(self, usage: Usage) -> None:
        if self._meter is not None:
            self._meter.charge(usage)
