"""Keys and passwords do not leave the model room: not through errors, bodies, addresses, tracebacks or the cache."""

from __future__ import annotations

import base64
import pickle
import traceback
from urllib.parse import quote

import msgspec
import pytest

from viva.core.errors import ModelError, SetupError
from viva.core.secret import Secret, redactor
from viva.models.catalogue import build_model
from viva.models.rules import Answer
from viva.ports.model import ChatMessage, ModelRequest
from viva.testing.clock import FakeClock
from viva.testing.kit import FakeKit
from viva.testing.model_server import ModelServer

ASK = ModelRequest(messages=(ChatMessage(role="user", text="hello"),))

SHAPES = [
    "sk-{}plain",
    "sk-proj-{}-_dash",
    "{}/slash+plus==",
    "{}%percent",
    "{} space",
    "p@ss:{}word",
    'quo"te{}',
    "back\\slash{}",
    "{}&a=b",
    "hf_{}",
]
SENTINELS = [shape.format(f"SENTINEL{n:02d}") for n in range(4) for shape in SHAPES]
KEYS = ["ANTHROPIC_API_KEY", "AZURE_OPENAI_KEY", "GEMINI_API_KEY", "HF_TOKEN", "OPENROUTER_API_KEY"]
ADDRESSES = ["ANTHROPIC_BASE_URL", "AZURE_OPENAI_ENDPOINT", "GEMINI_BASE_URL", "HF_BASE_URL", "OPENROUTER_BASE_URL"]
ENCODINGS = {
    "raw": lambda s: s,
    "url": lambda s: quote(s, safe=""),
    "base64": lambda s: base64.b64encode(s.encode()).decode().rstrip("="),
    "repr": lambda s: repr(s)[1:-1],
}


def everything_said(error: BaseException) -> str:
    """All that a log, a report or a store could take from an error, its causes included."""
    said = ["".join(traceback.format_exception(error))]
    seen: BaseException | None = error
    while seen is not None:
        said += [str(seen), repr(seen), repr(seen.args), str(getattr(seen, "body", "")), str(getattr(seen, "hint", ""))]
        seen = seen.__cause__
    return "\n".join(said)


def found_in(text: str, secret: str) -> list[str]:
    return [name for name, encode in ENCODINGS.items() if encode(secret) in text]


async def failing(model) -> str:
    with pytest.raises(ModelError) as caught:
        await model.complete(ASK)
    await model.close()
    return everything_said(caught.value)


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_no_key_comes_back_out_of_a_providers_error(encoding: str) -> None:
    """40 sentinels, each echoed by the provider's error body and headers in one of four encodings."""
    leaks = []
    for sentinel in SENTINELS:
        key = sentinel if sentinel.isprintable() else "unused"
        echoed = ENCODINGS[encoding](sentinel)
        body = msgspec.json.encode({"error": {"message": f"Incorrect API key provided: {echoed}", "param": echoed}})
        async with ModelServer(lambda _, body=body: Answer(status=401, body=body)) as server:
            env = {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": server.url}
            model = build_model("openai/m", FakeKit(env=env, clock=FakeClock()))
            said = await failing(model)
            assert server.seen[-1].headers["authorization"] == f"Bearer {key}"
        leaks += [(sentinel, form) for form in found_in(said, sentinel)]
    assert leaks == []


@pytest.mark.parametrize(
    "answer",
    [
        Answer(status=500, body=b"plain {}"),
        Answer(status=400, body=b'["{}"]'),
        Answer(fault="malformed"),
        Answer(fault="reset"),
    ],
)
async def test_passwords_and_queries_in_an_address_stay_there(answer: Answer) -> None:
    leaks = []
    for n, sentinel in enumerate(SENTINELS):
        password, token = f"pw-{sentinel}", f"tok-{sentinel}"
        body = answer.body.replace(b"{}", msgspec.json.encode(f"{password} {token}")[1:-1])
        said_by = msgspec.structs.replace(answer, body=body)
        async with ModelServer(lambda _, a=said_by: a) as server:
            place = server.url.removeprefix("http://")
            url = f"http://user{n}:{quote(password, safe='')}@{place}?api-key={quote(token, safe='')}"
            model = build_model(f"openai/m@{url}", FakeKit(clock=FakeClock()), attempts=1)
            said = await failing(model) + repr(model.__dict__) + model.name + model.endpoint
            pair = base64.b64encode(f"user{n}:{password}".encode()).decode()
            assert server.seen[-1].headers["authorization"] == f"Basic {pair}"
            assert "api-key=" in server.seen[-1].path
        leaks += [(secret, form) for secret in (password, token) for form in found_in(said, secret)]
        assert pair.rstrip("=") not in said
    assert leaks == []


async def test_an_unreachable_address_is_named_without_its_password() -> None:
    url = "http://user:pw-SENTINEL-unreachable@127.0.0.1:9/v1?key=tok-SENTINEL-unreachable"
    model = build_model(f"openai/m@{url}", FakeKit(clock=FakeClock()), attempts=1)
    said = await failing(model)
    assert "SENTINEL" not in said
    assert "127.0.0.1:9" in said


def test_a_wrong_address_is_shown_without_its_password() -> None:
    name = "openai/m@http://user:pw-SENTINEL-wrong@/v1"
    with pytest.raises(SetupError) as caught:
        build_model(name, FakeKit())
    assert "SENTINEL" not in everything_said(caught.value)


async def test_a_model_that_repeats_its_key_is_masked_where_it_is_written_down() -> None:
    """The reply itself is evidence and is not changed here; the edge that writes it masks it, and counts."""
    async with ModelServer(lambda _: "my key is sk-SENTINEL-echoed-by-the-model") as server:
        env = {"OPENAI_API_KEY": "sk-SENTINEL-echoed-by-the-model", "OPENAI_BASE_URL": server.url}
        model = build_model("openai/m", FakeKit(env=env, clock=FakeClock()))
        reply = await model.complete(ASK)
        await model.close()
    before = redactor.count
    assert "SENTINEL-echoed" not in redactor.text(reply.text)
    assert redactor.count == before + 1
    assert b"SENTINEL-echoed" not in redactor.raw(msgspec.json.encode(reply))


def test_a_secret_cannot_be_printed_or_serialised() -> None:
    secret = Secret("sk-SENTINEL-printed", "KEY")
    assert "SENTINEL" not in f"{secret} {secret!r} {[secret]}"
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    with pytest.raises(TypeError):
        msgspec.json.encode(secret)


@pytest.mark.parametrize("provider", ["anthropic/m", "azure/m", "google/m", "huggingface/o/m", "openrouter/o/m"])
async def test_every_provider_learns_its_key_as_a_secret(provider: str) -> None:
    key = f"key-SENTINEL-{provider.partition('/')[0]}"
    body = msgspec.json.encode({"error": {"message": f"bad key {key}"}})
    async with ModelServer(lambda _: Answer(status=403, body=body)) as server:
        base = server.url.removesuffix("/v1")
        env = dict.fromkeys(KEYS, key) | dict.fromkeys(ADDRESSES, base)
        said = await failing(build_model(provider, FakeKit(env=env, clock=FakeClock())))
        assert any(key in value for value in server.seen[-1].headers.values())
    assert "SENTINEL" not in said
