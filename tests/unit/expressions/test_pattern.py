"""Patterns: what RE2 finds, in linear time, or an error with a name."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from viva.expressions.pattern import LONGEST_TEXT, MOST_KEPT, Pattern, compile_pattern
from viva.expressions.pattern_syntax import PatternError

FOUND = [
    ("abc", "xabcx"),
    ("a.c", "abc"),
    ("^a", "ab"),
    ("b$", "ab"),
    (r"\Aab\z", "ab"),
    ("a|b|c", "xc"),
    ("(ab)+c", "ababc"),
    ("(?:ab)+c", "ababc"),
    ("(?P<year>[0-9]{4})", "in 2026"),
    ("a?b", "b"),
    ("a{2,3}b", "aab"),
    ("a{2,}b", "aaaaab"),
    ("[a-c]x", "bx"),
    ("[^a]x", "bx"),
    ("[]a]", "]"),
    ("[a-]", "-"),
    (r"[\]\\]", "\\"),
    (r"\d+\s\w", "12 a"),
    (r"\D\S\W", "ab-"),
    (r"\bfoo\b", "a foo b"),
    (r"o\Bo", "foo"),
    ("(?i)PARIS", "paris"),
    ("(?i)[^a]", "b"),
    ("(?i:P)aris", "paris"),
    ("(?s)a.b", "a\nb"),
    ("(?m)^b$", "a\nb\nc"),
    (r"\x41\x{1F600}", "A😀"),
    (r"\p{Lu}\pL", "Éa"),
    (r"\P{L}", "1"),
    (r"\Qa.b\E", "a.b"),
    ("[[:alpha:]][[:^digit:]]", "a!"),
    ("x*", ""),
    ("a{,3}", "a{,3}"),
    ("a+?b", "aab"),
]
NOT_FOUND = [
    ("^b", "ab"),
    ("a.b", "a\nb"),
    ("b$", "ab\n"),
    (r"^\w+$", "héllo"),
    ("(?i)[^a]", "A"),
    ("a{3}", "aa"),
    (r"\bfoo\b", "afoob"),
    ("[^a]", "a"),
]
UNREADABLE = ["(", ")", "a)", "[a", "a**", "*a", "(?=a)", "(?!a)", "(?<=a)", r"(a)\1", "(?P=x)", "[b-a]", r"\q"]
UNREADABLE += ["a{2}{3}", r"\p{Xx}", "[[:nope:]]", r"\xZZ", "(?z)", "\\", "a{1001}", "a" * 1001, "(" * 40 + ")" * 40]


@pytest.mark.parametrize(("pattern", "text"), FOUND)
def test_a_pattern_is_found(pattern: str, text: str) -> None:
    assert Pattern(pattern).search(text)


@pytest.mark.parametrize(("pattern", "text"), NOT_FOUND)
def test_a_pattern_is_not_found(pattern: str, text: str) -> None:
    assert not Pattern(pattern).search(text)


@pytest.mark.parametrize("pattern", UNREADABLE)
def test_what_cannot_be_read_or_needs_backtracking_is_refused(pattern: str) -> None:
    with pytest.raises(PatternError):
        Pattern(pattern)


def test_a_refusal_names_the_column() -> None:
    with pytest.raises(PatternError, match="column 5"):
        Pattern("ab(?=c)")


def test_whole_means_the_whole_text() -> None:
    assert Pattern("a|ab", whole=True).search("ab")
    assert not Pattern("a|ab", whole=True).search("abc")
    assert Pattern("A+", whole=True, ignore_case=True).search("aA")


SIMPLE = st.recursive(
    st.sampled_from(["a", "b", "c", ".", "[ab]", "[^a]", "^", "$", r"\b"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}"])).map(lambda pair: f"(?:{pair[0]}){pair[1]}"),
    ),
    max_leaves=8,
)


@settings(max_examples=500, deadline=None)
@given(SIMPLE, st.text("abc \n", max_size=12))
def test_it_finds_what_python_finds(pattern: str, text: str) -> None:
    # Only the end differs: Python's $ also stands before a last newline.
    expected = re.search(pattern.replace("$", r"\Z"), text) is not None
    assert Pattern(pattern).search(text) == expected


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 100_000 + "b"),
        ("(a|a)*c", "a" * 100_000),
        ("(.*)(.*)(.*)(.*)x", "a" * 100_000),
        ("(a?){100}a{100}", "a" * 99),
        ("(?:a|b)*a(?:a|b){200}c", "ab" * 50_000),
        ("((a{1,50}){1,50}){1,50}", "a" * 1000),
        ("((((){1000}){1000}){1000}){1000}", "a"),
        ("[^x]*y", "".join(map(chr, range(0x4E00, 0x9FFF))) * 5),
    ],
)
def test_no_pattern_can_run_away(pattern: str, text: str) -> None:
    began = time.process_time()
    try:
        Pattern(pattern).search(text)
    except PatternError as error:
        assert error.kind == "too_costly"
    assert time.process_time() - began < 1.0


def test_a_text_that_is_too_long_is_an_error_and_not_a_miss() -> None:
    with pytest.raises(PatternError) as caught:
        Pattern("a").search("b" * (LONGEST_TEXT + 1))
    assert caught.value.kind == "too_large"


def test_what_is_remembered_stays_small() -> None:
    pattern = Pattern("[^x]y")
    for start in range(0x4E00, 0x9000, 0x400):
        pattern.search("".join(map(chr, range(start, start + 0x400))) * 2)
    assert pattern._kept <= MOST_KEPT + 10
    assert pattern.search("zy")


def test_the_same_pattern_is_compiled_once() -> None:
    assert compile_pattern("abc") is compile_pattern("abc")
