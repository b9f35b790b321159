"""Server-sent events, cut out of a byte stream as it arrives."""

from __future__ import annotations

import codecs

import msgspec


class SseEvent(msgspec.Struct, frozen=True):
    """One event: its type (`message` where the server gives none) and its data."""

    event: str
    data: str


class SseParser:
    """Turns bytes into events; line ends may be LF, CR or CR LF, and fall anywhere between two pieces."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._data: list[str] = []
        self._event = ""
        self._skip_lf = False
        self._at_start = True

    def feed(self, piece: bytes) -> list[SseEvent]:
        """Take in bytes; return the events they complete."""
        if self._skip_lf and piece:
            piece = piece.removeprefix(b"\n")
            self._skip_lf = False
        events: list[SseEvent] = []
        lines = self._cut(piece) if b"\r" in piece else piece.split(b"\n")
        # Pieces of an unfinished line are kept apart until it ends: joining each time would be quadratic.
        self._partial.append(lines[0])
        for line in lines[1:]:
            self._end_line(events)
            self._partial = [line]
        return events

    def end(self) -> list[SseEvent]:
        """The stream is over: an event whose closing blank line never came still counts when it has data."""
        events: list[SseEvent] = []
        if self._partial:
            self._end_line(events)
        self._dispatch(events)
        return events

    def _cut(self, piece: bytes) -> list[bytes]:
        self._skip_lf = piece.endswith(b"\r")
        return piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")

    def _end_line(self, events: list[SseEvent]) -> None:
        raw = b"".join(self._partial)
        self._partial = []
        if self._at_start:
            raw = raw.removeprefix(codecs.BOM_UTF8)
            self._at_start = False
        if not raw:
            self._dispatch(events)
            return
        field, _, value = raw.decode("utf-8", "backslashreplace").partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._event = value

    def _dispatch(self, events: list[SseEvent]) -> None:
        if self._data:
            events.append(SseEvent(self._event or "message", "\n".join(self._data)))
        self._data = []
        self._event = ""
