"""What is written: JSON that can be read back, with secrets masked, and large bodies kept apart under their hash."""

from __future__ import annotations

import hashlib
import zlib
from functools import cache
from typing import Any, NamedTuple, TypeVar

import msgspec

from viva.core.case import Case
from viva.core.data import Data, to_json, to_plain
from viva.core.errors import StoreError
from viva.core.evidence import Evidence
from viva.core.run import Run
from viva.core.score import AnyScore, TrialResult
from viva.core.secret import redactor
from viva.core.text import storable_data

T = TypeVar("T")

INLINE_BYTES = 32_768
"""Larger bodies are kept apart, so that a scan of the rows does not read them."""
_WORTH_PRESSING_BYTES = 1_024
_PLAIN, _ZLIB = 0, 1

RUN = msgspec.json.Decoder(Run)
CASE = msgspec.json.Decoder(Case)
EVIDENCE = msgspec.json.Decoder(Evidence)
RESULT = msgspec.json.Decoder(TrialResult)
SCORES = msgspec.json.Decoder(list[AnyScore])


class Body(NamedTuple):
    """A body kept apart, under the hash of its content."""

    hash: bytes
    raw: bytes


class Row(NamedTuple):
    """A body as `bodies` holds it."""

    hash: bytes
    encoding: int
    size: int
    body: bytes


def seal(value: Any, decoder: msgspec.json.Decoder[T], what: str) -> bytes:
    """Write a value as masked JSON, and prove that it can be read back before anyone is told that it is kept."""
    try:
        raw = sealed(value)
        decoder.decode(raw)
    except (msgspec.MsgspecError, TypeError, ValueError, RecursionError, OverflowError) as cause:
        raise StoreError(
            f"{what} cannot be stored: {cause}",
            kind="unstorable",
            hint="only plain JSON data of the declared types can be kept",
        ) from cause
    return raw


def sealed(value: Any) -> bytes:
    """Write a value as JSON, with secrets masked and lone surrogates escaped."""
    return _masked(_encoded(value))


def hash_of(raw: bytes) -> bytes:
    """The name of a body."""
    return hashlib.sha256(raw).digest()[:16]


def apart(raw: bytes) -> Body | None:
    """A body that is too large for its row; None when it stays there."""
    return Body(hash_of(raw), raw) if len(raw) > INLINE_BYTES else None


def pack(body: Body) -> Row:
    """Press a body where that pays."""
    raw = body.raw
    if len(raw) >= _WORTH_PRESSING_BYTES:
        pressed = zlib.compress(raw, 1)
        if len(pressed) < len(raw) * 0.9:
            return Row(body.hash, _ZLIB, len(raw), pressed)
    return Row(body.hash, _PLAIN, len(raw), raw)


def unpack(encoding: int, body: bytes) -> bytes:
    """The body as it was."""
    return zlib.decompress(body) if encoding == _ZLIB else body


def _encoded(value: Any) -> bytes:
    try:
        return to_json(value)
    except UnicodeEncodeError:  # A lone surrogate somewhere; rare enough to walk the whole value for.
        return to_json(storable_data(to_plain(value)))


def _masked(raw: bytes) -> bytes:
    counted = redactor.count
    if redactor.raw(raw) == raw:
        return raw
    # Masking bytes could hit a number or a field's name (a secret of digits, a password "transcript") and leave
    # JSON that nobody can read. So once there is something to mask, only texts are masked.
    redactor.count = counted
    return to_json(_masked_texts(msgspec.json.decode(raw)))


def _masked_texts(value: Any) -> Any:
    if isinstance(value, str):
        return redactor.text(value)
    if isinstance(value, list):
        return [_masked_texts(item) for item in value]
    if isinstance(value, dict):
        return {_masked_key(key): _masked_texts(item) for key, item in value.items()}
    return value


def _masked_key(key: str) -> str:
    return key if key in _field_names() else redactor.text(key)


@cache
def _field_names() -> frozenset[str]:
    names = {"is"}
    kinds: list[type[Data]] = [Data]
    while kinds:
        kind = kinds.pop()
        names.update(kind.__struct_fields__)
        kinds.extend(kind.__subclasses__())
    return frozenset(names)
