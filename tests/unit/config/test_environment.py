"""The environment and the user's own settings: who goes before whom, and what is never touched."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from viva.config.env import Environment, read_dotenv
from viva.config.settings import Settings, choose_roles, choose_store, find_project, read_settings
from viva.core.errors import SuiteError
from viva.core.secret import redactor
from viva.core.suite import Roles


def test_a_dotenv_file_is_read_and_never_overrides_the_real_environment(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# a comment\nexport VIVA_JUDGE='quoted # value'\nVIVA_USER = from file # note\n\nnot a line\nVIVA_MODEL=file\n"
        'OPENAI_API_KEY="file-key-value"\nBAD-NAME=x\n'
    )
    before = dict(os.environ)
    environment = Environment(folder=tmp_path, variables={"VIVA_MODEL": "real", "VIVA_USER": ""})
    assert environment.get("VIVA_JUDGE") == "quoted # value"
    assert environment.get("VIVA_USER") == "from file"
    assert environment.get("VIVA_MODEL") == "real"
    assert environment.get("OPENAI_BASE_URL") is None
    assert environment.get("OPENAI_API_KEY") == "file-key-value"
    assert redactor.text("file-key-value") == "•••"
    assert dict(os.environ) == before


def test_a_missing_or_odd_dotenv_file_is_no_problem(tmp_path: Path) -> None:
    assert read_dotenv(tmp_path / "none") == {}
    (tmp_path / ".env").write_bytes(b"A=\xff\xfe\nB=1\0\n=x\n")
    assert read_dotenv(tmp_path / ".env")["A"]


def test_a_flag_goes_before_the_suite_before_the_environment_before_the_settings() -> None:
    environment = Environment(variables={"VIVA_JUDGE": "env", "VIVA_USER": "env"})
    mine = Settings(judge="settings", user="settings", model="settings")
    chosen = choose_roles(Roles(judge="flag"), Roles(judge="suite", user="suite"), environment, mine)
    assert chosen == Roles(judge="flag", user="suite", model="settings")
    chosen = choose_roles(Roles(), Roles(), environment, mine)
    assert chosen == Roles(judge="env", user="env", model="settings")
    assert choose_roles(Roles(), Roles(), Environment(variables={}), Settings()) == Roles()


def test_the_store_is_found_in_the_same_order(tmp_path: Path) -> None:
    bare = Environment(variables={})
    assert choose_store(None, bare, Settings(), tmp_path) == tmp_path / ".viva" / "viva.db"
    assert choose_store(None, bare, Settings(store="runs.db"), tmp_path) == tmp_path / "runs.db"
    assert choose_store(None, bare, Settings(store="postgresql://h/d"), tmp_path) == "postgresql://h/d"
    assert choose_store(None, Environment(variables={"VIVA_STORE": "e.db"}), Settings(store="s.db"), tmp_path) == "e.db"
    assert choose_store("f.db", Environment(variables={"VIVA_STORE": "e.db"}), Settings(), tmp_path) == "f.db"


def test_settings_are_those_of_the_project_one_works_in(tmp_path: Path) -> None:
    project = tmp_path / "project"
    deep = project / "a" / "b"
    deep.mkdir(parents=True)
    (project / "pyproject.toml").write_text('[tool.viva]\nallow = ["my.agent"]\nallow_env = ["AGENT_*"]\njudge = "m"\n')
    assert find_project(deep) == project
    assert read_settings(project) == Settings(allow=("my.agent",), allow_env=("AGENT_*",), judge="m")
    (project / ".viva").mkdir()
    (project / ".viva" / "settings.toml").write_text('store = "x.db"\n')
    assert read_settings(project) == Settings(store="x.db")
    assert read_settings(tmp_path) == Settings()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("allow = 5", "expected a list"),
        ("alow = []", "did you mean 'allow'"),
        ("allow = [", "not valid TOML"),
        ("judge = 5", "expected text"),
    ],
)
def test_wrong_settings_name_their_file(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / ".viva").mkdir()
    path = tmp_path / ".viva" / "settings.toml"
    path.write_text(text)
    with pytest.raises(SuiteError, match=words) as error:
        read_settings(tmp_path)
    assert error.value.where == str(path)


def test_a_suite_s_folder_is_not_where_settings_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stranger = tmp_path / "stranger"
    (stranger / ".viva").mkdir(parents=True)
    (stranger / ".viva" / "settings.toml").write_text('allow = ["os"]\n')
    mine = tmp_path / "mine"
    (mine / ".git").mkdir(parents=True)
    monkeypatch.chdir(mine)
    assert read_settings(find_project()) == Settings()
