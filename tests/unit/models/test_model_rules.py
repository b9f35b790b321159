from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from viva.core.errors import ModelError, SetupError, SuiteError
from viva.models.catalogue import DEFAULTS, build_model
from viva.models.rules import Prompt, Rule, When, read_rules
from viva.models.scripted import ScriptedModel
from viva.ports.model import ChatMessage, ModelRequest
from viva.registry import BUILT_IN
from viva.testing.clock import FakeClock
from viva.testing.kit import FakeKit
from viva.testing.model_server import ModelServer

RULES = """
- when: {purpose: judge, contains: "Criterion: Names Paris", regex: '(?s)examined:.*Paris'}
  reply: {id: $nonce, reason: "It says Paris.", answer: met}
- when: {contains: [number, again], lacks: stop}
  capture: 'number (\\d+) (?P<unit>\\w+)'
  reply: 'You said $1 ${unit}, $$5, $unknown.'
- when: {last: story}
  reply: ["Once", "upon", "a time"]
- when: {schema: batch}
  for_each: {find: '(?m)^(\\d+)\\. (\\w+)', item: {criterion: $1, reason: "$2", answer: met}}
  reply: {id: $nonce, verdicts: $items}
- when: {contains: flaky}
  times: 2
  status: 503
  headers: {Retry-After: 3}
- when: {contains: flaky}
  reply: recovered
- when: {contains: evil}
  refuse: true
- when: {turn: 1}
  reply: second turn
"""


def ask(*texts: str, **more: object) -> ModelRequest:
    roles = ["user", "assistant"]
    messages = tuple(ChatMessage(role=roles[i % 2], text=text) for i, text in enumerate(texts))  # type: ignore[arg-type]
    return ModelRequest(messages=messages, **more)  # type: ignore[arg-type]


@pytest.fixture
def model(tmp_path: Path):
    (tmp_path / "rules.yml").write_text(RULES)
    return build_model("scripted:rules.yml", FakeKit(folder=tmp_path, clock=FakeClock()))


async def test_a_verdict_carries_the_id_of_its_call(model) -> None:
    prompt = "Criterion: Names Paris\nThe conversation to be examined:\nIt is Paris."
    reply = await model.complete(ask(prompt, purpose="judge", nonce="abc123"))
    assert msgspec.json.decode(reply.text) == {"id": "abc123", "reason": "It says Paris.", "answer": "met"}


async def test_captures_fill_placeholders_and_what_was_not_captured_stays(model) -> None:
    reply = await model.complete(ask("number 42 km again"))
    assert reply.text == "You said 42 km, $5, $unknown."


async def test_one_item_is_made_for_every_match(model) -> None:
    reply = await model.complete(
        ask("1. polite\n2. brief\n", schema={"type": "object"}, schema_name="batch", nonce="n1")
    )
    found = msgspec.json.decode(reply.text)
    assert found["id"] == "n1"
    assert [(v["criterion"], v["reason"]) for v in found["verdicts"]] == [("1", "polite"), ("2", "brief")]


async def test_a_sequence_goes_on_and_its_last_reply_stays(model) -> None:
    assert [(await model.complete(ask("a story"))).text for _ in range(4)] == ["Once", "upon", "a time", "a time"]


async def test_a_scripted_fault_is_retried_like_a_real_one(model) -> None:
    reply = await model.complete(ask("flaky"))
    assert (reply.text, reply.attempts) == ("recovered", 3)


async def test_refusals_and_turns(model) -> None:
    assert (await model.complete(ask("evil"))).refused
    assert (await model.complete(ask("hi", "hello", "and now?"))).text == "second turn"


async def test_a_prompt_without_a_rule_is_named(model) -> None:
    with pytest.raises(ModelError, match="no rule applies to the prompt 'tell me more'") as caught:
        await model.complete(ask("tell me more", purpose="user"))
    assert (caught.value.kind, caught.value.retryable) == ("unscripted", False)


async def test_counting_apart_gives_every_conversation_its_own_sequence(tmp_path: Path) -> None:
    (tmp_path / "r.yml").write_text("- per: 'case (\\w+)'\n  reply: [one, two]\n")
    model = build_model("scripted:r.yml", FakeKit(folder=tmp_path, clock=FakeClock()))
    said = [(await model.complete(ask(text))).text for text in ("case a", "case b", "case a", "case b")]
    assert said == ["one", "one", "two", "two"]


async def test_latency_and_deadline_are_those_of_the_clock(tmp_path: Path) -> None:
    (tmp_path / "r.yml").write_text(
        "latency_ms: 1500\nrules:\n- when: {contains: hang}\n  fault: hang\n- reply: slow\n"
    )
    clock = FakeClock()
    model = build_model("scripted:r.yml", FakeKit(folder=tmp_path, clock=clock), attempts=1)
    assert (await model.complete(ask("x"))).latency_ms == pytest.approx(1500)
    with pytest.raises(ModelError) as caught:
        await model.complete(ask("hang", timeout_s=20))
    assert caught.value.kind == "timed_out"
    assert clock.monotonic() == pytest.approx(21.5)


async def test_the_same_rules_serve_over_http() -> None:
    rules = read_rules(RULES.encode(), "rules.yml")
    async with ModelServer(rules) as server:
        model = build_model(f"openai/m@{server.url}", FakeKit(clock=FakeClock()))
        assert (await model.complete(ask("number 7 apples again"))).text == "You said 7 apples, $5, $unknown."
        assert (await model.complete(ask("flaky"))).attempts == 3
        await model.close()


def test_rules_can_be_asked_from_many_threads() -> None:
    rules = read_rules(b"- times: 500\n  reply: first\n- reply: rest\n", "r")
    said: list[str] = []

    def work() -> None:
        for _ in range(200):
            answer = rules.answer(Prompt(messages=(("user", "x"),)))
            assert answer is not None
            said.append(answer.text)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said.count("first") == 500


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("- reply: x\n  wen: {}\n", "wen"),
        ("- when: {contian: x}\n  reply: y\n", "contian"),
        ("- when: {contains: x}\n", "answers nothing"),
        ("- reply: []\n", "answers nothing"),
        ("- reply: x\n  reply: y\n", "twice"),
        ("a: &a [x]\nb: *a\n", "aliases"),
        ("- when: {regex: '('}\n  reply: x\n", "not valid"),
        ("- when: {regex: '(a+)+$'}\n  reply: x\n", "repeats a repeat"),
        ("- when: {regex: '(?:(?:a|b)*c)*'}\n  reply: x\n", "repeats a repeat"),
        ("- reply: !!python/object/apply:os.system [id]\n", "YAML"),
        ("[" * 3000, "YAML"),
        ("just text", "list of rules"),
        ("", "list of rules"),
    ],
)
def test_rules_that_cannot_be_meant_are_refused_with_the_reason(text: str, says: str) -> None:
    with pytest.raises(SuiteError, match=says):
        read_rules(text.encode(), "r.yml")


def test_a_file_named_by_a_suite_lies_below_its_folder(tmp_path: Path) -> None:
    (tmp_path / "outside.yml").write_text("- reply: x\n")
    folder = tmp_path / "suite"
    folder.mkdir()
    kit = FakeKit(folder=folder)
    with pytest.raises(SuiteError):
        build_model("scripted:../outside.yml", kit)
    assert build_model(f"scripted:{tmp_path}/outside.yml", kit, trusted=True).name.startswith("scripted:")
    with pytest.raises(SetupError, match="cannot read the rules"):
        build_model("scripted:nothing.yml", kit)


async def test_the_server_is_no_bottleneck() -> None:
    """A bound generous enough for a busy machine; what it really serves is measured by the benchmarks."""
    async with ModelServer("ok") as server:
        host, port = server.url.removeprefix("http://").removesuffix("/v1").split(":")
        body = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'
        head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode()

        async def client(count: int) -> None:
            reader, writer = await asyncio.open_connection(host, int(port))
            for _ in range(count):
                writer.write(head + body)
                answer = await reader.readuntil(b"\r\n\r\n")
                length = int(answer.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
            writer.close()

        began = asyncio.get_running_loop().time()
        await asyncio.gather(*(client(125) for _ in range(8)))
        took = asyncio.get_running_loop().time() - began
    assert server.calls == 1000
    assert took < 5


REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "models.md"


async def test_the_rules_of_the_reference_work() -> None:
    written = REFERENCE.read_text(encoding="utf-8").split("```yaml\n")[1].split("```")[0]
    model = ScriptedModel.of(read_rules(written.encode(), "models.md"), FakeClock())
    verdict = await model.complete(ask('Criterion: "Names Paris"\n{"role":"assistant","text":"Paris"}', nonce="n1"))
    assert msgspec.json.decode(verdict.text)["id"] == "n1"
    assert (await model.complete(ask("number 7"))).text == "You said 7."
    assert (await model.complete(ask("hi"))).text == "Hello."


def test_every_key_of_a_rule_and_every_provider_is_in_the_reference() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    for field in Rule.__struct_fields__:
        assert f"`{field}" in text or field == "when", field
    for field in When.__struct_fields__:
        assert f"`when.{field}`" in text, field
    for provider in BUILT_IN["models"]:
        assert f"`{provider}/" in text or f"`{provider}:" in text, provider
    for keys, model in DEFAULTS:
        assert f"`{model}`" in text
        assert all(f"`{key}`" in text for key in keys if key != "AZURE_OPENAI_API_KEY")
