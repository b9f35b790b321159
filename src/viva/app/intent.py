"""What is about to be run: the suite with the caller's changes, and the record of it that a run keeps."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from viva.app.hashes import hash_parts
from viva.app.override import override
from viva.app.project import Project
from viva.app.prompts import hash_prompts
from viva.app.spec import RunSpec
from viva.app.workshop import own_ref
from viva.config.load import load_suite
from viva.config.settings import choose_roles
from viva.core.case import Case
from viva.core.data import content_hash, replace
from viva.core.errors import SuiteError
from viva.core.limits import RunLimits
from viva.core.ref import Ref
from viva.core.run import Run
from viva.core.suite import Roles, Suite
from viva.engine.events import Warned
from viva.engine.plan import count_trials, select
from viva.version import __version__

FILES = ("scripted:", "local/")


@dataclass(frozen=True, slots=True)
class Intent:
    """A suite made ready: cases chosen, roles cast, parts hashed."""

    run: Run
    cases: tuple[Case, ...]
    templates: dict[str, str]
    own_subject: Any = None


def read_intent(spec: RunSpec, project: Project, now: datetime) -> Intent:
    """Load the suite and apply what the caller says. Raises SuiteError or SetupError."""
    suite = spec.suite if isinstance(spec.suite, Suite) else _load(spec, project)
    cases = select(suite.cases, spec.match, spec.tags, spec.limit)
    if spec.repeats is not None:
        cases = tuple(replace(case, repeats=spec.repeats) for case in cases)
    _refuse_doubles(cases)
    subject = _subject(spec, suite, project)
    roles, trusted = _cast(spec, suite, project)
    templates = dict(suite.templates)
    prompts = hash_prompts(cases, templates, Path(suite.folder) if suite.folder else None)
    hashes = hash_parts(cases, subject, roles, project.registry, prompts)
    run = Run(
        templates=templates,
        id=run_id(now),
        suite=suite.name,
        suite_hash=content_hash(hashes),
        hashes=hashes,
        planned=count_trials(cases),
        created_at=now.isoformat(),
        subject=subject,
        roles=roles,
        sources=suite.sources,
        thresholds=suite.thresholds,
        limits=merge_limits(spec.limits, suite.limits),
        concurrency=spec.concurrency or suite.concurrency,
        seed=suite.seed,
        folder=suite.folder,
        format=suite.format,
        viva_version=__version__,
        filters=spec.filters,
        tags={"trusted_roles": " ".join(sorted(trusted))} if trusted else {},
    )
    return Intent(run, cases, templates, None if isinstance(spec.subject, Ref) else spec.subject)


def run_id(now: datetime) -> str:
    """A name that sorts by time and is never given twice."""
    return f"{now:%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def merge_limits(over: RunLimits | None, under: RunLimits) -> RunLimits:
    """Ceilings the caller named go before the others; a ceiling nobody named again stays."""
    if over is None:
        return under
    named = {name: value for name in over.__struct_fields__ if (value := getattr(over, name)) is not None}
    return replace(under, **named)


def _load(spec: RunSpec, project: Project) -> Suite:
    def warn(text: str) -> None:
        if spec.on_notice is not None:
            spec.on_notice(Warned(text))

    path = Path(str(spec.suite))
    allow_env = project.environment.allow
    return load_suite(path, registry=project.registry, lenient=spec.lenient, allow_env=allow_env, warn=warn)


def _subject(spec: RunSpec, suite: Suite, project: Project) -> Ref:
    if spec.subject is not None:
        subject = own_ref(spec.subject)
        if spec.settings and not isinstance(spec.subject, Ref):
            raise SuiteError(
                "settings are for a subject with a name", hint="give a Python object its settings yourself"
            )
    elif suite.subject is None:
        hint = "add `subject:` to the suite, or pass one: viva.run(suite, subject=my_agent)"
        raise SuiteError(f"the suite {suite.name!r} names no subject", hint=hint)
    else:
        subject = suite.subject
    return override(subject, spec.settings, project.registry, project.environment.allow)


def _cast(spec: RunSpec, suite: Suite, project: Project) -> tuple[Roles, set[str]]:
    """Who plays which part, and which of them the user named (their files may lie anywhere)."""
    roles = choose_roles(spec.roles, suite.roles, project.environment, project.settings)
    changes: dict[str, str] = {}
    trusted = set()
    for role in ("model", "user", "judge"):
        name = getattr(roles, role)
        if name is not None and (getattr(spec.roles, role) is not None or getattr(suite.roles, role) is None):
            trusted.add(role)
            changes[role] = _absolute(name)
    return replace(roles, **changes), trusted


def _absolute(name: str) -> str:
    """A file the user named is meant from where the user is; a run may be resumed from elsewhere."""
    for prefix in FILES:
        path = name.removeprefix(prefix)
        if name.startswith(prefix) and Path(path).expanduser().exists():
            return prefix + str(Path(path).expanduser().absolute())
    return name


def _refuse_doubles(cases: tuple[Case, ...]) -> None:
    seen: set[str] = set()
    for case in cases:
        if case.id in seen:
            raise SuiteError(
                f"two cases are called {case.id!r}", hint="give each case an id of its own", where=case.where
            )
        seen.add(case.id)
