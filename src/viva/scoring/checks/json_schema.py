"""The reply's data follows a JSON Schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from viva.core.data import Data, content_hash
from viva.core.errors import ScorerError, SuiteError
from viva.core.evidence import Evidence
from viva.core.score import Score
from viva.expressions.pattern import compile_pattern
from viva.expressions.pattern_syntax import PatternError
from viva.ports.kit import Kit
from viva.registry import need
from viva.scoring.path import follow, parse_path
from viva.scoring.reading import AbsentError, reply_data, show
from viva.scoring.scorer import PlainScorer

MOST_REFERENCES = 5_000
"""References followed in one validation: schemas that refer to themselves can grow without end."""
SHOWN_ERRORS = 3


class JsonSchemaSettings(Data, frozen=True):
    """A schema, written in place or in a file beside the suite."""

    schema: dict[str, Any] | str | None = None
    """The schema itself, or the name of its file."""
    path: str = ""
    """Where in the data it applies."""


class JsonSchema(PlainScorer):
    """Validates with `jsonschema`, but with patterns in linear time, and without fetching anything."""

    Settings = JsonSchemaSettings
    name = "json_schema"
    shorthand = "schema"

    def __init__(self, settings: JsonSchemaSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        schema = _load(settings.schema, kit)
        self._path = parse_path(settings.path)
        self._references = 0
        self._validator = self._build(schema)
        # The schema may stand in a file: what is in it matters to the number, not its name.
        self.hash = content_hash([self.signature, schema, settings.path])
        title = schema.get("title") if isinstance(schema.get("title"), str) else settings.path
        self.describe(str(title or ""))

    def _build(self, schema: dict[str, Any]) -> Any:
        validators = need("jsonschema.validators")
        referencing = need("referencing")
        kind = validators.validator_for(schema, default=validators.Draft202012Validator)
        try:
            kind.check_schema(schema)
            _check_patterns(schema)
        except (need("jsonschema").SchemaError, PatternError, RecursionError) as error:
            message = str(getattr(error, "message", error)) or "it is nested too deep"
            raise SuiteError(f"json_schema: this is no schema: {message}") from error
        keywords = {"pattern": _pattern, "patternProperties": _pattern_properties}
        for name in ("$ref", "$dynamicRef"):
            if name in kind.VALIDATORS:
                keywords[name] = self._counted(kind.VALIDATORS[name])
        # An empty registry: a reference to another host or file is not found, instead of being fetched.
        return validators.extend(kind, keywords)(schema, registry=referencing.Registry())

    def _counted(self, follow_reference: Any) -> Any:
        def run(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[Any]:
            self._references += 1
            if self._references > MOST_REFERENCES:
                raise ScorerError("the schema refers to itself without end", kind="too_costly")
            yield from follow_reference(validator, reference, instance, schema)

        return run

    def look(self, evidence: Evidence) -> Score:
        """Validate the data of the last reply."""
        try:
            data = follow(reply_data(evidence), self._path)
        except AbsentError as absent:
            return self.claim(False, absent.reason, {"outcome": absent.outcome})
        problems = self._problems(data)
        shown = "; ".join(problems[:SHOWN_ERRORS])
        more = f"; and {len(problems) - SHOWN_ERRORS} more" if len(problems) > SHOWN_ERRORS else ""
        return self.claim(not problems, shown + more)

    @classmethod
    def check(cls, settings: JsonSchemaSettings) -> None:
        """A schema written in place is looked at when the suite is loaded; one in a file when it is first needed."""
        if not isinstance(settings.schema, str):
            super().check(settings)

    def _problems(self, data: Any) -> list[str]:
        self._references = 0
        try:
            return [_written(error) for error, _ in zip(self._validator.iter_errors(data), range(20), strict=False)]
        except ScorerError:
            raise
        except PatternError as error:
            raise ScorerError(error.message, kind=error.kind) from error
        except RecursionError as error:
            raise ScorerError("the schema or the data is nested too deep", kind="too_deep") from error
        except Exception as error:
            raise ScorerError(f"the schema could not be applied: {error}", kind="schema_error") from error


def _load(schema: dict[str, Any] | str | None, kit: Kit) -> dict[str, Any]:
    if isinstance(schema, str):
        file = kit.file(schema)
        try:
            schema = json.loads(file.read_bytes())
        except (ValueError, RecursionError) as error:
            raise SuiteError(f"json_schema: {file.name} is no JSON: {error}") from error
    if not isinstance(schema, dict):
        raise SuiteError("json_schema: a schema is needed", hint="write it in place, or name its file")
    return schema


def _check_patterns(schema: Any) -> None:
    """Compile every pattern now, so that one we cannot read is the author's error and not the agent's."""
    if isinstance(schema, list):
        for item in schema:
            _check_patterns(item)
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            compile_pattern(schema["pattern"])
        if isinstance(schema.get("patternProperties"), dict):
            for pattern in schema["patternProperties"]:
                compile_pattern(pattern)
        for item in schema.values():
            _check_patterns(item)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, str) and not compile_pattern(pattern).search(instance):
        yield need("jsonschema").ValidationError(f"{show(instance)} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: dict[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
    if not isinstance(instance, dict):
        return
    for pattern, subschema in patterns.items():
        for name, value in instance.items():
            if compile_pattern(pattern).search(name):
                yield from validator.descend(value, subschema, path=name, schema_path=pattern)


def _written(error: Any) -> str:
    place = ".".join(str(part) for part in error.absolute_path)
    return f"{show(place, 60)}: {show(error.message, 160)}" if place else show(error.message, 160)
