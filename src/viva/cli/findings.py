"""What `viva doctor` looks at, one function for each part of the machine."""

from __future__ import annotations

import argparse
import platform
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from viva.app.override import override
from viva.app.project import Project
from viva.cli.finding import Finding
from viva.cli.tables import count
from viva.config.load import load_suite
from viva.core.data import replace
from viva.core.errors import VivaError
from viva.core.secret import MASK
from viva.core.suite import Roles, Suite
from viva.models.catalogue import DEFAULTS, caveat, resolve
from viva.registry import COMMAND, EXTRAS, TEMPLATES
from viva.version import __version__

CORE = ("aiohttp", "jinja2", "msgspec", "PyYAML", "rapidfuzz", "rich")
PACKAGES = {"genai_prices": "genai-prices", "arcadedb_embedded": "arcadedb-embedded"}
"""Where the name to install differs from the name to import."""


def versions() -> Iterator[Finding]:
    """viva, Python and the packages viva always needs."""
    yield Finding("viva", "ok", __version__)
    yield Finding("python", "ok", f"{platform.python_version()} on {platform.system()} {platform.machine()}")
    for package in CORE:
        version = _version(package)
        yield Finding(
            package, "ok" if version else "broken", version or "not installed", "" if version else "pip install viva"
        )


def extras() -> Iterator[Finding]:
    """Packages for special purposes."""
    for module, extra in EXTRAS.items():
        version = _version(PACKAGES.get(module, module))
        hint = "" if version else f"pip install 'viva[{extra}]'"
        yield Finding(f"extra {extra}", "ok" if version else "missing", f"{module} {version or 'not installed'}", hint)


def store(path: Path) -> Finding:
    """Whether runs can be kept, without leaving anything behind."""
    folder = path.absolute().parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return Finding("store", "broken", f"{path}: {error}", "name another place with --store or VIVA_STORE")
    free = shutil.disk_usage(folder).free
    known = "exists" if path.exists() else "will be made"
    return Finding("store", "ok", f"{path} ({known}, {free / 1e9:,.1f} GB free)")


def keys(project: Project) -> Iterator[Finding]:
    """Which keys of providers are there; never their values."""
    for names, _ in DEFAULTS:
        found = next((name for name in names if project.environment.own_secret(name)), None)
        yield Finding(f"key {names[0]}", "ok" if found else "missing", f"{found}={MASK}" if found else "not set")


def suite(args: argparse.Namespace, project: Project) -> tuple[Suite | None, list[Finding]]:
    """Read the suite as a run would."""
    file, allow_env = args.suite, project.environment.allow
    if file is None:
        return None, []
    try:
        read = load_suite(file, registry=project.registry, lenient=args.lenient, allow_env=allow_env)
        if read.subject is not None:
            read = replace(read, subject=override(read.subject, dict(args.settings), project.registry, allow_env))
    except VivaError as error:
        return None, [Finding(f"suite {file}", "broken", str(error))]
    return read, [Finding(f"suite {file}", "ok", f"{read.name}, {count(len(read.cases), 'case')}")]


def settings(
    args: argparse.Namespace, project: Project, suite: Suite | None, needed: Mapping[str, str] | None
) -> Iterator[Finding]:
    """What a run would use, and who said so: the command line before the suite, the environment and the settings.

    `needed` are the roles the suite asks for, each with what is wrong with its model; None without a suite.
    """
    written = Roles() if suite is None else suite.roles
    for role in ("model", "user", "judge"):
        said = {
            "command line": getattr(args, role),
            "suite": getattr(written, role),
            f"VIVA_{role.upper()}": project.environment.get(f"VIVA_{role.upper()}"),
            "settings": getattr(project.settings, role),
        }
        found = _role(role, next(((name, who) for who, name in said.items() if name), None), project)
        yield found if needed is None or role == "model" else _with_need(found, role, needed)
    for name in (*project.settings.allow, *args.allow):
        yield Finding(f"allow {name}", "ok", _permits(name))
    for name in project.environment.allow:
        yield Finding(f"allow-env {name}", "ok", "suites may read it")


def _role(role: str, said: tuple[str, str] | None, project: Project) -> Finding:
    if said is not None:
        warning = caveat(said[0]) if role == "judge" else ""
        return Finding(f"role {role}", "warning" if warning else "ok", f"{said[0]} ({said[1]})", warning)
    if role == "model":
        return Finding("role model", "ok", "the agent's own choice")
    try:
        return Finding(
            f"role {role}", "ok", f"{resolve(None, role, project.environment.get)} (for the key that is set)"
        )
    except VivaError:
        return Finding(f"role {role}", "missing", "no model", f"needed only by some suites: --{role} NAME")


def _with_need(found: Finding, role: str, needed: Mapping[str, str]) -> Finding:
    if role not in needed:
        return found._replace(hint="not needed by this suite")
    if needed[role]:
        return found._replace(state="broken", hint=f"needed by this suite: {needed[role]}")
    return found._replace(hint=f"needed by this suite{f'; {found.hint}' if found.hint else ''}")


def _permits(name: str) -> str:
    if name.startswith(COMMAND):
        return "suites may start it"
    return "suites may bring prompts of their own" if name == TEMPLATES else "suites may import it"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
