"""What `viva init` writes: a commented suite and a tiny agent that run as they are."""

from __future__ import annotations

from pathlib import Path

import msgspec

from viva.config import settings
from viva.config.schema import suite_schema
from viva.core.errors import SetupError
from viva.registry import Registry

SCHEMA = Path(".viva") / "suite.schema.json"
FILES = ("suite.yml", "agent.py")
SETTINGS = b"""# What suites may do in this project. A suite cannot allow anything itself: it may come from anybody.
# The starter's agent is a Python program.
allow = ["command:python"]
"""
_TEMPLATES = Path(__file__).with_name("templates")


def write_starter(folder: str | Path, *, force: bool = False, registry: Registry | None = None) -> list[Path]:
    """Write the starter files, the schema their first line names, and the permission to start the agent.

    Files that exist are kept unless forced; the user's own settings are kept in any case.
    """
    home = Path(folder)
    existing = [name for name in FILES if (home / name).exists()]
    if existing and not force:
        hint = "choose another folder, or add --force to replace them"
        raise SetupError(f"{' and '.join(existing)} already there", kind="exists", hint=hint, where=str(home))
    contents = {name: (_TEMPLATES / name).read_bytes() for name in FILES}
    contents[str(SCHEMA)] = msgspec.json.format(msgspec.json.encode(suite_schema(registry)), indent=2) + b"\n"
    if not (home / settings.FILE).exists():
        contents[str(settings.FILE)] = SETTINGS
    try:
        return [_write(home / name, content) for name, content in contents.items()]
    except OSError as error:
        raise SetupError(f"cannot write: {error.strerror or error}", kind="not_writable", where=str(home)) from error


def _write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path
