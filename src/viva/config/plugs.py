"""References to implementations: a name, or a name with settings, checked against the implementation's own type."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from viva.config.claims import check_claim
from viva.config.reader import Reader, misfit
from viva.config.secrets import check_secrets
from viva.config.tree import Node, plain
from viva.core.data import Data
from viva.core.errors import SuiteError, VivaError
from viva.core.ref import Ref
from viva.registry import Registry, suggest

FIXED: dict[str, dict[str, str]] = {
    "databases": {"sqlite": "file"},
    "probes": {"cypher": "query", "sql": "sql", "http": "url"},
}
"""Names that are no plug-ins, each with the setting a plain value stands for."""

SCHEMA_WORDS = frozenset(
    {"$schema", "$ref", "$defs", "type", "properties", "required", "items", "enum", "const", "allOf", "anyOf", "oneOf"}
    | {"not", "additionalProperties", "patternProperties", "pattern", "minimum", "maximum", "minLength", "minItems"}
)
"""A mapping with one of these keys, and none of the settings', is a JSON Schema written in the settings' place."""


class Plug(Data, frozen=True):
    """What is known about one implementation."""

    name: str
    settings: type[msgspec.Struct] | None = None
    shorthand: str = ""
    check: Any = None
    """A function of the implementation's own that finds what its types cannot say: a typo in an expression."""


class Plugs:
    """Reads references of every kind, and looks each implementation up once."""

    def __init__(self, registry: Registry, reader: Reader, allow_env: tuple[str, ...]) -> None:
        self.registry = registry
        self.reader = reader
        self.allow_env = allow_env
        self._known: dict[tuple[str, str], Plug] = {}

    def ref(self, kind: str) -> Callable[[Node], Ref]:
        """How to read a reference of one kind."""
        return lambda node: self.read(kind, node)

    def read(self, kind: str, node: Node) -> Ref:
        """Read `name` or `{name: settings}`."""
        if isinstance(node.value, Ref):
            return node.value
        if isinstance(node.value, str):
            return self.make(kind, node.value, None, node)
        if not isinstance(node.value, dict):
            raise misfit(node, kind.removesuffix("s"), "a name or {name: settings}")
        if len(node.value) != 1:
            found = ", ".join(repr(key) for key in node.value) or "none"
            raise SuiteError(f"a {kind.removesuffix('s')} has one name; found {found}", where=node.where)
        name, settings = next(iter(node.value.items()))
        return self.make(kind, name, settings, Node(None, settings.file, settings.key_line or settings.line))

    def make(self, kind: str, name: str, settings: Node | None, at: Node) -> Ref:
        """Check a name and its settings; `at` is where the name stands."""
        plug = self.find(kind, name, at.where)
        content = self._unfold(plug, settings, at)
        check_secrets(content, everywhere=kind != "scorers", allowed=self.allow_env)
        if plug.settings is not None:
            shape = self.reader.struct(plug.settings, plug.name)
            with _named(plug.name):
                typed = shape(content)
                check(plug, typed, at.where)
            if kind == "scorers":
                check_claim(plug.name, typed, at.where)
            if self.reader.lenient:  # What was mentioned and ignored must not reach the implementation.
                content = Node({key: item for key, item in content.value.items() if key in shape.fields}, content.file)
        return Ref(name=plug.name, settings=plain(content), where=at.where)

    def find(self, kind: str, name: str, where: str) -> Plug:
        """Look an implementation up. Raises SuiteError for unknown and for not allowed names."""
        if (kind, name) not in self._known:
            self._known[kind, name] = self._look_up(kind, name, where)
        return self._known[kind, name]

    def _look_up(self, kind: str, name: str, where: str) -> Plug:
        if kind in FIXED:
            if name not in FIXED[kind]:
                one = kind.removesuffix("s")
                raise SuiteError(f"no {one} called {name!r}", hint=suggest(name, FIXED[kind]), where=where)
            return Plug(name=name, shorthand=FIXED[kind][name])
        full = self._latest(name) if kind == "formulas" else name
        factory = self.registry.find(kind, full, where)
        return Plug(
            name=full,
            settings=self.registry.settings_type(kind, full, where),
            shorthand=str(getattr(factory, "shorthand", "")),
            check=getattr(factory, "check", None),
        )

    def _latest(self, name: str) -> str:
        """A formula without a version means its newest one; the version ends up in every result."""
        versions = [known for known in self.registry.names("formulas") if known.startswith(f"{name}@")]
        return max(versions, key=lambda known: (len(known), known), default=name)

    def _unfold(self, plug: Plug, settings: Node | None, at: Node) -> Node:
        if settings is None or settings.value is None:
            return Node({}, at.file, at.line, at.column)
        if isinstance(settings.value, dict) and not _is_schema(plug, settings.value):
            return settings
        if not plug.shorthand:
            raise misfit(settings, plug.name, "its settings as a mapping")
        return Node({plug.shorthand: settings}, settings.file, settings.line, settings.column)


def _is_schema(plug: Plug, written: dict[str, Node]) -> bool:
    """Whether a mapping is the schema itself, and not settings that name one."""
    if plug.shorthand != "schema" or plug.settings is None:
        return False
    return set(plug.settings.__struct_encode_fields__).isdisjoint(written) and not SCHEMA_WORDS.isdisjoint(written)


@contextmanager
def _named(name: str) -> Iterator[None]:
    """Say whose setting is wrong, where the message does not."""
    try:
        yield
    except SuiteError as error:
        if not error.message.startswith((f"{name}:", f"{name} ")) and f" in {name}" not in error.message:
            error.message = f"{name}: {error.message}"
            error.args = (error.message,)
        raise


def check(plug: Plug, settings: Any, where: str) -> None:
    """Let an implementation look at its settings, so that a typo is found before anything is spent."""
    if plug.check is None:
        return
    try:
        plug.check(settings)
    except VivaError as error:
        raise SuiteError(error.message, kind=error.kind, hint=error.hint, where=where) from error
