"""Providers that say no: how long we wait, who waits, when we stop, and how often the provider is asked."""

from __future__ import annotations

import asyncio
import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from virtual_time import VirtualClock, run_virtual

from viva.core.errors import ModelError
from viva.core.usage import Usage
from viva.models.call import CalledModel, gate_for
from viva.models.catalogue import build_model
from viva.models.failures import failure
from viva.models.gate import Gate
from viva.models.retry import MODEL_RETRY
from viva.models.rules import Answer, Prompt
from viva.ports.model import ChatMessage, ModelReply, ModelRequest
from viva.testing.clock import FakeClock
from viva.testing.kit import FakeKit
from viva.testing.model_server import ModelServer

ASK = ModelRequest(messages=(ChatMessage(role="user", text="hello"),))
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


class Sequence:
    """Answers one after the other, and remembers when each was asked for."""

    def __init__(self, clock: FakeClock, answers: list[Answer]) -> None:
        self.clock = clock
        self.answers = answers
        self.asked_at: list[float] = []

    def __call__(self, _: Prompt) -> Answer:
        self.asked_at.append(self.clock.monotonic())
        return self.answers[min(len(self.asked_at), len(self.answers)) - 1]


def throttled(**headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=429, headers=named, body=b'{"error": {"message": "slow down", "type": "rate_limit"}}')


OK = Answer(text="fine")


@pytest.mark.parametrize(
    ("header", "value", "seconds"),
    [
        ("retry-after", "7", 7.0),
        ("retry-after", format_datetime(BEGIN + timedelta(seconds=9), usegmt=True), 9.0),
        ("retry-after-ms", "2500", 2.5),
        ("x-ratelimit-reset-requests", "1m30s", 90.0),
        ("x-ratelimit-reset-tokens", (BEGIN + timedelta(seconds=40)).isoformat(), 40.0),
        ("x-ratelimit-reset", str(int(BEGIN.timestamp()) + 33), 33.0),
        ("retry-after", "120", 120.0),
    ],
)
async def test_the_next_call_is_not_earlier_than_told(header: str, value: str, seconds: float) -> None:
    clock = FakeClock(BEGIN)
    provider = Sequence(clock, [throttled(**{header: value}), OK])
    async with ModelServer(provider) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=clock))
        reply = await model.complete(ASK)
        await model.close()
    assert (reply.text, reply.attempts) == ("fine", 2)
    assert provider.asked_at[1] - provider.asked_at[0] >= seconds
    assert provider.asked_at[1] <= seconds + 1, "waiting much longer than told is not asked for either"


async def test_all_calls_to_the_account_wait_when_one_is_told_to() -> None:
    clock = FakeClock(BEGIN)
    provider = Sequence(clock, [throttled(retry_after="60"), OK])
    async with ModelServer(provider) as server:
        kit = FakeKit(clock=clock)
        judge = build_model(f"openai/judge@{server.url}", kit)
        user = build_model(f"openai/user@{server.url}", kit)
        first = asyncio.create_task(judge.complete(ASK))
        while server.calls < 1 or gate_for(_account(judge), clock).in_flight:
            await asyncio.sleep(0.001)
            if len(provider.asked_at) > 1:
                break
        await asyncio.gather(first, *(user.complete(ASK) for _ in range(5)), judge.complete(ASK))
        await asyncio.gather(judge.close(), user.close())
    assert all(at >= 60 for at in provider.asked_at[1:])
    assert len(provider.asked_at) == 8


def _account(model: CalledModel) -> str:
    return str(model._model.account)  # type: ignore[attr-defined]


async def test_a_wait_of_hours_pauses_the_run_and_says_so() -> None:
    clock = FakeClock(BEGIN)
    provider = Sequence(clock, [throttled(retry_after="10800"), OK])
    notices: list[str] = []
    async with ModelServer(provider) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=clock), notice=notices.append)
        assert (await model.complete(ASK)).text == "fine"
        await model.close()
    assert provider.asked_at[1] >= 10800
    assert len(notices) == 1
    assert "3.0 h" in notices[0]
    assert "2026-01-01 03:00:00" in notices[0]


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, b'{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}'),
        (429, b'{"error": {"message": "You exceeded your current quota, check your plan", "type": "x"}}'),
        (429, b'{"error": {"message": "limit", "code": "billing_hard_limit_reached"}}'),
        (402, b'{"error": {"message": "Insufficient credits", "code": 402}}'),
        (
            400,
            b'{"type": "error", "error": {"type": "invalid", "message": "Your credit balance is too low"}}',
        ),
        (403, b'{"error": {"code": "insufficient_quota", "message": "no"}}'),
    ],
)
async def test_an_exhausted_quota_is_not_retried_and_is_fatal(status: int, body: bytes) -> None:
    clock = FakeClock(BEGIN)
    provider = Sequence(clock, [Answer(status=status, body=body)])
    async with ModelServer(provider) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=clock))
        with pytest.raises(ModelError) as caught:
            await model.complete(ASK)
        assert (caught.value.kind, caught.value.fatal, caught.value.retryable) == ("quota", True, False)
        assert server.calls == 1
        with pytest.raises(ModelError, match="answered"):
            await model.complete(ASK)
        await model.close()
    assert server.calls == 1, "what failed for good is not asked again"
    assert clock.slept == []


async def test_a_quota_of_minutes_is_waited_for_though_it_uses_the_words_of_a_quota_of_money() -> None:
    clock = FakeClock(BEGIN)
    body = (
        b'[{"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "You exceeded your current quota",'
        b' "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"}]}}]'
    )
    provider = Sequence(clock, [Answer(status=429, body=body), OK])
    async with ModelServer(provider) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=clock))
        assert (await model.complete(ASK)).text == "fine"
        await model.close()
    assert provider.asked_at[1] >= 34


async def test_queued_calls_are_not_sent_once_the_key_is_known_to_be_wrong() -> None:
    clock = FakeClock(BEGIN)
    answers = Answer(status=401, body=b'{"error": {"message": "no such key"}}', latency_s=0.02)
    async with ModelServer(lambda _: answers) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=clock))
        results = await asyncio.gather(*(model.complete(ASK) for _ in range(100)), return_exceptions=True)
        await model.close()
    assert all(isinstance(result, ModelError) and result.kind == "auth" for result in results)
    assert server.calls <= 8, "only those already under way were sent"


@pytest.mark.parametrize("attempts", [1, 3])
@pytest.mark.parametrize(
    ("answer", "most"),
    [
        (throttled(), 3),
        (Answer(status=500, body=b"oops"), 3),
        (Answer(fault="reset"), 3),
        (Answer(fault="malformed"), 2),
    ],
)
async def test_the_provider_sees_no_more_than_the_configured_attempts(attempts: int, answer: Answer, most: int) -> None:
    clock = FakeClock(BEGIN)
    async with ModelServer(lambda _: answer) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=clock), attempts=attempts)
        with pytest.raises(ModelError) as caught:
            await model.complete(ASK)
        await model.close()
    assert server.calls == min(attempts, most)
    assert not caught.value.retryable, "or the layers above would multiply the attempts"


async def test_a_success_that_carries_retry_after_delays_nothing() -> None:
    clock = FakeClock(BEGIN)
    provider = Sequence(clock, [Answer(text="fine", headers={"retry-after": "60"})])
    async with ModelServer(provider) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=clock))
        for _ in range(3):
            await model.complete(ASK)
        await model.close()
    assert provider.asked_at == [0.0, 0.0, 0.0]
    assert clock.slept == []


class LimitedProvider:
    """A provider in virtual time that answers 429 above a rate or above so many calls at once, and 5 % 500s."""

    def __init__(self, name: str, clock: VirtualClock, *, per_s: float = 1e9, at_once: int = 10**9) -> None:
        self.name = name
        self.calls = self.refused = 0
        self._clock = clock
        self._per_s, self._at_once = per_s, at_once
        self._tokens, self._at, self._busy = per_s, 0.0, 0
        self._random = random.Random(7)

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        now = self._clock.monotonic()
        self._tokens = min(self._per_s, self._tokens + (now - self._at) * self._per_s)
        self._at = now
        if self._tokens < 1 or self._busy >= self._at_once:
            self.refused += 1
            await self._clock.sleep(0.05)
            raise failure(429, {}, b'{"error": {"message": "slow down"}}', self.name, self._clock.now())
        self._tokens -= 1
        self._busy += 1
        await self._clock.sleep(self._random.uniform(0.3, 0.7))
        self._busy -= 1
        if self._random.random() < 0.05:
            raise failure(500, {}, b"oops", self.name, self._clock.now())
        return ModelReply(text="ok", usage=Usage(calls=1))

    async def stream(self, request: ModelRequest):  # pragma: no cover
        yield ""

    async def close(self) -> None: ...


class Unadaptive:
    """A client that knows nothing of limits: it asks, and asks again half a second later."""

    def __init__(self, provider: LimitedProvider, clock: VirtualClock) -> None:
        self._provider, self._clock = provider, clock

    async def complete(self, request: ModelRequest) -> ModelReply:
        while True:
            try:
                return await self._provider.complete(request)
            except ModelError:
                await self._clock.sleep(0.5)


async def _work(models: list, per_model: int, workers: int, done: list[list[float]], clock: VirtualClock) -> None:
    async def worker(index: int, todo: object) -> None:
        for _ in todo:  # type: ignore[attr-defined]
            await models[index].complete(ASK)
            done[index].append(clock.monotonic())

    queues = [iter(range(per_model)) for _ in models]
    await asyncio.gather(*(worker(i, queues[i]) for i in range(len(models)) for _ in range(workers)))


@pytest.mark.parametrize("limits", [{"per_s": 90.0}, {"at_once": 44}])
def test_an_overloaded_provider_costs_few_calls_more_than_needed(limits: dict) -> None:
    """Ten minutes' work at a limit under which a client that does not adapt sees about 30 % of its calls refused."""

    async def simulate(adaptive: bool) -> tuple[LimitedProvider, int, float]:
        clock = VirtualClock()
        provider = LimitedProvider("p", clock, **limits)
        called = CalledModel(provider, clock=clock, gate=Gate(clock, "p"), retry=MODEL_RETRY)
        model = called if adaptive else Unadaptive(provider, clock)
        done: list[list[float]] = [[]]
        await _work([model], 12_000, 64, done, clock)
        return provider, len(done[0]), clock.monotonic()

    naive, _, _ = run_virtual(simulate(adaptive=False))
    assert 0.2 < naive.refused / naive.calls < 0.5
    provider, finished, seconds = run_virtual(simulate(adaptive=True))
    assert finished == 12_000
    assert provider.calls <= 1.3 * 12_000
    assert provider.refused / provider.calls < 0.05
    assert 12_000 / seconds > 40, "and the limit is used, not just kept"


def test_two_models_of_an_overloaded_account_both_get_on() -> None:
    async def simulate() -> list[list[float]]:
        clock = VirtualClock()
        provider = LimitedProvider("p", clock, per_s=40.0)
        gate = Gate(clock, "p")
        many = CalledModel(provider, clock=clock, gate=gate, retry=MODEL_RETRY)
        few = CalledModel(provider, clock=clock, gate=gate, retry=MODEL_RETRY)
        many.name, few.name = "many", "few"
        done: list[list[float]] = [[], []]

        async def some(index: int, model: CalledModel, workers: int) -> None:
            todo = iter(range(3000))

            async def worker() -> None:
                for _ in todo:
                    await model.complete(ASK)
                    done[index].append(clock.monotonic())

            await asyncio.gather(*(worker() for _ in range(workers)))

        await asyncio.gather(some(0, many, 200), some(1, few, 20))
        return done

    many, few = run_virtual(simulate())
    assert len(many) == len(few) == 3000
    by_then = sum(at <= few[1499] for at in many)
    assert 0.5 < 1500 / by_then < 2.5, "200 waiting callers do not starve 20"
