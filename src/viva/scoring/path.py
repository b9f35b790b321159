"""Dotted paths into data: `a.b[0].c`, `a.b.0.c`, `a["x.y"]`. Parsed once; a missing field says what there is."""

from __future__ import annotations

import json
import re
from typing import Any

from viva.core.errors import SuiteError
from viva.expressions.errors import name_the_known
from viva.scoring.reading import AbsentError

Path = tuple[str | int, ...]

LISTS = (list, tuple)
LONGEST_PATH = 500
_PART = re.compile(
    r"""\.?(?P<name>[^.\[\]"']+)
      | \[(?P<index>-?[0-9]{1,9})\]
      | \[(?P<quoted>"(?:[^"\\]|\\.)*")\]""",
    re.VERBOSE,
)


def parse_path(text: str) -> Path:
    """Read a path; '' and '.' mean the whole. Raises SuiteError with the column of what cannot be read."""
    if len(text) > LONGEST_PATH:
        raise SuiteError(f"a path has at most {LONGEST_PATH} characters")
    parts: list[str | int] = []
    at = 0
    while at < len(text) and text != ".":
        found = _PART.match(text, at)
        if found is None:
            raise SuiteError(
                f"the path {text!r} cannot be read from column {at + 1}", hint='write it like a.b[0].c or a["x.y"]'
            )
        parts.append(_part(found))
        at = found.end()
    return tuple(parts)


def _part(found: re.Match[str]) -> str | int:
    if found["index"] is not None:
        return int(found["index"])
    if found["quoted"] is not None:
        return str(json.loads(found["quoted"]))
    return found["name"]


def follow(data: Any, path: Path) -> Any:
    """The value at a path. Raises AbsentError that names the place where it ends, and what there is instead."""
    value = data
    for depth, part in enumerate(path):
        if isinstance(value, dict):
            key = part if type(part) is str else str(part)
            if key not in value:
                raise _no_field(value, path, depth)
            value = value[key]
        elif isinstance(value, LISTS):
            value = _item(value, path, depth)
        else:
            kind = "null" if value is None else type(value).__name__
            raise AbsentError(f"field {_written(path)!r} is missing: {_written(path[:depth])!r} is {kind}, not a map")
    return value


def _item(items: Any, path: Path, depth: int) -> Any:
    part = path[depth]
    try:
        return items[int(part)]
    except ValueError:
        place = _written(path[:depth]) or "the reply"
        raise AbsentError(f"field {_written(path)!r} is missing: {place!r} is a list; use an index") from None
    except IndexError:
        raise AbsentError(f"field {_written(path)!r} is missing: the list has {len(items)} items") from None


def _no_field(value: dict[str, Any], path: Path, depth: int) -> AbsentError:
    named = name_the_known(f"'{path[depth]}'", value)
    inside = f" in {_written(path[:depth])!r}" if depth else ""
    return AbsentError(f"field {_written(path)!r} is missing{inside}; {named}")


def _written(path: Path) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).removeprefix(".")
