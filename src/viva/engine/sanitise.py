"""Evidence that cannot be written as it is: keep everything that can be, and say what was changed."""

from __future__ import annotations

from typing import Any

import msgspec

from viva.core.data import replace, to_json
from viva.core.evidence import Ending, Evidence
from viva.core.score import AnyScore, Score
from viva.core.text import storable
from viva.core.transcript import Transcript

DEEPEST = 100


def storable_evidence(evidence: Evidence, error: Exception) -> Evidence:
    """A copy that can be written: foreign objects become their text, lone surrogates are escaped."""
    note = {"unstorable": f"{type(error).__name__}: {error}"}
    try:
        plain = plain_data(msgspec.to_builtins(evidence, enc_hook=repr))
        plain["notes"] = {**plain.get("notes", {}), **note}
        copy = msgspec.convert(plain, Evidence)
        to_json(copy)
        return copy
    except Exception:
        ending = Ending(kind="malformed", ok=False, by="agent", because=note["unstorable"])
        return replace(evidence, transcript=Transcript(), output=None, state={}, before={}, notes=note, ending=ending)


def storable_scores(scores: list[AnyScore]) -> list[AnyScore]:
    """The same numbers, with what cannot be written of their details turned into text."""
    return [replace(score, detail=plain_data(score.detail)) if isinstance(score, Score) else score for score in scores]


def plain_data(value: Any, depth: int = 0) -> Any:
    """Plain JSON data of anything, without depth beyond reason."""
    if depth > DEEPEST:
        return "…"
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): plain_data(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain_data(item, depth + 1) for item in value]
    return value if value is None or isinstance(value, bool | int | float) else storable(repr(value))
