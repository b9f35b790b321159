"""Located nodes become typed values: one walk over a type, with file, line and the nearest valid key in every error.

The types are msgspec's: structs, builtins, generics, literals, unions, and constraints written with `Meta`. A field
annotated `Annotated[Any, Meta(extra={"read": NAME})]` is read by the function the format registered under that name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import inspect as types

from viva.config.tree import Node, describe, plain
from viva.core.errors import SuiteError, VivaError
from viva.registry import suggest

Convert = Callable[[Node], Any]

_LISTS = (types.ListType, types.VarTupleType, types.SetType, types.FrozenSetType, types.TupleType)
_BUILD: dict[type, Callable[[list[Any]], Any]] = {
    types.ListType: list,
    types.VarTupleType: tuple,
    types.TupleType: tuple,
    types.SetType: set,
    types.FrozenSetType: frozenset,
}


class Reader:
    """Converts nodes to types; remembers how, so that a type is taken apart once and not once per case."""

    def __init__(self, *, lenient: bool = False, warn: Callable[[str], None] | None = None) -> None:
        self.special: dict[str, Convert] = {}
        """Functions for fields that are more than their type: references, checks, thresholds."""
        self.lenient = lenient
        self.warn = warn or (lambda message: None)
        self._structs: dict[tuple[type, str], _StructReader] = {}

    def convert(self, node: Node, kind: Any, name: str) -> Any:
        """Read a node as a type; `name` is what the author calls the value. Raises SuiteError."""
        return self.compile(types.type_info(kind), name)(node)

    def struct(self, kind: type[msgspec.Struct], name: str) -> _StructReader:
        """How to read one struct type."""
        if (kind, name) not in self._structs:
            info = types.type_info(kind)
            assert isinstance(info, types.StructType)
            # Known before its fields are compiled: a type may contain itself.
            self._structs[kind, name] = found = _StructReader(self, info, name)
            found.learn()
        return self._structs[kind, name]

    def unknown_key(self, key: str, value: Node, name: str, known: list[str]) -> None:
        """Refuse a key nobody knows, or only mention it where the user asked for leniency."""
        error = SuiteError(f"unknown key {key!r} in {name}", hint=suggest(key, known), where=value.key_where)
        if not self.lenient:
            raise error
        self.warn(f"{error}; ignored")

    def compile(self, info: types.Type, name: str) -> Convert:
        """Turn a type into the function that reads it."""
        match info:
            case types.Metadata(extra={"read": special}):
                return self.special[special]
            case types.Metadata():
                return self.compile(info.type, name)
            case types.StructType():
                return self.struct(info.cls, name)
            case types.UnionType():
                return self._union(info, name)
            case types.DictType():
                return self._mapping(info, name)
            case types.ListType() | types.VarTupleType() | types.SetType() | types.FrozenSetType() | types.TupleType():
                return self._list(info, name)
            case types.LiteralType():
                return lambda node: _literal(node, info.values, name)
            case types.EnumType():
                return lambda node: info.cls(_literal(node, tuple(item.value for item in info.cls), name))
            case types.StrType() | types.BoolType() | types.IntType() | types.FloatType() | types.NoneType():
                return lambda node: _scalar(node, info, name)
        return plain

    def _list(self, info: Any, name: str) -> Convert:
        build = _BUILD[type(info)]
        many = not isinstance(info, types.TupleType)
        items = [self.compile(info.item_type, name)] if many else [self.compile(t, name) for t in info.item_types]

        def read(node: Node) -> Any:
            if not isinstance(node.value, list):
                raise misfit(node, name, "a list")
            if not many and len(node.value) != len(items):
                raise misfit(node, name, f"a list of {len(items)}")
            _check_length(node, info, name)
            first = items[0] if many else None
            readers = [first] * len(node.value) if first else items
            return build([item(child) for item, child in zip(readers, node.value, strict=True)])

        return read

    def _mapping(self, info: types.DictType, name: str) -> Convert:
        item = self.compile(info.value_type, name)

        def read(node: Node) -> Any:
            if not isinstance(node.value, dict):
                raise misfit(node, name, "a mapping")
            return {key: item(child) for key, child in node.value.items()}

        return read

    def _union(self, info: types.UnionType, name: str) -> Convert:
        members = [(member, self.compile(member, name)) for member in info.types]
        wanted = " or ".join(dict.fromkeys(_words(member) for member in info.types if _words(member)))

        def read(node: Node) -> Any:
            first: SuiteError | None = None
            for member, convert in members:
                if not _fits(node, member):
                    continue
                try:
                    return convert(node)
                except SuiteError as error:
                    first = first or error
            raise first or misfit(node, name, wanted)

        return read


class _StructReader:
    """Reads mappings as one struct type."""

    def __init__(self, reader: Reader, info: types.StructType, name: str) -> None:
        self.reader = reader
        self.info = info
        self.name = name
        self.fields: dict[str, tuple[str, Convert, bool]] = {}
        self.required: list[str] = []

    def learn(self) -> None:
        """Compile the fields."""
        for field in self.info.fields:
            special = isinstance(field.type, types.Metadata) and "read" in (field.type.extra or {})
            # Nothing after a key of our own means: as if the key were not there.
            self.fields[field.encode_name] = (field.name, self.reader.compile(field.type, field.encode_name), special)
        self.required = [field.encode_name for field in self.info.fields if field.required]

    def __call__(self, node: Node) -> Any:
        if isinstance(node.value, self.info.cls):
            return node.value
        values = self.written(node)
        missing = [key for key in self.required if self.fields[key][0] not in values]
        if missing:
            names = ", ".join(repr(key) for key in missing)
            raise SuiteError(f"{self.name} lacks {names}", hint=f"it takes: {', '.join(self.fields)}", where=node.where)
        return build(self.info.cls, values, self.name, node)

    def written(self, node: Node) -> dict[str, Any]:
        """Only the values the author wrote, for settings that are merged over others."""
        content = node.value
        if not isinstance(content, dict):
            raise misfit(node, self.name, "a mapping")
        values: dict[str, Any] = {}
        for key, child in content.items():
            known = self.fields.get(key)
            if known is None:
                if key != self.info.tag_field:
                    self.reader.unknown_key(key, child, self.name, list(self.fields))
            elif child.value is not None or not known[2]:
                values[known[0]] = known[1](child)
        return values


def build(kind: type[Any], values: Mapping[str, Any], name: str, node: Node) -> Any:
    """Make a value of its type, giving what its own checks say a place."""
    try:
        return kind(**values)
    except VivaError as error:
        raise SuiteError(error.message, kind=error.kind, hint=error.hint, where=error.where or node.where) from error
    except (ValueError, TypeError) as error:
        raise SuiteError(f"{name}: {error}", where=node.where) from error


def misfit(node: Node, name: str, wanted: str) -> SuiteError:
    """Say what was expected and what was found."""
    hint = ""
    if wanted == "text" and isinstance(node.value, int | float):
        hint = "put it in quotes where it is meant as text"
    if wanted == "true or false" and isinstance(node.value, str):
        hint = "YAML 1.2: only true and false, not yes, no, on, off"
    return SuiteError(f"{name}: expected {wanted}, found {describe(node)}", hint=hint, where=node.where)


def _scalar(node: Node, info: types.Type, name: str) -> Any:
    value = node.value
    if not _fits(node, info):
        raise misfit(node, name, _words(info) or "nothing")
    match info:
        case types.StrType():
            _check_length(node, info, name)
        case types.IntType() | types.FloatType():
            _check_range(node, info, name)
            return float(value) if isinstance(info, types.FloatType) else value
    return value


def _literal(node: Node, values: tuple[Any, ...], name: str) -> Any:
    if not isinstance(node.value, list | dict):
        for value in values:
            if value == node.value and type(value) is type(node.value):
                return value
    found = repr(node.value) if isinstance(node.value, str) else describe(node)
    raise SuiteError(
        f"{name}: {found} is not one of its values",
        hint=suggest(str(node.value) if isinstance(node.value, str) else "", [str(value) for value in values]),
        where=node.where,
    )


def _check_range(node: Node, info: types.IntType | types.FloatType, name: str) -> None:
    value, wanted = node.value, ""
    if info.ge is not None and value < info.ge:
        wanted = f"at least {info.ge:g}"
    elif info.gt is not None and value <= info.gt:
        wanted = f"more than {info.gt:g}"
    elif info.le is not None and value > info.le:
        wanted = f"at most {info.le:g}"
    elif info.lt is not None and value >= info.lt:
        wanted = f"less than {info.lt:g}"
    if wanted:
        raise SuiteError(f"{name} must be {wanted}, not {value}", where=node.where)


def _check_length(node: Node, info: Any, name: str) -> None:
    least, most = getattr(info, "min_length", None), getattr(info, "max_length", None)
    if least is not None and len(node.value) < least:
        raise SuiteError(
            f"{name} must not be empty" if least == 1 else f"{name} needs {least} or more", where=node.where
        )
    if most is not None and len(node.value) > most:
        raise SuiteError(f"{name} may have at most {most}", where=node.where)


def _fits(node: Node, info: types.Type) -> bool:
    """Whether a node has the outward form of a type."""
    value = node.value
    match info:
        case types.AnyType() | types.Metadata():
            return True
        case types.NoneType():
            return value is None
        case types.BoolType():
            return isinstance(value, bool)
        case types.IntType():
            return isinstance(value, int) and not isinstance(value, bool)
        case types.FloatType():
            return isinstance(value, int | float) and not isinstance(value, bool)
        case types.StrType():
            return isinstance(value, str)
        case types.LiteralType() | types.EnumType():
            return value is not None and not isinstance(value, list | dict)
        case types.DictType():
            return isinstance(value, dict)
        case types.StructType():
            return isinstance(value, dict | info.cls)
        case _ if isinstance(info, _LISTS):
            return isinstance(value, list)
    return value is not None


def _words(info: types.Type) -> str:
    """A type in the words of an author; '' for none, which is left unsaid."""
    match info:
        case types.StrType():
            return "text"
        case types.BoolType():
            return "true or false"
        case types.IntType():
            return "a whole number"
        case types.FloatType():
            return "a number"
        case types.LiteralType():
            return " or ".join(repr(value) for value in info.values)
        case types.DictType() | types.StructType():
            return "a mapping"
        case types.NoneType():
            return ""
        case _ if isinstance(info, _LISTS):
            return "a list"
    return "a value"
