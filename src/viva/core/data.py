"""The one base class of everything that is stored or sent: frozen, compact, JSON in and out."""

from __future__ import annotations

import hashlib
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")


class Data(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A frozen value; new ones are made with `replace`, never by edits."""


_encoder = msgspec.json.Encoder()
_sorted_encoder = msgspec.json.Encoder(order="sorted")


def to_json(value: Any) -> bytes:
    """Write a value as compact JSON."""
    return _encoder.encode(value)


def from_json(raw: bytes | str, kind: type[T]) -> T:
    """Read a value of a known type back from JSON."""
    return msgspec.json.decode(raw, type=kind)


def to_plain(value: Any) -> Any:
    """Turn frozen data into plain dicts, lists and scalars."""
    return msgspec.to_builtins(value)


def content_hash(value: Any) -> str:
    """Name a value by its content: equal content, equal hash, on every machine."""
    return hashlib.sha256(_sorted_encoder.encode(value)).hexdigest()[:16]


replace = msgspec.structs.replace
