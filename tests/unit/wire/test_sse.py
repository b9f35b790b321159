"""Server-sent events, however the bytes are cut."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from viva.wire.sse import SseEvent, SseParser

STREAM = (
    "\ufeff: a comment\nevent: delta\ndata: one\ndata: two\n\ndata:three\n\nid: 7\nretry: 5\n\ndata: é\r\n\r\ndata\n\n"
).encode()
EVENTS = [
    SseEvent("delta", "one\ntwo"),
    SseEvent("message", "three"),
    SseEvent("message", "é"),
    SseEvent("message", ""),
]


def parse(pieces: list[bytes]) -> list[SseEvent]:
    parser = SseParser()
    return [event for piece in pieces for event in parser.feed(piece)] + parser.end()


def test_fields_comments_and_several_data_lines() -> None:
    assert parse([STREAM]) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12), st.sampled_from([b"\n", b"\r\n", b"\r"]))
def test_events_do_not_depend_on_how_the_bytes_are_cut(cuts: list[int], line_end: bytes) -> None:
    stream = STREAM.replace(b"\r\n", b"\n").replace(b"\n", line_end)
    places = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]
    assert parse([stream[a:b] for a, b in itertools.pairwise(places)]) == EVENTS


def test_an_event_without_its_closing_blank_line_still_counts() -> None:
    assert parse([b"data: last"]) == [SseEvent("message", "last")]


def test_invalid_bytes_are_kept_as_escapes() -> None:
    assert parse([b"data: \xff\n\n"]) == [SseEvent("message", "\\xff")]


def test_a_very_long_line_in_small_pieces_takes_linear_time() -> None:
    assert len(parse([b"data: ", *[b"x" * 10] * 200_000, b"\n\n"])[0].data) == 2_000_000
