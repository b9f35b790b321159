"""A suite file from a stranger: refused fast, with its line, and never by accident."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
import time
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viva.config.load import load_suite, load_text
from viva.config.tree import plain
from viva.config.yaml import MOST_BYTES, read_yaml
from viva.core.errors import SuiteError

TAGS = [
    "!!python/object/apply:os.system [touch x]",
    "!!python/object:os.system {}",
    "!!python/object/new:os.system [id]",
    "!!python/name:os.system",
    "!!python/name:os.system ''",
    "!!python/module:os",
    "!!python/module:os ''",
    "!!python/tuple [1]",
    "!!python/bytes aGk=",
    "!!python/str x",
    "!!python/int 5",
    "!!python/complex 1j",
    "!!python/dict {}",
    "!!python/object/apply:subprocess.Popen [[id]]",
    "!!python/object/apply:builtins.eval ['1']",
    "!!python/object/apply:builtins.exec ['1']",
    "!<tag:yaml.org,2002:python/object/apply:os.system> [id]",
    "!!binary aGk=",
    "!!timestamp 2001-01-01",
    "!!set {a, b}",
    "!!omap [a: 1]",
    "!!pairs [a: 1]",
    "!local x",
    "!Ref x",
    "!include /etc/passwd",
    "!env HOME",
]


@pytest.mark.parametrize("value", TAGS)
def test_a_tag_that_builds_objects_is_refused_with_its_line(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(os, "system", lambda *_: ran.append("system"))
    monkeypatch.setattr(subprocess, "Popen", lambda *_: ran.append("Popen"))
    monkeypatch.setattr(builtins, "eval", lambda *_: ran.append("eval"))
    with pytest.raises(SuiteError, match="tag") as error:
        load_text(f"suite: x\n\ncases:\n- input: {value}\n", "evil.yml")
    assert error.value.where == "evil.yml:4"
    assert ran == []


def test_a_tag_smuggled_in_by_a_directive_is_refused_too() -> None:
    text = "%TAG ! tag:yaml.org,2002:python/\n---\nsuite: !object/apply:os.system [id]\n"
    with pytest.raises(SuiteError, match="tag") as error:
        load_text(text, "evil.yml")
    assert error.value.where == "evil.yml:3"


def test_a_tag_on_a_key_is_refused() -> None:
    with pytest.raises(SuiteError, match="tag"):
        read_yaml("!!python/name:os.system x: 1", "evil.yml")


ALIAS_BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{name}: &{name} [{','.join(['*' + before] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("alias bomb", ALIAS_BOMB),
        ("brackets", "[" * 100_000),
        ("braces", "{" * 100_000),
        ("flow mappings", "{a: " * 100_000),
        ("dashes", "- " * 100_000),
        ("question marks", "? " * 100_000),
        ("indented", "".join(" " * level + "a:\n" for level in range(400))),
        ("self-reference", "&a [*a]"),
        ("self-reference in a mapping", "a: &a {b: *a}"),
        ("alias alone", "*a"),
        ("anchor alone", "a: &a 1"),
        ("merge key", "a: &a {b: 1}\nc: {<<: *a}"),
    ],
)
def test_bombs_are_refused_before_anything_is_built_from_them(name: str, text: str) -> None:
    began = time.perf_counter()
    with pytest.raises(SuiteError) as error:
        load_text(text, "bomb.yml")
    took_s = time.perf_counter() - began
    assert error.value.where.startswith("bomb.yml:")
    assert took_s < 1.0, f"{name} took {took_s:.2f} s"


def test_refusing_a_bomb_takes_little_memory() -> None:
    texts = [ALIAS_BOMB, "[" * 100_000]
    tracemalloc.start()
    try:
        for text in texts:
            with pytest.raises(SuiteError):
                load_text(text)
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()


def test_nesting_is_refused_at_a_depth_and_not_by_the_interpreter() -> None:
    assert plain(read_yaml("[" * 64 + "]" * 64, "deep.yml"))
    with pytest.raises(SuiteError, match="64 levels"):
        read_yaml("[" * 65 + "]" * 65, "deep.yml")


def test_a_big_file_is_refused_without_parsing(tmp_path) -> None:
    big = tmp_path / "big.yml"
    big.write_bytes(b"suite: x\n#" + b"a" * (MOST_BYTES + 1_000_000))
    with pytest.raises(SuiteError, match="10,000,000"):
        load_suite(big)
    with pytest.raises(SuiteError, match="10,000,000"):
        load_text(big.read_bytes())


def test_a_second_document_is_refused_with_its_line() -> None:
    with pytest.raises(SuiteError, match="second document") as error:
        load_text("suite: x\n---\nsuite: y\n", "two.yml")
    assert error.value.where == "two.yml:2"


@pytest.mark.parametrize(
    ("raw", "words", "line"),
    [
        (b"suite: x\nname: a\0b\n", "NUL", 2),
        ("suite: x".encode("utf-16"), "UTF-16", 1),
        (b"\xfe\xff\x00s", "UTF-16", 1),
        (b"suite: x\n\nb: \xff\n", "not UTF-8", 3),
        (b"suite: x\nb: \x1b[31m\n", "control character", 2),
        (b"suite: x\nb: \xc2\x9b31m\n", "control character", 2),
        (b"suite: x\nb: \xef\xbb\xbf\n", "control character", 2),
    ],
)
def test_bytes_that_are_no_text_are_refused_with_their_line(raw: bytes, words: str, line: int) -> None:
    with pytest.raises(SuiteError, match=words) as error:
        load_text(raw, "odd.yml")
    assert error.value.where == f"odd.yml:{line}"


def test_a_byte_order_mark_of_utf_8_is_no_problem() -> None:
    assert plain(read_yaml(b"\xef\xbb\xbfa: 1\n", "bom.yml")) == {"a": 1}
    assert plain(read_yaml("\ufeffa: 1\n", "bom.yml")) == {"a": 1}


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/null", "/"])
@pytest.mark.skipif(sys.platform == "win32", reason="names of POSIX")
def test_a_device_or_folder_is_no_suite(path: str) -> None:
    with pytest.raises(SuiteError, match=r"no ordinary file|a folder"):
        load_suite(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path) -> None:
    pipe = tmp_path / "pipe.yml"
    os.mkfifo(pipe)
    with pytest.raises(SuiteError, match="no ordinary file"):
        load_suite(pipe)


def test_duplicate_keys_are_errors_that_name_both_lines() -> None:
    with pytest.raises(SuiteError, match=r"'weight' is given twice, first on line 2") as error:
        read_yaml("a:\n  weight: 2\n  text: x\n  weight: 9\n", "dup.yml")
    assert error.value.where == "dup.yml:4"
    with pytest.raises(SuiteError, match="given twice"):
        read_yaml('{a: 1, "a": 2}', "dup.yml")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("no", "no"), ("No", "No"), ("on", "on"), ("off", "off"), ("yes", "yes"), ("y", "y"),
        ("001", "001"), ("007", "007"), ("12:30", "12:30"), ("1:30:00", "1:30:00"), ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"), ("0b11", "0b11"), ("0777x", "0777x"), ("1.2.3", "1.2.3"), ("1e", "1e"),
        ("=", "="), ("<<", "<<"), ("-", None), ("+", "+"), (".", "."), ("0x", "0x"), ("-0x1f", "-0x1f"),
        ("true", True), ("True", True), ("FALSE", False), ("tRue", "tRue"),
        ("null", None), ("~", None), ("", None), ("Null", None), ("nUll", "nUll"),
        ("0", 0), ("-7", -7), ("+7", 7), ("0x1F", 31), ("0o17", 15), ("017", "017"),
        ("1.5", 1.5), ("-.5", -0.5), ("1e3", 1000.0), ("5.", 5.0), ("1E-2", 0.01), ("00.5", "00.5"),
        ("'1'", "1"), ('"true"', "true"), ("!!str 1", "1"), ("!!int 1", 1), ("!!float 1", 1.0), ("! 1", "1"),
    ],
)  # fmt: skip
def test_scalars_follow_yaml_1_2_and_strings_stay_strings(written: str, meant: object) -> None:
    if written == "-":
        assert plain(read_yaml("a: '-'", "s.yml")) == {"a": "-"}
        return
    found = plain(read_yaml(f"a: {written}\n", "s.yml"))["a"]
    assert found == meant
    assert type(found) is type(meant)


def test_keys_are_always_text() -> None:
    assert plain(read_yaml("1: a\ntrue: b\nnull: c\n12:30: d\n", "k.yml")) == {
        "1": "a",
        "true": "b",
        "null": "c",
        "12:30": "d",
    }


@pytest.mark.parametrize("number", [".nan", ".inf", "-.INF", "1e999", "9" * 5000, "!!float .nan"])
def test_numbers_that_cannot_be_stored_are_refused_with_their_line(number: str) -> None:
    with pytest.raises(SuiteError) as error:
        read_yaml(f"a: 1\nb: {number}\n", "n.yml")
    assert error.value.where == "n.yml:2"


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\t- x", '"abc', "? [a]\n: b", "{a: 1}: 2", "a: !!int x"])
def test_broken_yaml_names_its_line(text: str) -> None:
    with pytest.raises(SuiteError) as error:
        read_yaml(text, "broken.yml")
    assert error.value.where.startswith("broken.yml:")


@pytest.mark.parametrize(
    "text",
    ["a: no\nb: [1, 001, 0x1f, ~]\nc: |\n  x\n", "a: 1\na: 2", "&a [*a]", "[" * 1000, "a: !!python/name:os.system x",
     "a\n---\nb", '"\\ud800"', '"\\U0011ffff"', "a: [", "", "a: .nan", "%YAML 1.2\n---\na: b\n", "? [a]\n: b"],
)  # fmt: skip
def test_without_libyaml_the_answers_are_the_same(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from viva.config import yaml as reading

    def answer() -> object:
        try:
            return plain(read_yaml(text, "same.yml"))
        except SuiteError as error:
            return SuiteError, error.where

    with_libyaml = answer()
    monkeypatch.setattr(reading, "_Parser", reading.PlainParser)
    assert answer() == with_libyaml


YAMLISH = st.text(alphabet="abc:-[]{}!&*?|>'\"\n\t #%@`,01~<=\\u\ufeff\x85", max_size=200)
SUITISH = st.lists(
    st.sampled_from(
        ["suite: x\n", "cases:\n", "- input: hi\n", "  checks:\n", "  - contains: a\n", "driver: {", "}\n", "[", "]",
         "limits: {seconds: -1}\n", "dataset: {file: ../x}\n", "variants: [{name: a}, {name: a}]\n", "criteria: [a]\n",
         "criteria: {only: 5}\n", "thresholds: ['x']\n", "stage: {graph: 5}\n", "judging: each\n", "  turns: 5\n",
         "repeats: 0\n",
         "- 5\n", "- id: {}\n", "  id: a\n", "tags: [5]\n", "metadata: []\n", "roles: {judge: 5}\n", "formula: [1]\n"]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.binary(max_size=300), st.text(max_size=300), YAMLISH, SUITISH))
def test_the_loader_never_raises_anything_but_a_suite_error(anything: bytes | str) -> None:
    try:
        load_text(anything, "any.yml")
    except SuiteError as error:
        assert error.where.startswith(("any.yml:", "<"))


@settings(max_examples=150, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
        max_leaves=20,
    )
)
def test_data_of_any_shape_under_any_key_is_a_suite_or_a_suite_error(data: object) -> None:
    from viva.config.build import suite
    from viva.config.keys import SuiteKeys

    for key in SuiteKeys.__struct_fields__:
        written = {"cases": [{"input": "hi"}]} | {key: data}
        written.pop("suite", None)
        try:
            suite("any", **written)
        except SuiteError as error:
            assert error.where == "<python>"
