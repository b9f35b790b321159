"""What is built is what works: the wheel holds everything viva needs at run time."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from the working tree."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_every_file_of_the_package_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        inside = set(archive.namelist())
    wanted = {
        path.relative_to(SOURCE).as_posix()
        for path in (SOURCE / "viva").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert wanted - inside == set()
    assert "viva/py.typed" in inside
    assert any(name.endswith("/licenses/LICENSE") for name in inside)


def test_data_files_are_among_them(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        data = [
            name for name in archive.namelist() if name.startswith("viva/") and not name.endswith((".py", ".typed"))
        ]
    assert any("migrations" in name for name in data)
    assert any(name.endswith(".jinja") or "template" in name for name in data)


def test_the_wheel_holds_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"viva"}


@pytest.mark.soak
def test_an_installed_wheel_runs_the_starter_suite(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "venv"
    venv.create(place, with_pip=True)
    python = str(place / "bin" / "python")
    constraints = str(ROOT / "constraints.txt")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "-c", constraints, str(wheel)], check=True)
    project = tmp_path / "project"
    project.mkdir()
    env = {key: value for key, value in os.environ.items() if not key.startswith(("VIVA_", "PYTHON"))}

    def viva(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(place / "bin" / "viva"), *words]
        return subprocess.run(command, cwd=project, env=env, capture_output=True, text=True, check=False)

    assert viva("--version").stdout.startswith("viva ")
    assert viva("init").returncode == 0
    (suite,) = project.glob("*.y*ml")
    ran = viva("run", suite.name)
    assert ran.returncode == 0, ran.stderr
    assert "passed" in ran.stdout
