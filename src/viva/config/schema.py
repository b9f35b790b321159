"""The JSON Schema of viva's own format, for editors and for `viva schema`.

Made from the same types the reader uses, with the settings of every implementation that can be imported; one that
cannot (an optional package is missing) is described as a free mapping.
"""

from __future__ import annotations

from typing import Any

import msgspec

from viva.config.keys import (
    CaseKeys,
    CriterionKeys,
    DatasetKeys,
    LimitKeys,
    RetryKeys,
    StageKeys,
    SuiteKeys,
    TaskKeys,
    ThresholdKeys,
    VariantKeys,
)
from viva.config.parts import BESIDE
from viva.config.plugs import FIXED, SCHEMA_WORDS
from viva.core.errors import VivaError
from viva.registry import Registry

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MODELINE = "# yaml-language-server: $schema="
"""What an editor looks for in the first line of a suite; the path of the schema follows."""

Schema = dict[str, Any]

_KINDS = ("subjects", "drivers", "formulas", "setups", "seeds", "graphs")
_TEXT: Schema = {"type": "string"}
_KEYS = {
    "limits": LimitKeys,
    "retry": RetryKeys,
    "stage": StageKeys,
    "case": CaseKeys,
    "dataset": DatasetKeys,
    "variant": VariantKeys,
    "criterion": CriterionKeys,
    "task": TaskKeys,
    "threshold": ThresholdKeys,
}


def suite_schema(registry: Registry | None = None) -> Schema:
    """The schema of a suite file."""
    registry = registry or Registry()
    found = {kind: _plugs(registry, kind) for kind in (*_KINDS, "scorers")}
    settings = {typed for plugs in found.values() for typed, _ in plugs.values() if typed is not None}
    types: list[type[Any]] = [
        SuiteKeys,
        *_KEYS.values(),
        *sorted(settings, key=lambda typed: (typed.__module__, typed.__qualname__)),
    ]
    places, definitions = msgspec.json.schema_components(types, ref_template="#/$defs/{name}")
    references: dict[type, Schema] = dict(zip(types, places, strict=True))
    for name, plugs in found.items():
        definitions[name] = _reference(plugs, references, beside={})
    definitions |= _lists(found["scorers"], references)
    for name, names in FIXED.items():
        definitions[name] = _reference({key: (None, short) for key, short in names.items()}, references, beside={})
    _close(definitions)
    return {"$schema": DIALECT, "title": "viva suite", **references[SuiteKeys], "$defs": definitions}


Plugs = dict[str, tuple[type[msgspec.Struct] | None, str]]


def _plugs(registry: Registry, kind: str) -> Plugs:
    """The settings type and shorthand of every known implementation of a kind."""
    found: Plugs = {}
    for name in registry.names(kind):
        try:
            factory = registry.find(kind, name)
            found[name] = (registry.settings_type(kind, name), str(getattr(factory, "shorthand", "")))
        except VivaError:
            found[name] = (None, "*")
        if kind == "formulas":  # Without a version, the newest one is meant.
            found[name.partition("@")[0]] = found[name]
    return found


def _reference(plugs: Plugs, references: dict[type, Schema], beside: Schema) -> Schema:
    """`name`, or `{name: settings}`, of a known implementation or of `module:Class`."""
    imported = r"^[A-Za-z_]\w*(\.\w+)*[:.]\w+$"
    names: Schema = {"enum": sorted(plugs)}
    mapping = {
        "type": "object",
        "properties": {name: _settings(*plug, references) for name, plug in sorted(plugs.items())} | beside,
        "patternProperties": {imported: {}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1 + len(beside),
    }
    return {"anyOf": [names, {**_TEXT, "pattern": imported}, mapping]}


def _settings(typed: type[msgspec.Struct] | None, shorthand: str, references: dict[type, Schema]) -> Schema:
    if shorthand and typed is None:
        return {}
    mapping = {"type": "object"} if typed is None else references[typed]
    choices: list[Schema] = [mapping, {"type": "null"}]
    if shorthand:
        choices.append({"not": {"type": "object"}})
    if shorthand == "schema":  # A JSON Schema may stand in the settings' place.
        choices.append({"type": "object", "anyOf": [{"required": [word]} for word in sorted(SCHEMA_WORDS)]})
    return {"anyOf": choices}


def _lists(scorers: Plugs, references: dict[type, Schema]) -> dict[str, Schema]:
    keys = {name: references[typed] for name, typed in _KEYS.items()}
    beside: Schema = {name: dict(_TEXT) for name in BESIDE} | {"weight": {"type": "number", "minimum": 0}}
    scored = _reference(scorers, references, beside)
    cases = _many(keys["case"])
    return {
        "judging": _reference(scorers, references, {}),
        "scored": scored,
        "checks": _added({"$ref": "#/$defs/scored"}),
        "measures": _added({"$ref": "#/$defs/scored"}),
        "criteria": _added({"anyOf": [_TEXT, keys["criterion"]]}),
        "thresholds": _many({"anyOf": [_TEXT, keys["threshold"]]}),
        "tasks": _many({"anyOf": [_TEXT, keys["task"]]}),
        "variants": _many(keys["variant"]),
        "turns": _many({}),
        "limits": keys["limits"],
        "retry": keys["retry"],
        "stage": keys["stage"],
        "cases": cases,
        "datasets": {"anyOf": [keys["dataset"], _many(keys["dataset"])]},
    }


def _many(item: Schema) -> Schema:
    return {"type": "array", "items": item}


def _added(item: Schema) -> Schema:
    only = {"type": "object", "properties": {"only": _many(item)}, "required": ["only"], "additionalProperties": False}
    return {"anyOf": [_many(item), only]}


def _close(definitions: dict[str, Schema]) -> None:
    """An unknown key is an error: say so for every mapping with known keys."""
    for definition in definitions.values():
        if definition.get("type") == "object" and "properties" in definition:
            definition.setdefault("additionalProperties", False)
