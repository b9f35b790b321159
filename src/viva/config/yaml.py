"""YAML from strangers: events in, a located tree out, with hard limits and no surprises.

YAML is read event by event, so that a bomb is refused before anything is built from it. Scalars follow YAML 1.2:
`no`, `on`, `001`, `12:30` and `1_000` are text. Tags never build objects, keys are text and never repeat.
"""

from __future__ import annotations

import codecs
import math
import re
from typing import Any, Protocol

import yaml

from viva.config.tree import MOST_DEPTH, Node
from viva.core.errors import SuiteError


class PlainParser(yaml.reader.Reader, yaml.scanner.Scanner, yaml.parser.Parser):
    """The same events where PyYAML was built without libyaml, only slower."""

    def __init__(self, stream: bytes) -> None:
        yaml.reader.Reader.__init__(self, stream)
        yaml.scanner.Scanner.__init__(self)
        yaml.parser.Parser.__init__(self)


try:
    from yaml._yaml import CParser as _Parser
except ImportError:
    _Parser = PlainParser  # type: ignore[assignment, misc]

MOST_BYTES = 10_000_000
MOST_NODES = 2_000_000

_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,299})\Z")
_BASED = {"0x": (re.compile(r"0x[0-9a-fA-F]{1,64}\Z"), 16), "0o": (re.compile(r"0o[0-7]{1,64}\Z"), 8)}
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)\Z|\.(?:nan|NaN|NAN)\Z")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None} | dict.fromkeys(
    ("true", "True", "TRUE"), True
)
_WORDS |= dict.fromkeys(("false", "False", "FALSE"), False)
_CORE = "tag:yaml.org,2002:"
_SCALAR_TAGS = {f"{_CORE}{name}" for name in ("str", "int", "float", "bool", "null")}
_UNUSABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Position(Protocol):
    """Where an event begins."""

    line: int
    column: int


def read_yaml(raw: bytes | str, file: str) -> Node:
    """Read one document. Raises SuiteError with file and line, and nothing else."""
    text = _decode(raw, file)
    try:
        return _Builder(file).build(_Parser(text.encode()))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        last = len(text.splitlines()) or 1  # At the end of a file, libyaml names the line after it.
        line = min(mark.line + 1, last) if mark else 1
        raise SuiteError(f"this is not valid YAML: {error.problem or error.context}", where=f"{file}:{line}") from error
    except (yaml.YAMLError, ValueError) as error:
        raise SuiteError(f"this is not valid YAML: {' '.join(str(error).split())}", where=f"{file}:1") from error


def _decode(raw: bytes | str, file: str) -> str:
    if len(raw) > MOST_BYTES:
        raise SuiteError(
            f"{len(raw):,} bytes; the limit is {MOST_BYTES:,}",
            hint="put the cases in a data set file",
            where=f"{file}:1",
        )
    text = (raw if isinstance(raw, str) else decode_utf8(raw, file)).removeprefix("\ufeff")
    found = _UNUSABLE.search(text)
    if found:
        name = "a NUL character" if found.group() == "\0" else f"the control character U+{ord(found.group()):04X}"
        raise SuiteError(f"{name} cannot stand in YAML", where=f"{file}:{line_of(text, found.start())}")
    return text


def decode_utf8(raw: bytes, file: str) -> str:
    """Decode UTF-8, with or without its byte order mark; say so when it is something else."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise SuiteError("this is UTF-16", hint="save the file as UTF-8", where=f"{file}:1")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        detail = f"byte 0x{raw[error.start]:02x} is not UTF-8"
        raise SuiteError(detail, hint="save the file as UTF-8", where=f"{file}:{line}") from error


def line_of(text: str, position: int) -> int:
    """The line a character stands on, counted from 1."""
    return text.count("\n", 0, position) + 1


class _Builder:
    """Puts events together without recursion; one frame for each list or mapping that is still open."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.nodes = 0
        self.open: list[_Frame] = []

    def build(self, parser: Any) -> Node:
        root: Node | None = None
        documents = 0
        while True:
            event = parser.get_event()
            kind = type(event)
            if kind is yaml.ScalarEvent:
                node = self._scalar(event)
            elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                self._begin(event, kind is yaml.MappingStartEvent)
                continue
            elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                node = self.open.pop().node
            elif kind is yaml.AliasEvent:
                raise self._refuse(f"the alias *{event.anchor} is not allowed", event.start_mark, "write the value out")
            elif kind is yaml.DocumentStartEvent:
                documents += 1
                if documents > 1:
                    raise self._refuse("a second document begins here", event.start_mark, "one suite, one file")
                continue
            elif kind is yaml.StreamEndEvent:
                return root or Node(None, self.file, 1, 1)
            else:
                continue
            if self.open:
                self._put(node)
            else:
                root = node

    def _begin(self, event: Any, is_mapping: bool) -> None:
        mark = event.start_mark
        tag = f"{_CORE}map" if is_mapping else f"{_CORE}seq"
        if event.tag is not None and event.tag not in (tag, "!"):
            raise self._refuse_tag(event)
        self._refuse_anchor(event)
        if len(self.open) >= MOST_DEPTH:
            raise self._refuse(f"nested deeper than {MOST_DEPTH} levels", mark)
        node = Node({} if is_mapping else [], self.file, mark.line + 1, mark.column + 1)
        self._count(node)
        self.open.append(_Frame(node))

    def _put(self, node: Node) -> None:
        frame = self.open[-1]
        content = frame.node.value
        if type(content) is list:
            content.append(node)
        elif frame.key is None:
            frame.key, frame.key_line = self._key(node, content)
        else:
            node.key_line = frame.key_line
            content[frame.key] = node
            frame.key = None

    def _key(self, node: Node, content: dict[str, Node]) -> tuple[str, int]:
        key = node.value
        if type(key) is not _Key:
            raise SuiteError("a key must be text, not a list or a mapping", where=node.where)
        if key in content:
            first = content[key].key_line
            raise SuiteError(f"the key {str(key)!r} is given twice, first on line {first}", where=node.where)
        return str(key), node.line

    def _scalar(self, event: Any) -> Node:
        self._refuse_anchor(event)
        mark = event.start_mark
        frame = self.open[-1] if self.open else None
        value: Any = event.value
        if event.tag is not None and event.tag != "!" and event.tag not in _SCALAR_TAGS:
            raise self._refuse_tag(event)
        if not value.isascii() and _SURROGATE.search(value):
            raise self._refuse("half a character (a lone surrogate)", mark)
        if frame is not None and frame.key is None and type(frame.node.value) is dict:
            value = _Key(value)
        elif event.tag is not None and event.tag != "!":
            value = self._tagged(event)
        elif event.implicit[0] and event.tag is None and event.style in (None, ""):
            value = self._resolve(value, mark)
        node = Node(value, self.file, mark.line + 1, mark.column + 1)
        self._count(node)
        return node

    def _resolve(self, text: str, mark: Position) -> Any:
        """What a plain scalar means in YAML 1.2, leading zeros left alone."""
        if text in _WORDS:
            return _WORDS[text]
        first = text[0]
        if first not in "0123456789+-.":
            return text
        if _INTEGER.match(text):
            return int(text)
        based = _BASED.get(text[:2])
        if based and based[0].match(text):
            return int(text[2:], based[1])
        if _NOT_FINITE.match(text):
            raise self._refuse(f"{text} is not a number that can be stored", mark, "quote it where it is meant as text")
        if _FLOAT.match(text):
            number = float(text)
            if not math.isfinite(number):
                raise self._refuse("this number is too large", mark, "quote it where it is meant as text")
            return number
        return text

    def _tagged(self, event: Any) -> Any:
        """An explicit core tag: text is what it says; the others must agree with what was written."""
        name = event.tag.removeprefix(_CORE)
        if name == "str":
            return event.value
        value = self._resolve(event.value, event.start_mark)
        wanted = {"int": int, "float": float, "bool": bool, "null": type(None)}[name]
        if type(value) is int and wanted is float:
            return float(value)
        if type(value) is not wanted:
            raise self._refuse(f"{event.value!r} is no {name}", event.start_mark)
        return value

    def _count(self, node: Node) -> None:
        self.nodes += 1
        if self.nodes > MOST_NODES:
            raise SuiteError(f"more than {MOST_NODES:,} values", hint="use a data set file", where=node.where)

    def _refuse_anchor(self, event: Any) -> None:
        if event.anchor is not None:
            hint = "write the value out where it is needed"
            raise self._refuse(f"the anchor &{event.anchor} is not allowed", event.start_mark, hint)

    def _refuse_tag(self, event: Any) -> SuiteError:
        tag = event.tag.replace(_CORE, "!!")
        return self._refuse(f"the tag {tag} is not allowed", event.start_mark, "suites hold plain data only")

    def _refuse(self, message: str, mark: Position, hint: str = "") -> SuiteError:
        return SuiteError(message, hint=hint, where=f"{self.file}:{mark.line + 1}")


class _Key(str):
    """Text that stands where a key belongs."""

    __slots__ = ()


class _Frame:
    """A list or mapping that has begun and not ended."""

    __slots__ = ("key", "key_line", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        self.key: str | None = None
        self.key_line = 0
