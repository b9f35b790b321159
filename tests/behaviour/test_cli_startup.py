"""A quick start: help imports next to nothing, and importing viva imports no optional package."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from viva.cli.main import COMMANDS
from viva.registry import EXTRAS

HEAVY = {"msgspec", "rich", "aiohttp", "jinja2", "yaml", "rapidfuzz", "sqlite3", "asyncio"}


def modules_after(script: str) -> set[str]:
    """The top-level modules a fresh interpreter has after a script."""
    code = f"{script}\nimport json, sys\nsys.__stderr__.write(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(done.stderr))


def tops(modules: set[str]) -> set[str]:
    return {name.split(".")[0] for name in modules}


def test_help_imports_no_package_and_no_command() -> None:
    found = modules_after("from viva.cli.main import main\nmain(['--help'])")
    assert tops(found) & (HEAVY | set(EXTRAS)) == set()
    assert {module for module, _ in COMMANDS.values()} & found == set()


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_imports_no_optional_package(command: str) -> None:
    found = modules_after(f"from viva.cli.main import main\nmain(['{command}', '--help'])")
    assert tops(found) & {"rich", "aiohttp", "jinja2", *EXTRAS} == set()


def test_importing_viva_imports_no_optional_package() -> None:
    assert tops(modules_after("import viva")) & {"rich", "aiohttp", "jinja2", *EXTRAS} == set()
