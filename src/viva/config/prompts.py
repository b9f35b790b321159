"""Templates a suite brings itself, in the place of viva's own prompts; only where the user allows it."""

from __future__ import annotations

from viva.config.context import Context
from viva.config.files import read_bytes
from viva.config.tree import Node
from viva.core.errors import SuiteError
from viva.judging.template import SHIPPED, Template
from viva.registry import suggest

MOST_BYTES = 64_000


def read_templates(named: dict[str, str], node: Node | None, context: Context) -> dict[str, str]:
    """Read the files a suite names for templates. Raises SuiteError with the line."""
    if not named or node is None:
        return {}
    context.registry.check_templates(node.key_where)
    known = [*sorted(file.stem for file in SHIPPED.glob("*.jinja")), "persona"]
    found: dict[str, str] = {}
    for name, file in named.items():
        where = node.value[name].where
        if name not in known:
            raise SuiteError(f"no template called {name!r}", hint=suggest(name, known), where=where)
        raw = read_bytes(context.file(file, where), most_bytes=MOST_BYTES)
        try:
            found[name] = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise SuiteError(f"{file} is no text in UTF-8: {error.reason}", where=where) from error
        _check(name, found[name], where)
    return found


def _check(name: str, source: str, where: str) -> None:
    """Compile it now, so that a mistake is found before anything is spent."""
    try:
        Template(name, source, trusted=False)
    except SuiteError as error:
        raise SuiteError(error.message, kind=error.kind, hint=error.hint, where=where) from error
