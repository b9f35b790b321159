"""One name becomes a model: `openai/gpt-5.4-mini`, `local/smollm2`, `scripted:rules.yml`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from viva.core.errors import SetupError
from viva.models.cache import CachedReplies
from viva.models.call import CalledModel, gate_for
from viva.models.gate import GateSettings, Notice
from viva.models.retry import PATIENCE_S, attempts_of
from viva.ports.kit import Kit
from viva.ports.meter import Meter
from viva.ports.model import Embedder
from viva.ports.store import ResponseCache
from viva.registry import Registry, suggest

Env = Callable[[str], str | None]

DEFAULTS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("OPENAI_API_KEY",), "openai/gpt-5.4-mini"),
    (("ANTHROPIC_API_KEY",), "anthropic/claude-haiku-4-5"),
    (("AZURE_OPENAI_KEY", "AZURE_OPENAI_API_KEY"), "azure"),
    (("GEMINI_API_KEY", "GOOGLE_API_KEY"), "google/gemini-3.5-flash"),
    (("HF_TOKEN", "HUGGINGFACE_API_KEY"), "huggingface/openai/gpt-oss-120b"),
    (("OPENROUTER_API_KEY",), "openrouter/openai/gpt-5.4-mini"),
)
"""Whose key is found first plays a role nobody named a model for; the order and the models are documented."""

CHOICES = (
    "openai/NAME, azure/DEPLOYMENT, anthropic/NAME, google/NAME, huggingface/OWNER/NAME, openrouter/VENDOR/NAME, "
    "ollama/NAME, openai/NAME@http://host:port/v1, litellm/PROVIDER/NAME, local/FILE.gguf, local/smollm2 and "
    "scripted:FILE (the last two need no key)"
)


BUNDLED = "local/smollm2"
NEAR_CHANCE = 0.6
"""A judge right on fewer of the labelled items than this is offered with a warning; a coin is right on half."""


class Named(msgspec.Struct, frozen=True):
    """A model's name, taken apart."""

    provider: str
    model: str
    base_url: str = ""


def parse_name(name: str) -> Named:
    """Take a model's name apart. Raises SetupError for what is no name of a model."""
    name = name.strip()
    if name.startswith("scripted:"):
        return Named("scripted", name.removeprefix("scripted:"))
    provider, slash, rest = name.partition("/")
    model, at, url = rest.partition("@http")
    if (not slash and provider != "azure") or not provider or (slash and not model):
        raise SetupError(f"{name!r} is no name of a model", kind="unknown_model", hint=f"write one of: {CHOICES}")
    return Named(provider, model, "http" + url if at else "")


def resolve(name: str | None, role: str, env: Env) -> str:
    """The model that plays a role: the one named, else VIVA_JUDGE (VIVA_USER, …), else the first whose key is set.

    Who is named was chosen before by `config.settings.choose_roles`: flag, suite, environment, the user's settings.
    """
    chosen = name or env(f"VIVA_{role.upper()}")
    if chosen:
        return chosen
    for keys, default in DEFAULTS:
        if any(env(key) for key in keys) and (default != "azure" or env("AZURE_OPENAI_ENDPOINT")):
            return default
    keys_known = ", ".join(keys[0] for keys, _ in DEFAULTS)
    raise SetupError(
        f"no model to play the {role}",
        kind="missing_model",
        hint=f"use --{role} NAME, `roles: {{{role}: NAME}}` in the suite, VIVA_{role.upper()}, `{role} = NAME` in "
        f".viva/settings.toml, or set one of {keys_known}. NAME is one of: {CHOICES}. {caveat(BUNDLED)}",
    )


def build_model(
    name: str,
    kit: Kit,
    *,
    cache: ResponseCache | None = None,
    meter: Meter | None = None,
    notice: Notice | None = None,
    registry: Registry | None = None,
    attempts: int | None = None,
    gate: GateSettings | None = None,
    patience_s: float | None = None,
    trusted: bool = False,
) -> CalledModel:
    """Build a model with retry, gate, cache and accounting around it.

    `trusted` says that the user named it (a flag, the environment), not a suite: its files may then lie anywhere.
    `notice` is told of long pauses, and of calls that are tried again for more than a few seconds. `patience_s` is how
    long one call waits for an endpoint that answered before and cannot be reached (else VIVA_PATIENCE_S, else 60).
    Models of one account share a gate, however many are built.
    """
    tried_once = _find(parse_name(name), kit, registry or Registry(), trusted)
    clock = kit.clock
    settings = gate or getattr(tried_once, "gate_settings", None)
    entrance = gate_for(getattr(tried_once, "account", name), clock, settings)
    entrance.notice = notice or entrance.notice
    kept = None if cache is None else CachedReplies(cache, tried_once.name, getattr(tried_once, "endpoint", ""))
    return CalledModel(
        tried_once,
        clock=clock,
        gate=entrance,
        retry=attempts_of(attempts),
        cache=kept,
        meter=meter,
        patience_s=_patience_s(kit.env) if patience_s is None else patience_s,
    )


def build_embedder(name: str, kit: Kit, *, registry: Registry | None = None) -> Embedder:
    """Build an embedding model: '' or `wordllama` is offline; `openai/NAME`, `openai/NAME@URL` is an endpoint."""
    provider, _, rest = (name or "wordllama").partition("/")
    model, at, url = rest.partition("@http")
    settings = {"model": model, "base_url": "http" + url if at else ""}
    embedder: Embedder = (registry or Registry()).build("embedders", provider, settings, kit)
    return embedder


def caveat(name: str) -> str:
    """What must be printed beside a model's name: the measured accuracy of one too small to judge; else ''."""
    from viva.judging.labelled.load import measured  # Read only where a caveat is printed.

    found = measured(name)
    if found is None or found.accuracy > NEAR_CHANCE:
        return ""
    return (
        f"{name} was {found}, and says met {found.yes_rate:.0%} of the time: no better than chance. "
        "It shows that everything works; its scores mean nothing."
    )


def _patience_s(env: Env) -> float:
    said = env("VIVA_PATIENCE_S")
    try:
        patience_s = PATIENCE_S if said is None else float(said)
    except ValueError:
        patience_s = math.nan
    if not 0 <= patience_s < math.inf:
        raise SetupError(f"VIVA_PATIENCE_S is {said!r}, and not a number of seconds", hint="write 60, say")
    return patience_s


def _find(named: Named, kit: Kit, registry: Registry, trusted: bool) -> Any:
    if not registry.knows("models", named.provider):
        raise SetupError(
            f"no provider of models called {named.provider!r}",
            kind="unknown_model",
            hint=suggest(named.provider, registry.names("models")),
        )
    settings = {"model": named.model, "base_url": named.base_url, "path": _own_file(named, trusted)}
    kind = registry.settings_type("models", named.provider)
    known = {field.name for field in msgspec.structs.fields(kind)} if kind is not None else {"model"}
    given = {key: value for key, value in settings.items() if key in known and (value or key == "model")}
    return registry.build("models", named.provider, given, kit)


def _own_file(named: Named, trusted: bool) -> str:
    """The file the user named, relative to where the user is; '' where none is meant or the suite named it."""
    if not trusted or named.provider not in ("scripted", "local") or named.model == "smollm2":
        return ""
    return str(Path(named.model).expanduser().absolute())
