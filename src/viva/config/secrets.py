"""No secret stands in a suite: literals are refused, and `env:NAME` needs the user's permission.

A suite is shared like a data set. A key written into it is published with it; and a suite that may name any variable
could send `env:AWS_SECRET_ACCESS_KEY` to an address of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from viva.config.tree import Node
from viva.core.errors import SuiteError

_SECRET_KEY = re.compile(
    r"(?:^|[_\-.])(?:api[_-]?key|apikey|access[_-]?key|token|password|passwd|passphrase|secret|authorization|credentials?)$",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"\bsk-[\w-]{8,}|\bhf_\w{8,}|\bgh[pousr]_\w{16,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}|\bxox[abpr]-[\w-]{10,}"
    r"|\b(?:Bearer|Basic)\s+(?!\{)\S{6,}|-----BEGIN [A-Z ]*PRIVATE KEY-----|://[^/\s:@]*:[^/\s@{]+@",
    re.IGNORECASE,
)
_ENVIRONMENT_KEYS = ("environment", "env")
_HARMLESS = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "TERM", "USER", "PYTHONPATH")
"""Variables a program may be given without asking."""
_PARTLY = re.compile(r"(?:^|\s)env:[A-Za-z_]\w*(?:\s|$)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_PLACEHOLDER = re.compile(r"(?:[A-Za-z]+ )?\{\{?[ \w.\[\]-]+\}\}?\Z")


def variable_of(text: str) -> str | None:
    """The NAME of `env:NAME`; None for any other text."""
    return text.removeprefix("env:") if text.startswith("env:") else None


def has_reference(text: str) -> bool:
    """Whether a text is `env:NAME`, or has one in it."""
    return text.startswith("env:") or _PARTLY.search(text) is not None


def is_allowed(name: str, allowed: tuple[str, ...]) -> bool:
    """Whether a variable is on the user's list: by name, or by a prefix that ends in `*`."""
    if not _NAME.match(name):
        return False
    return any(name == item or (len(item) > 1 and item[-1] == "*" and name.startswith(item[:-1])) for item in allowed)


def check_secrets(settings: Node, *, everywhere: bool, allowed: tuple[str, ...]) -> None:
    """Refuse literal secrets and variables nobody allowed in the settings of an implementation.

    Below a scorer's settings lies expected data (`arguments: {password: …}`), which is no secret of ours: there only
    the settings themselves and request headers are looked at.
    """
    _walk(settings, everywhere, 0, lambda node: _check_reference(node, allowed))


def _walk(node: Node, everywhere: bool, depth: int, check_reference: Callable[[Node], bool]) -> None:
    if isinstance(node.value, list):
        for item in node.value:
            _walk_value("", item, everywhere, depth, check_reference)
    elif isinstance(node.value, dict):
        for key, item in node.value.items():
            _walk_value(key, item, everywhere, depth, check_reference)


def _walk_value(key: str, node: Node, everywhere: bool, depth: int, check_reference: Callable[[Node], bool]) -> None:
    if isinstance(node.value, str):
        if (everywhere or depth == 0) and not check_reference(node):
            _refuse_literal(key, node, look_inside=everywhere)
    elif key in _ENVIRONMENT_KEYS and isinstance(node.value, list):
        # A list of variables handed on to a program gives their values away just like `env:NAME` does.
        for item in node.value:
            if isinstance(item.value, str):
                check_reference(Node(f"env:{item.value}", item.file, item.line))
    elif isinstance(node.value, list | dict):
        _walk(node, everywhere or key == "headers", depth + 1, check_reference)


def _check_reference(node: Node, allowed: tuple[str, ...]) -> bool:
    name = variable_of(node.value)
    if name is None:
        _refuse_partial(node)
        return False
    if not is_allowed(name, allowed + _HARMLESS):
        raise not_allowed(name, node.where)
    return True


def _refuse_partial(node: Node) -> None:
    """`Bearer env:NAME` would be sent as it stands."""
    if _PARTLY.search(node.value):
        hint = "let the variable hold the whole value, or use a setting made for keys (api_key)"
        raise SuiteError("env:NAME must stand alone", kind="literal_secret", hint=hint, where=node.where)


def not_allowed(name: str, where: str = "") -> SuiteError:
    """Say how to let a suite use a variable."""
    return SuiteError(
        f"the variable {name!r} is not allowed",
        kind="not_allowed",
        hint=f"a suite cannot allow it; run with --allow-env {name} if you trust this suite with its value",
        where=where,
    )


def _refuse_literal(key: str, node: Node, look_inside: bool) -> None:
    value: str = node.value
    looks_secret = look_inside and _SECRET_VALUE.search(value) is not None
    is_named_secret = _SECRET_KEY.search(key) is not None and value != "" and not _PLACEHOLDER.match(value)
    if looks_secret or is_named_secret:
        what = f"{key!r} holds" if key else "this is"
        raise SuiteError(
            f"{what} a secret, and a suite is no place for one",
            kind="literal_secret",
            hint="use env:NAME and run with --allow-env NAME",
            where=node.where,
        )
