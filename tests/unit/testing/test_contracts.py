"""The contract tests for plug-in authors pass what is right and refuse what is not."""

import pytest

from viva.core.case import Case
from viva.core.score import Score
from viva.core.transcript import Reply
from viva.drivers.once import Once
from viva.ports.driver import Stop
from viva.store.sqlite import SqliteStore
from viva.testing import (
    ContractError,
    FakeModel,
    FakeSubject,
    FaultyStore,
    check_driver,
    check_scorer,
    check_store,
    check_subject,
)


async def test_a_good_subject_passes_and_bad_ones_are_refused():
    assert (await check_subject(FakeSubject(["hi"]))).text == "hi"
    with pytest.raises(ContractError, match="must return a Reply"):
        await check_subject(FakeSubject(lambda message, opening: 5))
    with pytest.raises(ContractError, match="plain JSON"):
        await check_subject(FakeSubject([Reply(text="x", data=object())]))


async def test_a_good_store_passes_and_a_failing_one_does_not(tmp_path):
    store = await SqliteStore.open(tmp_path / "a.db")
    await check_store(store)
    await store.close()
    other = await SqliteStore.open(tmp_path / "b.db")
    with pytest.raises(Exception, match="failed on purpose"):
        await check_store(FaultyStore.around(other, 3))
    await other.close()


class Length:
    name, version, label, hash = "length", "1", "length", "0"

    def __init__(self, scores=None):
        self.scores = scores

    def observations(self):
        return ()

    def settled(self, observation, seen):
        return True

    async def score(self, evidence):
        return [Score(name="length", value=1.0)] if self.scores is None else self.scores


async def test_a_good_scorer_passes_and_bad_ones_are_refused():
    assert [score.name for score in await check_scorer(Length())] == ["length"]
    with pytest.raises(ContractError, match="at least one"):
        await check_scorer(Length([]))
    with pytest.raises(ContractError, match="is not a score"):
        await check_scorer(Length([0.5]))
    with pytest.raises(ContractError, match="must differ"):
        await check_scorer(Length([Score(name="a", value=1.0)] * 2))


class Silent:
    name, version = "silent", "1"

    async def drive(self, conversation):
        return Stop(because="")


async def test_drivers():
    stop = await check_driver(build_once(), Case(id="c", input="hello"))
    assert stop.kind == "completed"
    with pytest.raises(ContractError, match="why it stopped"):
        await check_driver(Silent(), Case(id="c"))


def build_once():
    settings = getattr(Once, "Settings", None)
    return Once(settings(), None) if settings else Once()


async def test_a_fake_model_answers_from_its_list():
    from viva.ports.model import ChatMessage, ModelRequest

    model = FakeModel(["a", "b"])
    request = ModelRequest(messages=(ChatMessage(role="user", text="x"),))
    assert [(await model.complete(request)).text for _ in range(3)] == ["a", "b", "b"]
    assert [piece async for piece in model.stream(request)] == ["b"]
