"""A path in, a Suite out: reads the file, finds out its format, remembers what was read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from viva.config.context import Context, Document, Warn
from viva.config.files import hash_file, read_bytes, resolve
from viva.config.formats import embabel, native
from viva.config.tree import Node, describe
from viva.config.yaml import MOST_BYTES, read_yaml
from viva.core.errors import SuiteError
from viva.core.faultpoint import fault
from viva.core.suite import Source, Suite
from viva.registry import Registry, suggest


class Format(Protocol):
    """A module that reads one file format."""

    NAME: str

    def recognises(self, root: Node) -> bool:
        """Whether a document is written in this format."""
        ...

    def read(self, document: Document, context: Context) -> Suite:
        """Read a suite. Raises SuiteError with the line."""
        ...


FORMATS: list[Format] = [native, embabel]
"""The first that recognises a document reads it."""


def load_suite(
    path: str | Path,
    *,
    registry: Registry | None = None,
    lenient: bool = False,
    allow_env: Iterable[str] = (),
    warn: Warn | None = None,
) -> Suite:
    """Read a suite from a file. Raises SuiteError with file and line.

    `lenient` turns unknown keys into warnings; `allow_env` names the variables the suite may use as `env:NAME`.
    """
    given = Path(path)
    fault("config.before_read")
    raw = read_bytes(given, most_bytes=MOST_BYTES)
    context = _context(registry, lenient, allow_env, warn)
    context.folder = given.resolve().parent
    context.remember(given.name, raw)
    return _read(Document(read_yaml(raw, str(given)), str(given)), context)


def load_text(
    text: str | bytes,
    name: str = "<text>",
    *,
    folder: str | Path | None = None,
    registry: Registry | None = None,
    lenient: bool = False,
    allow_env: Iterable[str] = (),
    warn: Warn | None = None,
) -> Suite:
    """Read a suite from text; without a folder it cannot name files."""
    context = _context(registry, lenient, allow_env, warn)
    context.folder = Path(folder).resolve() if folder is not None else None
    context.remember(name, text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return _read(Document(read_yaml(text, name), name), context)


def load_tree(root: Node, context: Context) -> Suite:
    """Read a suite from a tree that was built in Python."""
    return _read(Document(root, root.file), context)


def unchanged(folder: str | Path, sources: Sequence[Source]) -> bool:
    """Whether every file a suite was read from is what it was, without parsing any of them."""
    try:
        return bool(sources) and all(hash_file(resolve(Path(folder), source.path)) == source.hash for source in sources)
    except (OSError, SuiteError):
        return False


def _context(registry: Registry | None, lenient: bool, allow_env: Iterable[str], warn: Warn | None) -> Context:
    context = Context(registry or Registry(), lenient=lenient, allow_env=tuple(allow_env))
    if warn is not None:
        context.warn = warn
    return context


def _read(document: Document, context: Context) -> Suite:
    root = document.root
    for format in FORMATS:
        if format.recognises(root):
            return format.read(document, context)
    raise _no_suite(root)


def _no_suite(root: Node) -> SuiteError:
    if not isinstance(root.value, dict):
        return SuiteError(
            f"a suite is a mapping; this is {describe(root)}", hint="begin with `suite: NAME`", where=root.where
        )
    key = next(iter(root.value), "")
    hint = f"begin with `suite: NAME`; {suggest(key, ['suite', 'cases', 'dataset'])}"
    return SuiteError("this is no suite in any format viva knows", hint=hint, where=root.where)
