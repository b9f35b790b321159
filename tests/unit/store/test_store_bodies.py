"""What is written can be read back, holds no secret, and loses no character."""

from __future__ import annotations

import base64
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_samples import a_case, a_run, evidence_of, result_of, scores

from viva.core.data import replace
from viva.core.errors import StoreError
from viva.core.evidence import Ending, Observed
from viva.core.secret import MASK, Secret, redactor
from viva.core.text import storable_data
from viva.store.bodies import EVIDENCE, SCORES, Body, hash_of, pack, seal, sealed, unpack
from viva.store.cache import SqliteCache
from viva.store.export import export_run
from viva.store.sqlite import SqliteStore

SENTINEL = 'sk-l1ve/9+x"y\\z&=é'


@pytest.fixture(autouse=True)
def forgetful_redactor() -> Iterator[None]:
    known, count = dict(redactor._needles), redactor.count
    yield
    redactor._needles.clear()
    redactor._needles.update(known)
    redactor.count = count


def forms(secret: str) -> list[str]:
    encoded = base64.b64encode(secret.encode()).decode()
    basic = base64.b64encode(f"user:{secret}".encode()).decode()
    return [secret, quote(secret, safe=""), encoded, basic, repr(secret), json.dumps({"authorization": secret})]


def every_byte(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def test_no_file_of_the_store_contains_a_secret_in_any_form(tmp_path: Path) -> None:
    redactor.learn(Secret(SENTINEL, "KEY"))
    said = " | ".join(forms(SENTINEL))
    case = a_case(metadata={"note": said, SENTINEL: 1})
    evidence = replace(
        evidence_of(case, text=said * 2000),
        state={"headers": Observed(value={"Authorization": [said], said: said}, error="raised", detail=said)},
        ending=Ending(kind="subject_error", ok=False, because=said, body=said),
    )
    store = await SqliteStore.open(tmp_path / "viva.db")
    await store.create_run(replace(a_run(), reason=said, tags={"key": said}), [case])
    assert await store.add_evidence("run-1", evidence)
    long_scores = [replace(scores()[0], reason=said, detail={"prompt": said * 1000})]
    assert await store.add_result("run-1", replace(result_of(evidence), reason=said), long_scores)
    await store.finish_run("run-1", "aborted", said)
    await export_run(store, "run-1", tmp_path / "out.jsonl")
    cache = await SqliteCache.open(tmp_path / "cache.db")
    await cache.put("key", json.dumps({"text": said}).encode(), "model")
    assert await cache.get("key") is None
    await cache.close()
    stored = await store.evidence("run-1", "france")
    await store.close()

    found = every_byte(tmp_path)
    inner = SENTINEL.split('"', maxsplit=1)[0].encode()  # Survives every escaping of what follows it.
    for needle in (inner, quote(SENTINEL, safe="").encode(), base64.b64encode(SENTINEL.encode()).rstrip(b"=")):
        assert needle not in found
    assert base64.b64encode(f"user:{SENTINEL}".encode())[8:-8] not in found
    assert stored.text is not None
    assert MASK in stored.text
    assert redactor.count > 5


def test_masking_never_damages_the_record() -> None:
    for value in ("123456", "transcript", "repeat", "latency_ms"):
        redactor.learn(Secret(value))
    evidence = replace(evidence_of(a_case(), text="my pin is 123456, says the transcript"), started_at="x")
    evidence = replace(evidence, state={"total": Observed(value=123456.0, took_ms=123456.0)})
    read = EVIDENCE.decode(seal(evidence, EVIDENCE, "evidence"))
    assert read.text == f"my pin is {MASK}, says the {MASK}"
    assert read.state["total"].took_ms == 123456.0
    assert read.transcript.turns[1].latency_ms == 21.5


def test_a_secret_that_is_a_word_of_ours_is_an_error_not_a_ruin() -> None:
    redactor.learn(Secret("assistant"))
    with pytest.raises(StoreError) as refused:
        seal(evidence_of(a_case()), EVIDENCE, "evidence of trial 'france'")
    assert refused.value.kind == "unstorable"


ODD = [
    "\ud800 lone", "\udfff\ud83d", "NUL\x00 in\x1b[31mside", "bidi \u202egnp.exe\u2066", "e" + "\u0301" * 10_000,
    "👩‍👩‍👧‍👦 🇫🇷", "\u2028\u2029\r\n\t", "\ufeff\ufffe\uffff", "", "\\ud800 typed", '"}]}', "\x7f\x80\x9f",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
async def test_odd_characters_are_kept(tmp_path: Path, text: str) -> None:
    case = a_case(input=text, metadata={text: text})
    evidence = replace(evidence_of(case, text=text), output={text: [text]}, state={text: Observed(value=text)})
    store = await SqliteStore.open(tmp_path / "viva.db")
    await store.create_run(a_run(), [case])
    assert await store.add_evidence("run-1", evidence)
    read = await store.evidence("run-1", "france")
    await store.close()
    expected = storable_data(text)
    assert read.text == read.case.input == read.output[expected][0] == read.state[expected].value == expected


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(PLAIN, st.text(alphabet=st.characters(exclude_categories=())))
def test_any_json_data_comes_back_equal(data: object, text: str) -> None:
    evidence = replace(evidence_of(a_case(), text=text), output=data)
    read = EVIDENCE.decode(seal(evidence, EVIDENCE, "evidence"))
    assert read.output == data
    assert read.text == storable_data(text)


@pytest.mark.parametrize("raw", [b"", b"short", b"ab" * 50_000, bytes(range(256)) * 8])
def test_a_body_is_unpacked_as_it_was(raw: bytes) -> None:
    row = pack(Body(hash_of(raw), raw))
    assert unpack(row.encoding, row.body) == raw
    assert len(row.body) <= len(raw)


def test_too_deep_data_is_a_named_error() -> None:
    deep: object = "bottom"
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(StoreError) as refused:
        seal(replace(evidence_of(a_case()), output=deep), EVIDENCE, "evidence")
    assert refused.value.kind == "unstorable"


def test_scores_of_all_three_kinds_keep_their_kind() -> None:
    assert SCORES.decode(seal(scores(), SCORES, "scores")) == scores()


def test_without_secrets_nothing_is_changed() -> None:
    assert json.loads(sealed({"a": "sk-live"})) == {"a": "sk-live"}


async def test_the_bodies_table_names_content_by_its_hash(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "viva.db")
    await store.create_run(a_run(), [a_case(context="long " * 10_000)])
    await store.close()
    with sqlite3.connect(tmp_path / "viva.db") as raw:
        for name, encoding, size, body in raw.execute("SELECT hash, encoding, size, body FROM bodies"):
            content = unpack(encoding, body)
            assert hash_of(content) == name
            assert len(content) == size
    raw.close()
