"""The schemas of the judge's replies: they hold what the judge may decide and nothing else.

A schema is the same for all calls with the same menu, so that providers that compile schemas do so once; that the
reply carries the id of its call is checked when it is read.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any


@functools.lru_cache(maxsize=1024)
def answer_schema(menu: tuple[str, ...]) -> dict[str, Any]:
    """For a question about one thing: the reason, then one entry of the menu."""
    return _object({"id": _TEXT, "reason": _TEXT, "answer": {"type": "string", "enum": list(menu)}})


def answers_schema(menus: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    """For a question about several things: one entry for each."""
    entries = list(dict.fromkeys(entry for menu in menus.values() for entry in menu))
    item = _object(
        {
            "criterion": {"type": "string", "enum": list(menus)},
            "reason": _TEXT,
            "answer": {"type": "string", "enum": entries},
        }
    )
    return _object({"id": _TEXT, "verdicts": {"type": "array", "items": item}})


@functools.lru_cache(maxsize=16)
def claims_schema() -> dict[str, Any]:
    """For taking a text apart into claims."""
    return _object({"id": _TEXT, "claims": {"type": "array", "items": _TEXT}})


@functools.lru_cache(maxsize=16)
def confident_schema(menu: tuple[str, ...]) -> dict[str, Any]:
    """For an answer with the confidence in it, as a whole percentage."""
    answer = {"type": "string", "enum": list(menu)}
    confidence = {"type": "integer", "enum": list(range(0, 101, 5))}
    return _object({"id": _TEXT, "reason": _TEXT, "answer": answer, "confidence": confidence})


_TEXT = {"type": "string"}


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
