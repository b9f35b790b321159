"""What a record of a data set may say: data, never behaviour.

A suite's author writes the suite and draws records from elsewhere. What a record could change of how the examination
is held (who is asked, with which key, what is started, how often, what counts) it may not name at all; of what is
asked, it may name claims about the reply where the suite maps a column to them.
"""

from __future__ import annotations

from typing import Any

from viva.config.secrets import has_reference
from viva.core.errors import SuiteError

RECORD_KEYS = frozenset(
    {
        "id",
        "description",
        "input",
        "turns",
        "tasks",
        "facts",
        "expected",
        "context",
        "criteria",
        "tags",
        "metadata",
    }
)
"""Keys of a case that are data."""

MAPPED_KEYS = frozenset({"checks", "measures"})
"""Keys a record may fill only where the suite's `map` says so."""

REFUSED_KEYS = MAPPED_KEYS | {
    "variants",
    "stage",
    "driver",
    "limits",
    "retry",
    "judging",
    "formula",
    "repeats",
    "thresholds",
    "templates",
}
"""Keys that are the suite's own; without a map, a column called like one of them is refused and not guessed at."""

CLAIMS = (
    "contains",
    "cost",
    "equals",
    "expectations",
    "expression",
    "field",
    "fuzzy",
    "json_schema",
    "regex",
    "timing",
    "token_f1",
    "tools",
    "turns",
)
"""Scorers that look at the evidence alone: no address, no file, no database, no model, no program."""

_BESIDE = frozenset({"weight", "label", "section"})
_TURN_KEYS = frozenset({"say", "data", "expect", "stop_on_miss"})
_EXPECT_KEYS = frozenset({"contains", "regex", "ignore_case"})
_REACHING_KEYS = frozenset({"headers", "env", "environment", "url", "uri", "file", "jq", "argv", "api_key"})
"""Settings that reach out of the evidence, or start something (a jq program runs in a process of its own)."""
_LOOKED_AT = frozenset({"turns", "criteria", "checks", "measures"})


def check_columns(record: dict[str, Any]) -> None:
    """Refuse a record that names what only a suite may say. Raises SuiteError without a place."""
    if REFUSED_KEYS.isdisjoint(record):
        return
    for key, value in record.items():
        if key in REFUSED_KEYS and value is not None:
            raise _not_data(key)


def check_values(values: dict[str, Any]) -> None:
    """Look into the keys that become more than data. Raises SuiteError without a place."""
    if _LOOKED_AT.isdisjoint(values):
        return
    for key in ("checks", "measures", "criteria"):
        if isinstance(values.get(key), dict):
            hint = f"a record adds to the suite's {key}, as a list; `only:` is for suites"
            raise _refused(f"a record cannot replace the suite's {key}", hint)
    _check_turns(values.get("turns"))
    for key in ("checks", "measures"):
        for item in _listed(values.get(key)):
            _check_claim(item, key.removesuffix("s"))


def _not_data(key: str) -> SuiteError:
    if key in MAPPED_KEYS:
        hint = f"`map: {{{key}: {key}}}` in the suite lets records bring {key}; with a map, name every column you use"
        return _refused(f"a record brings {key}, and the suite does not map a column to them", hint)
    hint = f"write {key!r} in the suite; if the column is data, name the columns you use with `map:`"
    return _refused(f"a record cannot set {key!r}: a data set is data", hint)


def _check_turns(turns: Any) -> None:
    for turn in _listed(turns):
        if not isinstance(turn, dict):
            _refuse_variables(turn, "turns")
            continue
        _only(turn, _TURN_KEYS, "a turn")
        if isinstance(turn.get("expect"), dict):
            _only(turn["expect"], _EXPECT_KEYS, "an expectation")
        _refuse_variables(turn, "turns")


def _check_claim(item: Any, what: str) -> None:
    names = [item] if isinstance(item, str) else [key for key in item if key not in _BESIDE]
    for name in names:
        if name not in CLAIMS:
            hint = f"write it in the suite; a record may name: {', '.join(CLAIMS)}"
            raise _refused(f"a record cannot name the {what} {name!r}", hint)
    if isinstance(item, dict):
        for name in names:
            _check_settings(item[name], name)
        _refuse_variables(item, what)


def _check_settings(settings: Any, name: str) -> None:
    if not isinstance(settings, dict):
        if name == "json_schema":
            raise _refused("a record cannot name a file", "write the schema in place, or in the suite")
        return
    if name == "json_schema" and isinstance(settings.get("schema"), str):
        raise _refused("a record cannot name a file", "write the schema in place, or in the suite")
    for key in settings:
        if key in _REACHING_KEYS:
            raise _refused(f"a record cannot give {name} the setting {key!r}", "write it in the suite")


def _only(given: dict[str, Any], allowed: frozenset[str], what: str) -> None:
    for key in given:
        if key not in allowed:
            hint = f"a record may say: {', '.join(sorted(allowed))}; write the rest in the suite"
            raise _refused(f"a record cannot give {what} the key {key!r}", hint)


def _refuse_variables(value: Any, what: str) -> None:
    """No `env:NAME` in what becomes the settings of an implementation, not even one the user allowed the suite."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str) and has_reference(item):
            raise _refused(f"a record names a variable of the environment in its {what}", "only a suite may")
        if isinstance(item, dict):
            waiting += (*item.keys(), *item.values())
        elif isinstance(item, list):
            waiting += item


def _listed(value: Any) -> list[Any]:
    """The items that can be looked into; what has another shape is refused by whoever reads it."""
    return [item for item in value if isinstance(item, str | dict)] if isinstance(value, list) else []


def _refused(message: str, hint: str) -> SuiteError:
    return SuiteError(message, kind="not_allowed", hint=hint)
