"""What `viva doctor` looks at, one function for each part of the machine."""

from __future__ import annotations

import argparse
import platform
import shutil
import tempfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from viva.app.override import override
from viva.app.project import Project
from viva.cli.tables import count
from viva.config.load import load_suite
from viva.core.data import replace
from viva.core.errors import VivaError
from viva.core.ref import Ref
from viva.core.secret import MASK
from viva.core.suite import Roles, Suite
from viva.models.catalogue import DEFAULTS, caveat, resolve
from viva.registry import EXTRAS
from viva.version import __version__

CORE = ("aiohttp", "jinja2", "msgspec", "PyYAML", "rapidfuzz", "rich")
PACKAGES = {"genai_prices": "genai-prices", "arcadedb_embedded": "arcadedb-embedded"}
"""Where the name to install differs from the name to import."""

PATIENCE_S = 5.0


class Finding(NamedTuple):
    """One thing the doctor looked at."""

    what: str
    state: Literal["ok", "missing", "warning", "broken"]
    found: str
    hint: str = ""


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


def settings(args: argparse.Namespace, project: Project, suite: Suite | None) -> Iterator[Finding]:
    """What a run would use, and who said so: the command line before the suite, the environment and the settings."""
    written = Roles() if suite is None else suite.roles
    for role in ("model", "user", "judge"):
        said = {
            "command line": getattr(args, role),
            "suite": getattr(written, role),
            f"VIVA_{role.upper()}": project.environment.get(f"VIVA_{role.upper()}"),
            "settings": getattr(project.settings, role),
        }
        yield _role(role, next(((name, who) for who, name in said.items() if name), None), project)
    for module in (*project.settings.allow, *args.allow):
        yield Finding(f"allow {module}", "ok", "suites may import it")
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


async def endpoints(suite: Suite) -> list[Finding]:
    """Whether the suite's subjects answer at all."""
    subjects = [suite.subject] + [variant.subject for case in suite.cases for variant in case.variants]
    looked: dict[str, Finding] = {}
    for subject in subjects:
        if subject is None:
            continue
        url = subject.settings.get("url") or subject.settings.get("base_url")
        if isinstance(url, str):
            place = _place(url)
            if place not in looked:
                looked[place] = await _reach(place)
        elif subject.name == "command" and "program" not in looked:
            looked["program"] = _program(subject)
    return list(looked.values())


async def _reach(place: str) -> Finding:
    from viva.wire.client import Wire, WireError, WireRequest

    wire = Wire()
    try:
        response = await wire.call(WireRequest("GET", place, timeout_s=PATIENCE_S, max_bytes=1_000_000))
    except WireError as error:
        # An answer too strange to read is an answer all the same.
        if error.kind in ("too_large", "malformed", "redirect"):
            return Finding(f"reach {place}", "ok", f"answers ({error.kind})")
        return Finding(
            f"reach {place}", "broken", f"{error.kind}: {error.detail}", "start the agent, or mend its address"
        )
    finally:
        await wire.close()
    return Finding(f"reach {place}", "ok", f"answers (status {response.status}, {response.took_ms:,.0f} ms)")


def _program(subject: Ref) -> Finding:
    argv = subject.settings.get("argv") or subject.settings.get("command") or [""]
    name = str(argv[0] if isinstance(argv, list | tuple) else argv).split(" ")[0]
    found = shutil.which(name)
    if found:
        return Finding(f"program {name}", "ok", found)
    return Finding(f"program {name}", "broken", "not found", "install it, or give its full path")


def _place(url: str) -> str:
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}{f':{parts.port}' if parts.port else ''}/"


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""
