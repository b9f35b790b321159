"""What a graph driver returns, as plain data."""

from __future__ import annotations

from typing import Any


def plain(value: Any) -> Any:
    """Turn nodes, relationships, paths, dates and points into dicts, lists, texts and numbers."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    if hasattr(value, "labels") and hasattr(value, "items"):
        return {"labels": sorted(value.labels), "properties": {k: plain(v) for k, v in value.items()}}
    if hasattr(value, "nodes") and hasattr(value, "relationships") and not hasattr(value, "items"):
        return {"nodes": plain(list(value.nodes)), "relationships": plain(list(value.relationships))}
    if hasattr(value, "type") and hasattr(value, "items"):
        return {"type": value.type, "properties": {k: plain(v) for k, v in value.items()}}
    if hasattr(value, "iso_format"):
        return value.iso_format()
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    return str(value)
