from __future__ import annotations

import msgspec
import pytest

from viva.core.data import replace
from viva.core.errors import LimitError, ModelError
from viva.core.usage import NO_USAGE, Usage
from viva.models.cache import CachedReplies, is_answer
from viva.models.catalogue import build_model
from viva.models.rules import Answer
from viva.ports.model import ChatMessage, ModelReply, ModelRequest
from viva.testing.clock import FakeClock
from viva.testing.kit import FakeKit
from viva.testing.model_server import ModelServer

SCHEMA = {"type": "object", "properties": {"id": {}, "answer": {}}, "required": ["id", "answer"]}


class MemoryCache:
    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def get(self, key: str) -> bytes | None:
        return self.kept.get(key)

    async def put(self, key: str, reply: bytes, model: str) -> None:
        self.kept[key] = reply

    async def close(self) -> None: ...


def ask(text: str = "hello", **more: object) -> ModelRequest:
    return ModelRequest(messages=(ChatMessage(role="user", text=text),), **more)  # type: ignore[arg-type]


async def test_a_second_run_sends_nothing_and_keeps_the_first_timings() -> None:
    cache = MemoryCache()
    async with ModelServer("fine", latency_s=0.02) as server:
        replies = []
        for _ in range(2):
            model = build_model(f"openai/m@{server.url}", FakeKit(clock=FakeClock()), cache=cache)
            replies.append(await model.complete(ask()))
            assert model.cache is not None
            hits = model.cache.hits
            await model.close()
    first, second = replies
    assert (server.calls, hits) == (1, 1)
    assert (first.cached, second.cached) == (False, True)
    assert second.latency_ms == first.latency_ms >= 20
    assert second.text == "fine"
    assert (second.usage.calls, second.usage.cache_hits, second.usage.tokens) == (0, 1, 0)


async def test_a_replayed_verdict_answers_this_call() -> None:
    cache = MemoryCache()
    rules = lambda prompt: {"id": prompt.last.split()[-1], "answer": "met"}  # noqa: E731
    async with ModelServer(rules) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=FakeClock()), cache=cache)
        first = await model.complete(ask("judge this, id: aaaa1111", nonce="aaaa1111", schema=SCHEMA))
        second = await model.complete(ask("judge this, id: bbbb2222", nonce="bbbb2222", schema=SCHEMA))
        await model.close()
    assert server.calls == 1
    assert msgspec.json.decode(first.text)["id"] == "aaaa1111"
    assert msgspec.json.decode(second.text)["id"] == "bbbb2222"
    assert second.cached
    assert all(b"aaaa1111" not in raw for raw in cache.kept.values())


@pytest.mark.parametrize(
    "change",
    [
        {"temperature": 0.5},
        {"max_tokens": 9},
        {"stop": ("x",)},
        {"seed": 1},
        {"salt": "repeat 2"},
        {"schema": SCHEMA},
        {"parameters": {"top_p": 0.1}},
        {"messages": (ChatMessage(role="system", text="hello"),)},
    ],
)
def test_everything_that_may_change_the_answer_changes_the_key(change: dict) -> None:
    replies = CachedReplies(MemoryCache(), "m", "http://one")
    assert replies.key(ask()) != replies.key(replace(ask(), **change))


def test_model_and_endpoint_are_part_of_the_key() -> None:
    keys = {CachedReplies(MemoryCache(), m, e).key(ask()) for m in ("a", "b") for e in ("x", "y")}
    assert len(keys) == 4


@pytest.mark.parametrize("change", [{"purpose": "judge"}, {"timeout_s": 3.0}, {"stream": True}, {"cache": True}])
def test_what_cannot_change_the_answer_does_not_change_the_key(change: dict) -> None:
    replies = CachedReplies(MemoryCache(), "m", "")
    assert replies.key(ask()) == replies.key(replace(ask(), **change))


def test_a_key_can_be_made_of_any_text() -> None:
    assert len(CachedReplies(MemoryCache(), "m", "").key(ask("lone \ud800"))) == 64


@pytest.mark.parametrize(
    "answer",
    [
        Answer(text="I can't help with that.", refused=True),
        Answer(text="I can't help with that."),
        Answer(text="I'm sorry, but I cannot assist with this request."),
        Answer(text="I’m unable to answer this."),
        Answer(text=""),
        Answer(text="   \n"),
        Answer(text="cut", finish="length"),
        Answer(text="filtered", finish="content_filter"),
    ],
)
async def test_what_is_no_answer_is_never_replayed(answer: Answer) -> None:
    cache = MemoryCache()
    async with ModelServer(lambda _: answer) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=FakeClock()), cache=cache)
        for _ in range(2):
            await model.complete(ask())
        await model.close()
    assert server.calls == 2
    assert cache.kept == {}


@pytest.mark.parametrize("text", ["I can't judge this.", "{}", '{"id": "x"}', "[]", '{"id": "x", "answer": ', "3"])
def test_a_reply_that_does_not_have_the_asked_form_is_not_kept(text: str) -> None:
    assert not is_answer(ask(schema=SCHEMA), ModelReply(text=text))


@pytest.mark.parametrize(
    "text", ["I can help with that: turn left.", "Sorry for the delay, here it is: 4.", "Unfortunately it rains."]
)
def test_an_answer_that_only_sounds_like_a_refusal_is_kept(text: str) -> None:
    assert is_answer(ask(), ModelReply(text=text))


async def test_errors_are_not_kept_and_a_request_may_forbid_the_cache() -> None:
    cache = MemoryCache()
    async with ModelServer(lambda _: Answer(status=400, body=b"no")) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=FakeClock()), cache=cache)
        with pytest.raises(ModelError):
            await model.complete(ask())
        server._answers = "fine"
        await model.complete(ask(cache=False))
        await model.close()
    assert cache.kept == {}


async def test_a_stored_reply_of_another_version_is_a_miss() -> None:
    cache = MemoryCache()
    replies = CachedReplies(cache, "m", "")
    cache.kept[replies.key(ask())] = b"not json"
    assert await replies.find(replies.key(ask()), ask()) is None
    assert (replies.hits, replies.misses) == (0, 1)


class Purse:
    def __init__(self, calls: int) -> None:
        self.left = calls
        self.charged: list[Usage] = []
        self.reserved: list[tuple[float | None, int | None]] = []

    def reserve(self, cost_usd: float | None, tokens: int | None) -> None:
        if self.left <= 0:
            raise LimitError("no money left", kind="budget")
        self.left -= 1
        self.reserved.append((cost_usd, tokens))

    def charge(self, usage: Usage) -> None:
        self.charged.append(usage)


async def test_the_purse_is_asked_before_the_call_and_charged_after_it() -> None:
    purse = Purse(2)
    async with ModelServer("fine") as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=FakeClock()), meter=purse, cache=MemoryCache())
        await model.complete(ask("one " * 100))
        await model.complete(ask("one " * 100))
        server._answers = lambda _: Answer(status=400, body=b"no")
        with pytest.raises(ModelError):
            await model.complete(ask("two"))
        with pytest.raises(LimitError):
            await model.complete(ask("three"))
        await model.close()
    assert server.calls == 2, "the call that would exceed was not sent, and the cached one cost nothing"
    assert purse.reserved[0][1] is not None
    assert purse.reserved[0][1] >= 100
    assert [usage.calls for usage in purse.charged] == [1, 0]
    assert purse.charged[1] == NO_USAGE
