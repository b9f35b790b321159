"""A name, or an allowed module:Class, becomes an implementation, checked against its contract.

The only place in viva that imports by name. Three kinds of names:

* a built-in (`http`), from the table below: imported when first used;
* an entry point of an installed package, in the group `viva.subjects`, `viva.drivers`, `viva.scorers`, …;
* `module:Class` (or dotted `module.Class`), only when its module was allowed on the command line or in the user's
  own settings. A suite can never allow anything: suites are untrusted.

An implementation is a class. With an attribute `Settings` (a frozen `viva.core.data.Data`) it is built as
`Class(settings, kit)` from validated settings; without one, as `Class(**settings)`.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import msgspec

from viva.core.data import Data
from viva.core.errors import SetupError, SuiteError, VivaError

Factory = Callable[..., Any]

BUILT_IN: dict[str, dict[str, str]] = {
    "subjects": {
        "function": "viva.subjects.function:FunctionSubject",
        "http": "viva.subjects.http:HttpSubject",
        "openai": "viva.subjects.openai:OpenAISubject",
        "command": "viva.subjects.command:CommandSubject",
        "replay": "viva.subjects.replay:ReplaySubject",
        "embabel": "viva.subjects.embabel:EmbabelSubject",
    },
    "drivers": {
        "once": "viva.drivers.once:Once",
        "script": "viva.drivers.script:Script",
        "persona": "viva.drivers.persona:Persona",
        "direct": "viva.drivers.direct:Direct",
    },
    "scorers": {
        "equals": "viva.scoring.checks.match:Equals",
        "regex": "viva.scoring.checks.match:Regex",
        "contains": "viva.scoring.checks.match:Contains",
        "json_schema": "viva.scoring.checks.json_schema:JsonSchema",
        "field": "viva.scoring.checks.field:Field",
        "expression": "viva.scoring.checks.expression:Expression",
        "tools": "viva.scoring.checks.tools:Tools",
        "expectations": "viva.scoring.checks.expectations:Expectations",
        "cypher": "viva.scoring.checks.cypher:Cypher",
        "sql": "viva.scoring.checks.sql:Sql",
        "probe": "viva.scoring.checks.probe:Probe",
        "unchanged": "viva.scoring.checks.unchanged:Unchanged",
        "user": "viva.scoring.checks.user:User",
        "fuzzy": "viva.scoring.measures.text:Fuzzy",
        "token_f1": "viva.scoring.measures.text:TokenF1",
        "timing": "viva.scoring.measures.timing:TimingMeasure",
        "turns": "viva.scoring.measures.counts:Turns",
        "cost": "viva.scoring.measures.counts:Cost",
        "each": "viva.scoring.criteria:Each",
        "holistic": "viva.scoring.criteria:Holistic",
        "coherence": "viva.scoring.measures.rated:Coherence",
        "fluency": "viva.scoring.measures.rated:Fluency",
        "relevance": "viva.scoring.measures.rated:Relevance",
        "groundedness": "viva.scoring.measures.rated:Groundedness",
        "similarity": "viva.scoring.measures.rated:Similarity",
        "retrieval": "viva.scoring.measures.rated:Retrieval",
        "qa": "viva.scoring.measures.rated:Qa",
        "tone": "viva.scoring.measures.rated:Tone",
        "completion": "viva.scoring.measures.rated:Completion",
        "factual_correctness": "viva.scoring.measures.claims:FactualCorrectness",
        "answer_equivalence": "viva.scoring.measures.claims:AnswerEquivalence",
        "semantic_similarity": "viva.scoring.measures.semantic:SemanticSimilarity",
    },
    "formulas": {
        "mean@1": "viva.scoring.formulas:Mean",
        "weighted@1": "viva.scoring.formulas:Weighted",
        "pass_rate@1": "viva.scoring.formulas:PassRate",
        "rar_explicit@1": "viva.scoring.formulas:RarExplicit",
        "rar_holistic@1": "viva.scoring.formulas:RarHolistic",
        "embabel@1": "viva.scoring.formulas:Embabel",
    },
    "models": {
        "openai": "viva.models.openai:OpenAIModel",
        "azure": "viva.models.azure:AzureModel",
        "anthropic": "viva.models.anthropic:AnthropicModel",
        "google": "viva.models.google:GoogleModel",
        "huggingface": "viva.models.openai:HuggingFaceModel",
        "ollama": "viva.models.openai:OllamaModel",
        "openrouter": "viva.models.openai:OpenRouterModel",
        "litellm": "viva.models.litellm:LiteLLMModel",
        "local": "viva.models.local:LocalModel",
        "scripted": "viva.models.scripted:ScriptedModel",
    },
    "embedders": {
        "wordllama": "viva.models.embed:WordLlama",
        "openai": "viva.models.embed:OpenAIEmbedder",
    },
    "graphs": {
        "neo4j": "viva.stage.neo4j:Neo4jGraph",
        "embedded": "viva.stage.embedded:EmbeddedGraph",
    },
    "setups": {
        "cypher": "viva.stage.setups:CypherSetup",
        "http": "viva.stage.setups:HttpSetup",
        "command": "viva.stage.setups:CommandSetup",
        "sql": "viva.stage.setups:SqlSetup",
    },
    "seeds": {
        "text": "viva.stage.seeds:TextSeed",
        "conversation": "viva.stage.seeds:ConversationSeed",
    },
}

CONTRACTS: dict[str, tuple[str, ...]] = {
    "subjects": ("open", "close"),
    "drivers": ("drive",),
    "scorers": ("score",),
    "formulas": ("combine",),
    "models": ("complete", "close"),
    "embedders": ("embed",),
    "graphs": ("read", "write", "close"),
    "setups": ("apply",),
    "seeds": ("plant",),
}

ASYNC_METHODS = frozenset({"open", "close", "drive", "score", "complete", "embed", "read", "write", "apply", "plant"})

EXTRAS: dict[str, str] = {
    "jsonschema": "schema",
    "referencing": "schema",
    "jq": "jq",
    "genai_prices": "prices",
    "neo4j": "graph",
    "arcadedb_embedded": "graph",
    "xllamacpp": "local",
    "wordllama": "embed",
    "litellm": "litellm",
}


COMMAND = "command:"
"""What an allowed program is written with, to tell it from a module: `--allow command:python`."""


TEMPLATES = "templates"
"""What allows suites to bring prompts of their own."""


class Registry:
    """Finds implementations by kind and name, and remembers which modules the user allowed."""

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self._allowed = tuple(allow)
        self._own: dict[tuple[str, str], Factory] = {}
        self._entry_points: dict[str, dict[str, EntryPoint]] = {}

    def register(self, kind: str, name: str, factory: Factory) -> None:
        """Add an implementation from Python; checked against its contract now, not when first called."""
        check_contract(kind, name, factory)
        self._own[kind, name] = factory

    def names(self, kind: str) -> list[str]:
        """Every name known for a kind, sorted."""
        own = {name for of_kind, name in self._own if of_kind == kind}
        return sorted(own | set(BUILT_IN.get(kind, {})) | set(self._installed(kind)))

    def knows(self, kind: str, name: str) -> bool:
        """Whether a plain name is known, without importing it."""
        return (kind, name) in self._own or name in BUILT_IN.get(kind, {}) or name in self._installed(kind)

    def find(self, kind: str, name: str, where: str = "") -> Factory:
        """Turn a name into a factory. Raises SuiteError for unknown and for not allowed names."""
        if (kind, name) in self._own:
            return self._own[kind, name]
        if name in BUILT_IN.get(kind, {}):
            built_in: Factory = self._load(BUILT_IN[kind][name])
            return built_in
        if name in self._installed(kind):
            factory: Factory = self._installed(kind)[name].load()
        elif ":" in name or "." in name:
            factory = self._import_allowed(name, where)
        else:
            raise self._unknown(kind, name, where)
        check_contract(kind, name, factory, where)
        return factory

    def settings_type(self, kind: str, name: str, where: str = "") -> type[Data] | None:
        """The type of an implementation's settings; None where it takes free keyword arguments."""
        found = getattr(self.find(kind, name, where), "Settings", None)
        return found if isinstance(found, type) and issubclass(found, msgspec.Struct) else None  # type: ignore[return-value]

    def build(self, kind: str, name: str, settings: Mapping[str, Any], kit: Any, where: str = "") -> Any:
        """Build an implementation from a suite's settings."""
        factory = self.find(kind, name, where)
        typed = self.settings_type(kind, name, where)
        if typed is None:
            try:
                return factory(**settings)
            except TypeError as error:
                takes = ", ".join(inspect.signature(factory).parameters) or "no settings"
                raise SuiteError(f"{name!r}: {error}", hint=f"it takes: {takes}", where=where) from error
        try:
            return factory(read_settings(typed, settings, name, where), kit)
        except VivaError as error:
            error.where = error.where or where
            raise

    def allows(self, module: str) -> bool:
        """Whether the user allowed importing a module: by its name, or by a package above it."""
        return any(module == allowed or module.startswith(allowed + ".") for allowed in self._allowed)

    def check_program(self, program: str, where: str = "") -> None:
        """Refuse a program the user did not allow: starting one is running code, and a suite may come from anybody."""
        name = program.replace("\\", "/").rpartition("/")[2]
        if f"{COMMAND}{program}" in self._allowed or (name == program and f"{COMMAND}*" in self._allowed):
            return
        raise SuiteError(
            f"starting the program {program!r} is not allowed",
            kind="not_allowed",
            hint=f"a suite cannot allow it; run with --allow {COMMAND}{program} if you trust this suite",
            where=where,
        )

    def check_templates(self, where: str = "") -> None:
        """Refuse a suite's own templates unless the user allowed them: the wording of a question moves its answer."""
        if TEMPLATES not in self._allowed:
            raise SuiteError(
                "this suite brings templates of its own, which is not allowed",
                kind="not_allowed",
                hint=f"a suite cannot allow it; run with --allow {TEMPLATES} if you trust this suite's prompts",
                where=where,
            )

    def import_object(self, name: str, where: str = "") -> Any:
        """Import `module:attr` or `module.attr` where the user allowed it (for function subjects)."""
        return self._import_allowed(name, where)

    def _installed(self, kind: str) -> dict[str, EntryPoint]:
        if kind not in self._entry_points:
            self._entry_points[kind] = {point.name: point for point in entry_points(group=f"viva.{kind}")}
        return self._entry_points[kind]

    def _import_allowed(self, name: str, where: str) -> Any:
        module, _, attribute = name.partition(":") if ":" in name else name.rpartition(".")
        refuse = SuiteError(
            f"importing {name!r} is not allowed",
            kind="not_allowed",
            hint=f"a suite cannot allow it; run with --allow {module} if you trust that module",
            where=where,
        )
        if not _is_dotted_name(module) or not _is_dotted_name(attribute) or not self.allows(module):
            raise refuse
        if any(part.startswith("__") for part in attribute.split(".")):
            raise refuse
        found = self._load(f"{module}:{attribute}", where)
        # A module may re-export another one's functions (`logging.os.system`): the object's own home must be
        # allowed too. A method of a builtin (`NAMES.get`) names no module; its type does.
        home = getattr(found, "__module__", None) or type(found).__module__
        if not self.allows(str(home)):
            raise refuse
        return found

    def _load(self, target: str, where: str = "") -> Any:
        module, _, attribute = target.partition(":")
        try:
            found: Any = importlib.import_module(module)
        except ModuleNotFoundError as error:
            raise missing_package(error.name or module, where) from error
        except Exception as error:
            raise SuiteError(f"importing {module!r} failed: {type(error).__name__}: {error}", where=where) from error
        for part in attribute.split("."):
            if not hasattr(found, part):
                raise SuiteError(f"{module!r} has no {attribute!r}", where=where)
            found = getattr(found, part)
            if inspect.ismodule(found):
                raise SuiteError(f"{target!r} leads into another module", kind="not_allowed", where=where)
        return found

    def _unknown(self, kind: str, name: str, where: str) -> SuiteError:
        known = self.names(kind)
        return SuiteError(f"no {kind.removesuffix('s')} called {name!r}", hint=suggest(name, known), where=where)


def missing_package(package: str, where: str = "") -> SetupError:
    """Say which extra to install for a package that is not there."""
    extra = EXTRAS.get(package.partition(".")[0])
    hint = f"pip install 'viva[{extra}]'" if extra else f"install the package that provides {package!r}"
    return SetupError(f"the package {package!r} is not installed", kind="missing_package", hint=hint, where=where)


def need(package: str, where: str = "") -> Any:
    """Import an optional package when it is first used, or say how to install it."""
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise missing_package(package, where) from error


def suggest(name: str, known: Iterable[str]) -> str:
    """Offer the nearest known name, and list them all when they are few."""
    known = list(known)
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    guess = f"did you mean {near[0]!r}? " if near else ""
    return f"{guess}known: {', '.join(known)}" if known else "none is known"


def check_contract(kind: str, name: str, factory: Any, where: str = "") -> None:
    """Refuse an implementation that lacks a method of its contract, or has a plain one where it must be async."""
    if kind not in CONTRACTS:
        raise SuiteError(f"there is no kind of implementation called {kind!r}", hint=suggest(kind, CONTRACTS))
    if not callable(factory):
        raise SuiteError(f"{name!r} is not a class", where=where)
    for method in CONTRACTS[kind]:
        found = getattr(factory, method, None)
        if found is None:
            raise SuiteError(f"{name!r} is no {kind.removesuffix('s')}: it has no {method}()", where=where)
        if method in ASYNC_METHODS and not inspect.iscoroutinefunction(found):
            raise SuiteError(f"{name!r}: {method}() must be `async def`", where=where)


def read_settings(kind: type[Data], settings: Mapping[str, Any], name: str, where: str = "") -> Data:
    """Turn a suite's settings into their type, with the nearest valid key for a misspelt one."""
    fields = {field.encode_name for field in msgspec.structs.fields(kind)}
    for key in settings:
        if key not in fields:
            raise SuiteError(f"{name}: unknown setting {key!r}", hint=suggest(key, sorted(fields)), where=where)
    try:
        return msgspec.convert(dict(settings), kind, strict=True)
    except (msgspec.ValidationError, ValueError) as error:
        raise SuiteError(f"{name}: {error}", where=where) from error


def _is_dotted_name(text: str) -> bool:
    return bool(text) and all(part.isidentifier() for part in text.split("."))
