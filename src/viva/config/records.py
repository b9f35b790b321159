"""Records out of files (JSONL, CSV, YAML lists), one at a time, each with its line; a bad one hides none."""

from __future__ import annotations

import codecs
import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec

from viva.config.files import read_bytes
from viva.config.tree import MOST_DEPTH, plain
from viva.config.yaml import MOST_BYTES, read_yaml
from viva.core.errors import SuiteError

MOST_LINE_BYTES = 10_000_000
DELIMITERS = ",;\t|"
_SAMPLE_BYTES = 65_536

BY_ENDING = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".tsv": "csv",
    ".yml": "yaml",
    ".yaml": "yaml",
    ".json": "yaml",
}


class Record(NamedTuple):
    """One record, or why there is none on that line."""

    line: int
    data: dict[str, Any]
    problem: str = ""


def read_records(path: Path, file: str, format: str, delimiter: str | None = None) -> Iterator[Record]:
    """Read the records of a file; `file` is its name in messages. Raises SuiteError for a file that is hopeless."""
    try:
        match format:
            case "jsonl":
                yield from _jsonl(path, file)
            case "csv":
                yield from _csv(path, file, delimiter)
            case _:
                yield from _yaml(path, file)
    except OSError as error:
        raise SuiteError(f"cannot be read: {error.strerror or error}", where=file) from error


def _jsonl(path: Path, file: str) -> Iterator[Record]:
    with path.open("rb") as source:
        _refuse_utf16(source, file)
        for number, line in _lines(source):
            if line is None:
                yield Record(number, {}, f"a line of more than {MOST_LINE_BYTES:,} bytes")
            elif line.strip():
                yield _json_record(number, line)


def _json_record(number: int, line: bytes) -> Record:
    try:
        data = msgspec.json.decode(line)
    except UnicodeDecodeError as error:
        return Record(number, {}, f"not UTF-8: {error.reason}")
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return Record(number, {}, f"not JSON: {error}")
    if not isinstance(data, dict):
        return Record(number, {}, "not a JSON object")
    if line.count(b"[") + line.count(b"{") > MOST_DEPTH and _depth(data) > MOST_DEPTH:
        return Record(number, {}, f"nested deeper than {MOST_DEPTH} levels")
    return Record(number, data)


def _lines(source: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """Lines with their numbers; None for one too long to hold, which is read past and not kept."""
    number = 0
    while line := source.readline(MOST_LINE_BYTES + 1):
        number += 1
        if len(line) <= MOST_LINE_BYTES:
            yield number, line.removeprefix(codecs.BOM_UTF8) if number == 1 else line
            continue
        while line and not line.endswith(b"\n"):
            line = source.readline(1_000_000)
        yield number, None


def _csv(path: Path, file: str, delimiter: str | None) -> Iterator[Record]:
    # A process-wide setting of the csv module; cells may be as long as our lines.
    csv.field_size_limit(max(csv.field_size_limit(), MOST_LINE_BYTES))
    with path.open("rb") as source:
        _refuse_utf16(source, file)
        feed = _CsvLines(source)
        rows = csv.reader(feed, delimiter=delimiter or _sniff(source), strict=True)
        header: list[str] = []
        while True:
            record = _csv_record(rows, feed, header)
            if record is None:
                return
            if header or record.problem:
                yield record
            else:
                header = _header(record.data["header"], record.line, file)


def _csv_record(rows: Any, feed: _CsvLines, header: list[str]) -> Record | None:
    """The next row that is not blank; before there is a header, as it stands."""
    while True:
        line = feed.number + 1
        try:
            row = next(rows, None)
        except (csv.Error, _BadLineError) as error:
            return Record(feed.number if isinstance(error, _BadLineError) else line, {}, str(error))
        if row is None:
            return None
        if not row:
            continue
        if not header:
            return Record(line, {"header": row})
        if len(row) != len(header):
            return Record(line, {}, f"{len(row)} cells; the header has {len(header)}")
        return Record(line, dict(zip(header, row, strict=True)))


def _header(cells: list[str], line: int, file: str) -> list[str]:
    names = [cell.strip() for cell in cells]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise SuiteError(f"the column {repeated[0]!r} is there twice", where=f"{file}:{line}")
    return names


class _BadLineError(Exception):
    """A line that cannot be part of any record."""


class _CsvLines:
    """Feeds the csv module; unlike a generator it goes on after a bad line."""

    def __init__(self, source: BinaryIO) -> None:
        self._lines = _lines(source)
        self.number = 0

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        self.number, line = next(self._lines)
        if line is None:
            raise _BadLineError(f"a line of more than {MOST_LINE_BYTES:,} bytes")
        if b"\0" in line:
            raise _BadLineError("a NUL character")
        try:
            return line.decode()
        except UnicodeDecodeError as error:
            raise _BadLineError(f"not UTF-8: {error.reason}") from error


def _sniff(source: BinaryIO) -> str:
    """The delimiter that splits the first rows most evenly."""
    sample = source.read(_SAMPLE_BYTES).decode("utf-8", "replace")
    source.seek(0)
    lines = sample.splitlines(keepends=True)
    if len(sample) >= _SAMPLE_BYTES // 4:
        lines = lines[:-1] or lines  # The last one may be cut.
    return max(DELIMITERS, key=lambda delimiter: _evenness(lines, delimiter))


def _evenness(lines: list[str], delimiter: str) -> tuple[bool, float, int]:
    rows: list[list[str]] = []
    try:
        for row in csv.reader(lines, delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == 20:
                break
    except csv.Error:
        return (False, 0.0, 0)
    width = len(rows[0]) if rows else 0
    even = sum(len(row) == width for row in rows) / len(rows) if rows else 0.0
    return (width > 1, even, width)


def _yaml(path: Path, file: str) -> Iterator[Record]:
    root = read_yaml(read_bytes(path, most_bytes=MOST_BYTES, shown=file), file)
    if not isinstance(root.value, list):
        raise SuiteError("a YAML data set is a list of records", where=root.where)
    for item in root.value:
        if isinstance(item.value, dict):
            yield Record(item.line, plain(item))
        else:
            yield Record(item.line, {}, "not a mapping")


def _refuse_utf16(source: BinaryIO, file: str) -> None:
    start = source.read(2)
    source.seek(0)
    if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        raise SuiteError("this is UTF-16", hint="save the file as UTF-8", where=f"{file}:1")


def _depth(data: Any) -> int:
    """Levels of nesting, without recursion."""
    depth, level = 0, [data]
    while level:
        depth += 1
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
        ]
    return depth - 1
