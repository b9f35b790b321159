"""Undoing content encodings piece by piece, so that a small body cannot unpack into a large one."""

from __future__ import annotations

import zlib

from viva.wire.message import WireError

PIECE_BYTES = 65_536
ACCEPTED = "gzip, deflate"
"""What we offer. Other encodings are refused: their libraries cannot all be stopped half-way."""


class Inflater:
    """Unpacks gzip or deflate, and stops when more than the ceiling came out."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        if encoding not in ("gzip", "x-gzip", "deflate"):
            raise WireError("malformed", f"the content encoding {encoding!r} was not offered", delivered=True)
        self._raw_deflate_possible = encoding == "deflate"
        self._unpacker = zlib.decompressobj(wbits=31 if encoding != "deflate" else 15)
        self._left = max_bytes
        self._fed = False
        self._max_bytes = max_bytes

    def feed(self, packed: bytes) -> bytes:
        """Unpack what has arrived. Raises WireError past the ceiling and for what is no valid stream."""
        try:
            return self._feed(packed)
        except zlib.error as error:
            raise WireError("malformed", f"the body is not what its encoding says: {error}", delivered=True) from error

    def end(self) -> None:
        """The body is over. Raises WireError when its packed stream is not."""
        if self._fed and not self._unpacker.eof:
            raise WireError("malformed", "the packed body ends too early", delivered=True)

    def _feed(self, packed: bytes) -> bytes:
        pieces: list[bytes] = []
        self._fed = True
        self._choose_deflate_flavour(packed)
        while packed and not self._unpacker.eof:
            piece = self._unpacker.decompress(packed, PIECE_BYTES)
            packed = self._unpacker.unconsumed_tail
            self._left -= len(piece)
            if self._left < 0:
                raise too_large(self._max_bytes)
            pieces.append(piece)
        return b"".join(pieces)

    def _choose_deflate_flavour(self, packed: bytes) -> None:
        # Servers send "deflate" with and without the zlib header; only the first byte tells.
        if self._raw_deflate_possible and packed:
            if packed[0] & 0x0F != 8:
                self._unpacker = zlib.decompressobj(wbits=-15)
            self._raw_deflate_possible = False


def too_large(max_bytes: int) -> WireError:
    """The error for a body past its ceiling."""
    return WireError("too_large", f"the body is larger than the limit of {max_bytes:,} bytes", delivered=True)
