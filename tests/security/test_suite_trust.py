"""What a suite may name: implementations, files and variables, and only with the user's permission."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from viva.config.env import Environment
from viva.config.files import resolve
from viva.config.load import load_suite, load_text
from viva.core.data import Data
from viva.core.errors import SetupError, SuiteError
from viva.core.secret import redactor
from viva.registry import Registry


class AgentSettings(Data, frozen=True):
    url: str = ""
    headers: dict[str, str] = {}
    api_key: str = ""
    session: dict[str, Any] = {}
    body: Any = None
    environment: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()


class Agent:
    Settings = AgentSettings

    async def open(self, opening: Any) -> Any: ...

    async def close(self) -> None: ...


class CheckSettings(Data, frozen=True):
    arguments: dict[str, Any] = {}
    headers: dict[str, str] = {}
    text: str = ""
    token: str = ""


class Check:
    Settings = CheckSettings
    shorthand = "text"

    async def score(self, evidence: Any) -> Any: ...


def read(
    subject: str = "", case: str = "input: hi", allow: tuple[str, ...] = (), allow_env: tuple[str, ...] = ()
) -> Any:
    registry = Registry(allow)
    registry.register("subjects", "agent", Agent)
    registry.register("scorers", "claim", Check)
    text = "suite: x\n" + (f"subject: {subject}\n" if subject else "") + f"cases:\n- {case}\n"
    return load_text(text, "suite.yml", registry=registry, allow_env=allow_env)


# E5


@pytest.mark.parametrize(
    ("text", "line", "key", "meant"),
    [
        ("suite: x\ncasse: []\n", 2, "casse", "cases"),
        ("suite: x\ncases:\n- inptu: hi\n", 3, "inptu", "input"),
        ("suite: x\ncriteria:\n- text: a\n  wieght: 3\ncases: [{}]\n", 4, "wieght", "weight"),
        ("suite: x\nlimits:\n  secods: 3\ncases: [{}]\n", 3, "secods", "seconds"),
        ("suite: x\nvariants:\n- name: a\n  fcats: withheld\ncases: [{}]\n", 4, "fcats", "facts"),
        ("suite: x\nstage: {setps: []}\ncases: [{}]\n", 2, "setps", "setups"),
        ("suite: x\nroles: {jugde: a}\ncases: [{}]\n", 2, "jugde", "judge"),
        ("suite: x\ndataset: {file: a.csv, mapp: {}}\n", 2, "mapp", "map"),
    ],
)
def test_a_misspelt_key_is_an_error_with_line_and_suggestion(text: str, line: int, key: str, meant: str) -> None:
    with pytest.raises(SuiteError, match=f"unknown key '{key}'") as error:
        load_text(text, "suite.yml")
    assert error.value.where == f"suite.yml:{line}"
    assert f"did you mean '{meant}'?" in error.value.hint


def test_a_misspelt_key_beside_a_check_is_an_error() -> None:
    with pytest.raises(SuiteError, match="unknown key 'wieght'") as error:
        read(case="checks:\n  - claim: a\n    wieght: 3")
    assert error.value.where == "suite.yml:5"
    assert "'weight'" in error.value.hint


def test_a_misspelt_setting_or_name_is_an_error() -> None:
    with pytest.raises(SuiteError, match="unknown key 'ulr' in agent"):
        read("{agent: {ulr: x}}")
    with pytest.raises(SuiteError, match="no subject called 'agnet'") as error:
        read("agnet")
    assert "did you mean 'agent'?" in error.value.hint


# E6


REFERENCES = ["os:system", "subprocess:Popen", "logging:os.system", "logging.os.system", "./evil.py:X", "builtins:eval",
              "os.system", "viva.registry:Registry", "../evil:X", "evil.py:X", "/tmp/evil:X", ":X", "os:", "o s:x",
              "os:__loader__", "importlib:import_module"]  # fmt: skip


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("allow", [(), ("logging",), ("my.plugins",)])
def test_a_suite_cannot_import_what_the_user_did_not_allow(name: str, allow: tuple[str, ...]) -> None:
    for place in (f'subject: "{name}"', f'driver: {{"{name}": {{}}}}', f'checks: ["{name}"]', f'formula: "{name}"',
                  f'stage: {{setups: ["{name}"]}}', f'judging: "{name}"'):  # fmt: skip
        text = f"suite: x\n{place}\ncriteria: [a]\ncases: [{{input: hi}}]\n"
        with pytest.raises((SuiteError, SetupError)) as error:
            load_text(text, "evil.yml", registry=Registry(allow))
        assert error.value.where == "evil.yml:2"
        assert error.value.kind in {"not_allowed", "missing_package"} or "called" in error.value.message


def test_nothing_is_imported_on_the_way_to_the_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "evil_plugin.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SuiteError, match="not allowed"):
        read("evil_plugin:X")
    assert "evil_plugin" not in sys.modules


def test_a_path_through_an_allowed_module_does_not_lead_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "friendly_plugin.py").write_text(
        textwrap.dedent(
            """
            import os, subprocess, functools
            from subprocess import Popen
            from os import system
            run = functools.partial(os.system)
            call = os.system
            class Box:
                inner = subprocess.Popen
                module = os
            class Agent:
                async def open(self, opening): ...
                async def close(self): ...
            """
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry(("friendly_plugin",))
    for name in ("os.system", "Popen", "system", "call", "os", "Box.inner", "Box.module.system", "run"):
        with pytest.raises(SuiteError) as error:
            registry.find("subjects", f"friendly_plugin:{name}", "s.yml:1")
        assert error.value.where == "s.yml:1"
        if name != "run":
            assert error.value.kind == "not_allowed", name
    assert registry.find("subjects", "friendly_plugin:Agent").__name__ == "Agent"
    assert registry.find("subjects", "friendly_plugin.Agent").__name__ == "Agent"


@pytest.mark.parametrize(
    "name",
    [
        "system",
        "call",
        "os.system",
        "Popen",
        "run",
        "Holder.method",
        "NAMES.get",
        "__builtins__.get",
        "__loader__",
        "os",
    ],
)
def test_a_function_subject_cannot_reach_a_module_that_was_not_allowed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "helpful_plugin.py").write_text(
        "import os, functools\nfrom os import system\nfrom subprocess import Popen\ncall = os.system\n"
        "run = functools.partial(os.system)\nclass Holder:\n    method = os.system\nNAMES = {}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(SuiteError) as error:
        Registry(("helpful_plugin",)).import_object(f"helpful_plugin:{name}")
    assert error.value.kind == "not_allowed"


def test_an_import_must_fulfil_the_contract(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "halfway_plugin.py").write_text(
        "class NoOpen:\n    async def close(self): ...\n"
        "class Sync:\n    def open(self): ...\n    async def close(self): ...\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    registry = Registry(("halfway_plugin",))
    with pytest.raises(SuiteError, match=r"has no open\(\)"):
        registry.find("subjects", "halfway_plugin:NoOpen")
    with pytest.raises(SuiteError, match="async def"):
        registry.find("subjects", "halfway_plugin:Sync")


def test_a_suite_has_no_key_that_allows_anything() -> None:
    for key in ("allow", "allow_env", "imports", "modules", "plugins"):
        with pytest.raises(SuiteError, match="unknown key"):
            load_text(f"suite: x\n{key}: [os]\ncases: [{{}}]\n")


# E7


def test_strings_with_a_colon_stay_strings() -> None:
    suite = read(
        '{agent: {url: "http://x:80", headers: {x-note: "os:system"}, body: {a: "os:system", b: "subprocess:Popen"}}}',
        case='{input: "os:system", expected: "logging:os.system", checks: [{claim: {arguments: {a: "os:system"}}}]}',
    )
    assert suite.subject.settings["url"] == "http://x:80"
    assert suite.subject.settings["body"] == {"a": "os:system", "b": "subprocess:Popen"}
    assert suite.cases[0].input == "os:system"
    assert suite.cases[0].checks[0].settings == {"arguments": {"a": "os:system"}}


# E8


def test_modules_beside_a_suite_are_not_imported(tmp_path: Path) -> None:
    for name in ("yaml", "msgspec", "evil", "viva", "tomllib"):
        (tmp_path / f"{name}.py").write_text("import pathlib; pathlib.Path('imported').touch()\n")
    (tmp_path / "suite.yml").write_text("suite: x\nsubject: evil:X\ncases: [{input: hi}]\n")
    code = (
        "import sys; before = list(sys.path)\n"
        "from viva.config.load import load_suite\n"
        "from viva.registry import Registry\n"
        "try: load_suite('suite.yml', registry=Registry(['evil']))\n"
        "except Exception as error: print(type(error).__name__)\n"
        "assert sys.path == before and '' not in sys.path and '.' not in sys.path\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "SetupError"
    assert not (tmp_path / "imported").exists()


# E19


def test_files_lie_below_the_suite_s_folder(tmp_path: Path) -> None:
    home = tmp_path / "suite"
    (home / "data").mkdir(parents=True)
    (home / "data" / "a.jsonl").write_text('{"input": "hi"}\n')
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "suite-evil").mkdir()
    (tmp_path / "suite-evil" / "b.txt").write_text("x")
    (home / "out.txt").symlink_to(tmp_path / "secret.txt")
    (home / "outside").symlink_to(tmp_path)
    (home / "in.txt").symlink_to(home / "data" / "a.jsonl")
    (home / "loop").symlink_to(home / "loop")
    assert resolve(home, "data/a.jsonl") == home / "data" / "a.jsonl"
    assert resolve(home, "data/../in.txt") == home / "data" / "a.jsonl"
    refused = ["../secret.txt", "../../etc/passwd", "data/../../secret.txt", "/etc/passwd", str(home / "in.txt"),
               "out.txt", "outside/secret.txt", "../suite-evil/b.txt", "~/x", "~root/x", "C:\\x", "C:x", "\\\\host\\x",
               "", "data", ".", "..", "a\0b", "loop", "missing.txt", "x" * 5000, "data/a.jsonl/x"]  # fmt: skip
    for name in refused:
        with pytest.raises(SuiteError):
            resolve(home, name, where="suite.yml:3")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_devices_and_pipes_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(SuiteError, match="no ordinary file"):
        resolve(tmp_path, "pipe.jsonl")
    (tmp_path / "zero").symlink_to("/dev/zero")
    with pytest.raises(SuiteError, match="not below"):
        resolve(tmp_path, "zero")
    with pytest.raises(SuiteError, match="no ordinary file"):
        resolve(Path("/dev"), "zero")


def test_a_file_of_ten_gigabytes_is_refused_by_its_size(tmp_path: Path) -> None:
    with (tmp_path / "huge.jsonl").open("wb") as file:
        file.truncate(10_000_000_000)  # Sparse: takes no room.
    (tmp_path / "suite.yml").write_text("suite: x\ndataset: {file: huge.jsonl}\n")
    with pytest.raises(SuiteError, match="10,000,000,000 bytes") as error:
        load_suite(tmp_path / "suite.yml")
    assert error.value.where.endswith("suite.yml:2")


def test_a_suite_cannot_draw_cases_from_outside(tmp_path: Path) -> None:
    (tmp_path / "secret.jsonl").write_text('{"input": "secret"}\n')
    (tmp_path / "s").mkdir()
    for name in ("../secret.jsonl", str(tmp_path / "secret.jsonl")):
        (tmp_path / "s" / "suite.yml").write_text(f"suite: x\ndataset: {{file: {name}}}\n")
        with pytest.raises(SuiteError, match="not below the suite's folder"):
            load_suite(tmp_path / "s" / "suite.yml")


def test_a_suite_without_a_folder_cannot_name_files() -> None:
    with pytest.raises(SuiteError, match="without a folder"):
        load_text("suite: x\ndataset: {file: a.jsonl}\n")


# E20


@pytest.mark.parametrize(
    "settings",
    [
        "{api_key: sk-abc}",
        "{api_key: plain-word}",
        "{headers: {Authorization: Bearer abcdef123456}}",
        "{headers: {Authorization: Basic dXNlcjpwYXNz}}",
        "{headers: {X-API-Key: abc}}",
        "{headers: {x-custom: sk-proj-abcdefghijklmnop}}",
        "{headers: {x-custom: hf_abcdefghijklmnop}}",
        "{session: {headers: {access_token: abc}}}",
        "{body: {client_secret: abc}}",
        "{body: [{password: hunter2}]}",
        '{url: "http://user:hunter2@host/"}',
        "{argv: [run, sk-abcdefghijklmnop]}",
        "{argv: [run, AKIAABCDEFGHIJKLMNOP]}",
    ],
)
def test_a_literal_secret_is_refused_with_its_line_and_the_way_out(settings: str) -> None:
    with pytest.raises(SuiteError, match="secret") as error:
        read(f"{{agent: {settings}}}", allow_env=("X",))
    assert error.value.where == "suite.yml:2"
    assert error.value.kind == "literal_secret"
    assert "env:NAME" in error.value.hint
    assert "hunter2" not in str(error.value)


@pytest.mark.parametrize(
    "settings",
    [
        "{api_key: env:AGENT_KEY}",
        "{headers: {Authorization: env:AGENT_KEY, x-note: 'about env:'}}",
        "{body: {token: '{session}', max_tokens: 100, tokens: many, api_key: ''}}",
        "{environment: [AGENT_KEY, PATH]}",
    ],
)
def test_allowed_variables_and_placeholders_are_fine(settings: str) -> None:
    assert read(f"{{agent: {settings}}}", allow_env=("AGENT_KEY",)).subject is not None


@pytest.mark.parametrize(
    "settings",
    [
        "{api_key: env:AWS_SECRET_ACCESS_KEY}",
        "{api_key: env:OPENAI_API_KEY}",
        "{api_key: env:VIVA_STORE}",
        "{url: env:HOME_ADDRESS}",
        "{headers: {a: Bearer env:OPENAI_API_KEY}}",
        "{environment: [OPENAI_API_KEY]}",
        "{api_key: 'env:'}",
        "{api_key: 'env:A B'}",
        "{api_key: 'env:AGENT*'}",
    ],
)
def test_a_variable_nobody_allowed_is_refused(settings: str) -> None:
    with pytest.raises(SuiteError) as error:
        read(f"{{agent: {settings}}}", allow_env=("AGENT_KEY", "AGENT2_*"))
    assert error.value.kind in {"not_allowed", "literal_secret"}
    assert error.value.where == "suite.yml:2"


def test_a_variable_inside_a_longer_text_is_refused_and_not_sent_as_it_stands() -> None:
    with pytest.raises(SuiteError, match="must stand alone"):
        read("{agent: {headers: {x-auth: Bearer env:AGENT_KEY}}}", allow_env=("AGENT_KEY",))


def test_expected_data_of_a_check_is_no_secret_of_ours() -> None:
    read(case="checks: [{claim: {arguments: {password: hunter2, note: sk-abcdefghijklmnop}}}]")
    read(case="input: my key is sk-abcdefghijklmnop")
    for settings in ("{headers: {Authorization: Bearer abcdef123}}", "{token: abcdef}"):
        with pytest.raises(SuiteError, match="secret"):
            read(case=f"checks: [{{claim: {settings}}}]")


def test_a_variant_cannot_smuggle_a_secret_in() -> None:
    with pytest.raises(SuiteError, match="secret"):
        read("{agent: {url: x}}\nvariants: [{name: a, settings: {api_key: abc}}]")
    with pytest.raises(SuiteError, match="not allowed"):
        read("{agent: {url: x}}\nvariants: [{name: a, settings: {api_key: env:OPENAI_API_KEY}}]")


def test_the_environment_gives_a_suite_only_what_was_allowed() -> None:
    variables = {"AGENT_KEY": "correct-horse-battery", "OPENAI_API_KEY": "do-not-give-away", "EMPTY": ""}
    environment = Environment(["AGENT_KEY", "EMPTY"], variables=variables)
    secret = environment.secret("env:AGENT_KEY")
    assert secret.reveal() == "correct-horse-battery"
    assert "correct-horse" not in repr(secret)
    assert redactor.text("it was correct-horse-battery") == "it was •••"
    for text, kind in (("env:OPENAI_API_KEY", "not_allowed"), ("literal", "literal_secret")):
        with pytest.raises(SuiteError) as error:
            environment.secret(text)
        assert error.value.kind == kind
    with pytest.raises(SetupError, match="not set"):
        environment.secret("env:EMPTY")


def test_viva_s_own_keys_are_for_models_and_not_every_variable_is_viva_s_own() -> None:
    environment = Environment(variables={"OPENAI_API_KEY": "own-key-value", "AWS_SECRET_ACCESS_KEY": "x"})
    own = environment.own_secret("OPENAI_API_KEY")
    assert own is not None
    assert own.reveal() == "own-key-value"
    assert redactor.text("own-key-value") == "•••"
    with pytest.raises(SetupError, match="no setting of viva's own"):
        environment.get("AWS_SECRET_ACCESS_KEY")
