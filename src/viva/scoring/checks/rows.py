"""What a query returned against what was expected: one value, one row, or a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import UNSET

from viva.core.data import Data
from viva.core.text import shorten

Row = Mapping[str, Any]
Finding = tuple[bool, str]
"""Whether it is as expected, and a readable reason either way."""


class RowsSettings(Data, frozen=True):
    """What the rows should be; exactly one of the expectations is given."""

    expected: Any = UNSET
    """One value: the query returns one row with one column. `null` is a value too."""
    row: dict[str, Any] | None = None
    """One row, by column."""
    table: tuple[dict[str, Any], ...] | None = None
    """All rows; in any order unless `ordered`."""
    ordered: bool = False
    at_least: float | None = None
    at_most: float | None = None
    empty: bool | None = None


def compare(rows: Sequence[Row], wanted: RowsSettings) -> Finding:
    """Compare what came back with what was expected."""
    if wanted.empty is not None:
        return bool(rows) != wanted.empty, f"{len(rows)} rows"
    if wanted.table is not None:
        return _table(rows, wanted.table, wanted.ordered)
    if wanted.row is not None:
        if len(rows) != 1:
            return False, f"expected one row, got {_described(rows)}"
        return _table(rows, (wanted.row,), True)
    return _value(rows, wanted)


def same(seen: Any, wanted: Any) -> bool:
    """Equal as a person means it: 1, 1.0 and "1" are one number, true and "true" one truth; 1 is not true."""
    if seen is None or wanted is None:
        return seen is None and wanted is None
    if isinstance(seen, bool) or isinstance(wanted, bool):
        return _truth(seen) is not None and _truth(seen) is _truth(wanted)
    if isinstance(seen, Mapping) and isinstance(wanted, Mapping):
        return seen.keys() == wanted.keys() and all(same(seen[key], wanted[key]) for key in seen)
    if isinstance(seen, list | tuple) and isinstance(wanted, list | tuple):
        return len(seen) == len(wanted) and all(map(same, seen, wanted))
    if isinstance(seen, int | float) or isinstance(wanted, int | float):
        left, right = _number(seen), _number(wanted)
        return left is not None and left == right
    return bool(seen == wanted)


def _value(rows: Sequence[Row], wanted: RowsSettings) -> Finding:
    if len(rows) != 1 or len(rows[0]) != 1:
        return False, f"expected one value, got {_described(rows)}"
    seen = next(iter(rows[0].values()))
    if wanted.at_least is not None or wanted.at_most is not None:
        number = _number(seen)
        low, high = wanted.at_least, wanted.at_most
        inside = number is not None and (low is None or number >= low) and (high is None or number <= high)
        limits = " and ".join(
            f"{word} {limit:g}" for word, limit in (("at least", low), ("at most", high)) if limit is not None
        )
        return inside, f"expected {limits}, got {seen!r}"
    return same(seen, wanted.expected), f"expected {wanted.expected!r}, got {seen!r}"


def _table(rows: Sequence[Row], wanted: Sequence[Row], ordered: bool) -> Finding:
    missing, extra = list(wanted), list(rows)
    if ordered and len(missing) == len(extra) and all(map(same, extra, missing)):
        return True, f"{len(rows)} rows as expected"
    for row in [] if ordered else list(missing):
        match = next((found for found in extra if same(found, row)), None)
        if match is not None:
            missing.remove(row)
            extra.remove(match)
    if not missing and not extra:
        return True, f"{len(rows)} rows as expected"
    lines = [f"- {_written(row)}" for row in missing[:5]] + [f"+ {_written(row)}" for row in extra[:5]]
    return False, "expected (-) and found (+) differ:\n" + "\n".join(lines)


def _described(rows: Sequence[Row]) -> str:
    if not rows:
        return "no rows"
    columns = len(rows[0])
    return f"{len(rows)} row{'s' * (len(rows) > 1)} of {columns} column{'s' * (columns > 1)}: {_written(rows[0])}"


def _written(row: Row) -> str:
    return shorten(", ".join(f"{key}: {value!r}" for key, value in row.items()), 200)


def _truth(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    return {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
