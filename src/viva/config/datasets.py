"""Cases drawn from a file of records, with a mapping from columns to the keys of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Any

from viva.config.cases import CaseMaker, as_tags
from viva.config.context import Context
from viva.config.keys import DatasetKeys
from viva.config.record_rules import MAPPED_KEYS, RECORD_KEYS, REFUSED_KEYS, check_columns, check_values
from viva.config.records import BY_ENDING, Record, read_records
from viva.config.tree import Node
from viva.core.case import Case
from viva.core.errors import SuiteError
from viva.registry import suggest

TARGETS = (*sorted(RECORD_KEYS), *sorted(MAPPED_KEYS), "metadata.NAME")
"""What a column can be mapped to."""
_LISTS = ("facts", "tags")
_MISSING = object()

Pick = Callable[[dict[str, Any]], Any]


class _LackingError(Exception):
    """A record has no such column."""


def read_dataset(keys: DatasetKeys, node: Node, maker: CaseMaker, context: Context) -> Iterator[Case]:
    """Read the cases of a data set, one record at a time. Raises SuiteError with the file and line."""
    path = context.file(keys.file, node.value["file"].where)
    format = keys.format or _format(keys.file, node)
    rows = _Rows(keys, _picks(keys, node), maker, context)
    found = 0
    for record in read_records(path, keys.file, format, keys.delimiter):
        case = rows.case(record)
        if case is None:
            continue
        yield case
        found += 1
        if found == keys.limit:
            break
    if not found:
        raise SuiteError(f"{keys.file} holds no usable record", where=node.value["file"].where)


class _Rows:
    """Turns records into cases, by the data set's policy for bad ones."""

    def __init__(self, keys: DatasetKeys, picks: dict[str, Pick], maker: CaseMaker, context: Context) -> None:
        self._keys = keys
        self._picks = picks
        self._maker = maker
        self._warn = context.warn
        self._tags = as_tags(keys.tags)

    def case(self, record: Record) -> Case | None:
        """The case of a record; None for a bad one that is skipped."""
        problem = record.problem
        if not problem:
            try:
                values = _pick(record.data, self._picks) if self._picks else _as_is(record.data)
                check_values(values)
                return self._maker.row(values, self._keys.file, record.line, self._tags)
            except _LackingError as error:
                problem = str(error)
            except SuiteError as error:
                if not self._keys.skip_bad:
                    error.where = error.where or f"{self._keys.file}:{record.line}"
                    raise
                problem = error.message
        where = f"{self._keys.file}:{record.line}"
        if not self._keys.skip_bad:
            hint = "repair the line, or set `skip_bad: true` to go on without it"
            raise SuiteError(problem, hint=hint, where=where)
        self._warn(f"{where}: {problem}; skipped")
        return None


def _format(file: str, node: Node) -> str:
    ending = PurePosixPath(file).suffix.lower()
    if ending in BY_ENDING:
        return BY_ENDING[ending]
    hint = "add `format: jsonl`, `csv` or `yaml`"
    raise SuiteError(f"{file!r} does not say what it is", hint=hint, where=node.value["file"].where)


def _as_is(record: dict[str, Any]) -> dict[str, Any]:
    """Columns called like keys of a case that are data are those; the rest is metadata."""
    check_columns(record)
    values = {key: _listed(key, value) for key, value in record.items() if key in RECORD_KEYS}
    rest = {key: value for key, value in record.items() if key not in RECORD_KEYS and key not in REFUSED_KEYS}
    if rest:
        own = values.get("metadata")
        values["metadata"] = {**(own if isinstance(own, dict) else {}), **rest}
    return values


def _pick(record: dict[str, Any], picks: dict[str, Pick]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for target, pick in picks.items():
        value = pick(record)
        if target.startswith("metadata."):
            values.setdefault("metadata", {})[target.removeprefix("metadata.")] = value
        elif value is not None:
            values[target] = _listed(target, value)
    return values


def _listed(key: str, value: Any) -> Any:
    """A cell holds text where a list is meant: one item, or none."""
    if key in _LISTS and isinstance(value, str):
        return [value] if value else []
    return value


def _picks(keys: DatasetKeys, node: Node) -> dict[str, Pick]:
    picks = {}
    for target, source in keys.map.items():
        where = node.value["map"].value[target].key_where
        if target not in TARGETS and not target.startswith("metadata."):
            raise _no_target(target, where)
        picks[target] = _source(source, where)
    return picks


def _no_target(target: str, where: str) -> SuiteError:
    hint = suggest(target, TARGETS)
    if target in REFUSED_KEYS:
        message = f"a column cannot be {target!r}: a data set is data"
        return SuiteError(message, kind="not_allowed", hint=f"write it in the suite; {hint}", where=where)
    return SuiteError(f"a column cannot be mapped to {target!r}", hint=hint, where=where)


def _source(source: Any, where: str) -> Pick:
    """A column (`question`, `meta.level`, `solution?` where it may be absent), or a mapping of several."""
    if isinstance(source, dict):
        parts = {key: _source(item, where) for key, item in source.items()}
        return lambda record: {key: pick(record) for key, pick in parts.items()}
    if not isinstance(source, str) or not source:
        raise SuiteError("a column is named by text", hint="`input: question`", where=where)
    optional, name = source.endswith("?"), source.removesuffix("?")
    steps = tuple(name.split("."))
    return lambda record: _column(record, name, steps, optional)


def _column(record: dict[str, Any], name: str, steps: tuple[str, ...], optional: bool) -> Any:
    value = record[name] if name in record else _walk(record, steps)
    if optional:
        return None if value is _MISSING or value == "" else value
    if value is _MISSING:
        raise _LackingError(f"there is no {name!r} in this record ({suggest(name, record)})")
    return value


def _walk(value: Any, steps: tuple[str, ...]) -> Any:
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return _MISSING
    return value
