"""Settings the caller gives, over those a suite gives its subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.config.secrets import check_secrets
from viva.config.tree import from_python, plain
from viva.core.data import replace
from viva.core.errors import SuiteError
from viva.core.ref import Ref
from viva.registry import Registry, read_settings

GIVEN = "<settings>"
"""The file name of what the caller said."""


def override(subject: Ref, given: Mapping[str, Any], registry: Registry, allow_env: tuple[str, ...]) -> Ref:
    """A subject with the caller's settings: a key names a setting, `headers.X-Team` one inside a setting.

    They obey the rules of a suite: no unknown settings, and secrets only as `env:NAME`. Raises SuiteError.
    """
    if not given:
        return subject
    merged: dict[str, Any] = subject.settings
    for key, value in given.items():
        content = from_python({key.rpartition(".")[2]: value}, GIVEN)
        check_secrets(content, everywhere=True, allowed=allow_env)
        merged = _put(merged, key.split("."), next(iter(plain(content).values())), key)
    typed = registry.settings_type("subjects", subject.name)
    if typed is not None:
        read_settings(typed, merged, subject.name)
    return replace(subject, settings=merged)


def _put(settings: Mapping[str, Any], path: list[str], value: Any, key: str) -> dict[str, Any]:
    name, *rest = path
    if not rest:
        return {**settings, name: value}
    inner = settings.get(name, {})
    if not isinstance(inner, Mapping):
        raise SuiteError(f"the setting {key!r} reaches into {name!r}, which is no mapping", hint=f"set {name!r} itself")
    return {**settings, name: _put(inner, rest, value, key)}
