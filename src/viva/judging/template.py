"""Prompts are template files: rendered once, in a sandbox, and named by their hash.

A template is Jinja. A line `=== user ===` parts what the model is told as the system from what it is told as the
user. Values are never templates: what a value holds is written as it is, braces and all.

A template that a suite brings itself is written in a small part of Jinja, enough to place values, to choose and to
list. Nothing in that part can grow: no arithmetic, no calls, no assignments, no loop in a loop; so what it may use is
bounded by its grammar and by the size of its values, without a clock.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from viva.core.errors import SetupError, SuiteError
from viva.registry import suggest

if TYPE_CHECKING:
    from jinja2 import Environment, nodes

SHIPPED = Path(__file__).with_name("templates")
SOURCE_CHARS = 64_000
RENDERED_CHARS = 4_000_000
MOST_LOOPS = 20

_PART = re.compile(r"^=== (system|user) ===[ \t]*$", re.MULTILINE)
_ALLOWED_NODES = frozenset(
    "Template Output TemplateData Name Const If For CondExpr Compare Operand And Or Not Getattr Getitem Filter "
    "Test".split()
)
_ALLOWED_FILTERS = frozenset("trim length count upper lower join default d first last".split())
_LONGEST_GLUE = 20
_ALLOWED_TESTS = frozenset("defined undefined none string number mapping sequence boolean true false".split())


class Template:
    """One compiled template."""

    def __init__(self, name: str, source: str, *, trusted: bool = True, names: Collection[str] | None = None) -> None:
        self.name = name
        self.hash = hashlib.sha256(source.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self._trusted = trusted
        if not trusted:
            _check_size(name, source)
        pieces = _parts(source)
        trees = [(role, _parse(name, text, trusted)) for role, text in pieces]
        self.names = frozenset().union(*(_names_in(tree) for _, tree in trees))
        # What a suite's own template renders is counted piece by piece, so nothing of it is put together elsewhere.
        self.worked = frozenset().union(*(_worked_in(tree) for _, tree in trees)) if trusted else self.names
        """Names with which it does more than to place them, or to ask whether they are empty."""
        if names is not None:
            self.expect(names)
        self._parts = [(role, self._compile(tree)) for role, tree in trees]

    def expect(self, names: Collection[str]) -> None:
        """Refuse a template that uses a name it will not be given. Raises SuiteError."""
        for used in sorted(self.names - set(names)):
            raise SuiteError(f"template {self.name!r} uses {used!r}, which it is not given", hint=suggest(used, names))

    def parts(self, values: Mapping[str, Any]) -> list[tuple[str, str]]:
        """Render each part, as (role, text). Raises SuiteError when it cannot be rendered."""
        return [(role, part if isinstance(part, str) else self._render(part, values)) for role, part in self._parts]

    def render(self, values: Mapping[str, Any]) -> str:
        """Render all parts as one text."""
        return "\n\n".join(text for _, text in self.parts(values))

    def _compile(self, tree: nodes.Template) -> Any:
        part = _environment().from_string(tree)
        # A part that uses no value (most system prompts) is the same in every call.
        return part if _names_in(tree) else self._render(part, {})

    def _render(self, part: Any, values: Mapping[str, Any]) -> str:
        from jinja2 import TemplateError

        try:
            if self._trusted:
                return str(part.render(values)).strip()
            return _bounded(self.name, part.generate(values)).strip()
        except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as error:
            raise SuiteError(f"template {self.name!r} cannot be rendered: {error}") from error


class Shelf:
    """The templates in use: those shipped in a folder, and the ones a suite put in their place."""

    def __init__(self, folder: Path = SHIPPED, replaced: Callable[[str], str] | None = None) -> None:
        self._folder = folder
        self._replaced = replaced
        self._own: dict[str, Template] = {}

    def get(self, name: str) -> Template:
        """The template of a name, compiled once. Raises SuiteError or SetupError."""
        if name not in self._own:
            source = self._replaced(name) if self._replaced else ""
            self._own[name] = Template(name, source, trusted=False) if source else shipped(self._folder, name)
        return self._own[name]

    def hash(self, names: Iterable[str]) -> str:
        """One hash for several templates."""
        return hashlib.sha256(" ".join(self.get(name).hash for name in names).encode()).hexdigest()[:16]


@functools.lru_cache(maxsize=256)
def shipped(folder: Path, name: str) -> Template:
    """Read and compile a template that came with viva, once per process."""
    path = folder / f"{name}.jinja"
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        known = sorted(file.stem for file in folder.glob("*.jinja"))
        raise SetupError(f"no template called {name!r}", hint=suggest(name, known)) from error
    return Template(name, source)


def render(name: str, values: Mapping[str, Any], *, folder: Path = SHIPPED) -> str:
    """Render a shipped template by its name."""
    return shipped(folder, name).render(values)


@functools.lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # No loader: a template cannot name another file. No escaping: prompts are not HTML.
    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined, autoescape=False, loader=None, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals.clear()
    return environment


def _parts(source: str) -> list[tuple[str, str]]:
    pieces = _PART.split(source)
    first = [("system" if len(pieces) > 1 else "user", pieces[0])] if pieces[0].strip() else []
    return first + list(zip(pieces[1::2], pieces[2::2], strict=True))


def _check_size(name: str, source: str) -> None:
    if len(source) > SOURCE_CHARS:
        raise SuiteError(
            f"template {name!r} has {len(source)} characters", hint=f"at most {SOURCE_CHARS} are read", kind="too_large"
        )


def _parse(name: str, source: str, trusted: bool) -> nodes.Template:
    from jinja2 import TemplateSyntaxError

    try:
        tree = _environment().parse(source)
    except (TemplateSyntaxError, RecursionError) as error:
        line = getattr(error, "lineno", 0)
        raise SuiteError(f"template {name!r}, line {line}: {error}") from error
    if not trusted:
        _check_tree(name, tree)
    return tree


def _names_in(tree: nodes.Template) -> frozenset[str]:
    from jinja2.meta import find_undeclared_variables

    return frozenset(find_undeclared_variables(tree))


def _worked_in(tree: nodes.Template) -> frozenset[str]:
    from jinja2 import nodes

    plain: list[nodes.Node] = [child for output in tree.find_all(nodes.Output) for child in output.nodes]
    plain += [choice.test for choice in tree.find_all(nodes.If)]
    harmless = {id(node) for node in plain}
    return frozenset(name.name for name in tree.find_all(nodes.Name) if id(name) not in harmless)


def _check_tree(name: str, tree: nodes.Template) -> None:
    from jinja2 import nodes

    loops = list(tree.find_all(nodes.For))
    if len(loops) > MOST_LOOPS:
        raise _refuse(name, tree, f"more than {MOST_LOOPS} loops")
    if any(inner is not loop for loop in loops for inner in loop.find_all(nodes.For)):
        raise _refuse(name, tree, "a loop in a loop")
    _check_node(name, tree, depth=0)


def _check_node(name: str, node: nodes.Node, depth: int) -> None:
    from jinja2 import nodes

    kind = type(node).__name__
    if kind not in _ALLOWED_NODES:
        raise _refuse(name, node, kind)
    if depth > 50:
        raise _refuse(name, node, "nesting deeper than 50")
    if isinstance(node, nodes.Filter):
        _check_filter(name, node)
    if isinstance(node, nodes.Test) and node.name not in _ALLOWED_TESTS:
        raise _refuse(name, node, f"the test {node.name!r}")
    if isinstance(node, nodes.Getattr) and node.attr.startswith("_"):
        raise _refuse(name, node, f"the name {node.attr!r}")
    for child in node.iter_child_nodes():
        _check_node(name, child, depth + 1)


def _check_filter(name: str, node: nodes.Filter) -> None:
    from jinja2 import nodes

    if node.name not in _ALLOWED_FILTERS:
        raise _refuse(name, node, f"the filter {node.name!r}")
    if node.name != "join":
        return
    # Joining what is already joined, or with a long glue, multiplies.
    if isinstance(node.node, nodes.Filter) or node.kwargs or any(not _is_short(glue) for glue in node.args):
        raise _refuse(name, node, f"join with anything but one text of at most {_LONGEST_GLUE} characters")


def _is_short(node: nodes.Node) -> bool:
    value = getattr(node, "value", None)
    return isinstance(value, str) and len(value) <= _LONGEST_GLUE


def _refuse(name: str, node: nodes.Node, what: str) -> SuiteError:
    return SuiteError(
        f"template {name!r}, line {node.lineno}: {what} is not allowed in a suite's template",
        kind="not_allowed",
        hint="values, if/else, one level of for, and the filters trim, length, join, default, upper, lower are",
    )


def _bounded(name: str, pieces: Iterable[str]) -> str:
    kept: list[str] = []
    room = RENDERED_CHARS
    for piece in pieces:
        room -= len(piece)
        if room < 0:
            raise SuiteError(f"template {name!r} renders more than {RENDERED_CHARS} characters", kind="too_large")
        kept.append(piece)
    return "".join(kept)
