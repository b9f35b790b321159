"""`viva validate` and `viva doctor`: what can be known without running anything."""

from __future__ import annotations

import http.server
import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from viva.cli.main import main

GOOD = """\
suite: capitals
subject: {http: {url: "http://127.0.0.1:9/chat"}}
repeats: 2
checks: [{contains: Paris}]
cases:
  - {id: france, input: What is the capital of France?}
"""


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project, and an environment without keys."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith(
            ("OPENAI", "ANTHROPIC", "AZURE", "GEMINI", "GOOGLE", "HF_", "HUGGING", "OPENROUTER", "VIVA")
        ):
            monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def server() -> Iterator[int]:
    """A real server that answers everything with 501 or 404."""
    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Quiet)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield httpd.server_address[1]
    httpd.shutdown()
    httpd.server_close()


class _Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        return


def findings(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    return {one["what"]: one for one in json.loads(capsys.readouterr().out)}


def test_a_good_suite_is_fine(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "good.yml").write_text(GOOD)
    assert main(["validate", "good.yml"]) == 0
    assert capsys.readouterr() == ("good.yml: fine (capitals, 1 case, 2 trials)\n", "")


def test_a_bad_suite_is_one_line_with_file_line_and_hint(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "good.yml").write_text(GOOD)
    (project / "bad.yml").write_text(GOOD.replace("contains", "contians"))
    assert main(["validate", "bad.yml", "good.yml"]) == 2
    out, err = capsys.readouterr()
    assert "good.yml: fine" in out
    assert err.startswith("viva: bad.yml:4")
    assert "did you mean 'contains'?" in err
    assert err.count("\n") == 1


def test_validation_as_json_names_the_place(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "bad.yml").write_text(GOOD.replace("repeats", "repeat"))
    assert main(["validate", "bad.yml", "--json"]) == 2
    (found,) = json.loads(capsys.readouterr().out)
    assert found["ok"] is False
    assert found["error"]["where"].startswith("bad.yml:3")
    assert "repeats" in found["error"]["hint"]


def test_a_missing_file_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "none.yml"]) == 2
    err = capsys.readouterr().err
    assert "none.yml" in err
    assert err.count("\n") == 1


def test_the_doctor_masks_keys(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-value")
    assert main(["doctor", "--json"]) == 0
    out = capsys.readouterr().out
    assert "very-secret" not in out
    found = {one["what"]: one for one in json.loads(out)}
    assert found["key OPENAI_API_KEY"]["state"] == "ok"
    assert found["key ANTHROPIC_API_KEY"]["state"] == "missing"


def test_the_doctor_says_who_decided(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "s.yml").write_text(GOOD + "roles: {judge: openai/from-suite}\n")
    monkeypatch.setenv("VIVA_JUDGE", "openai/from-environment")
    monkeypatch.setenv("VIVA_USER", "openai/user-from-environment")
    assert main(["doctor", "s.yml", "--offline", "--json"]) == 0
    found = findings(capsys)
    assert found["role judge"]["found"] == "openai/from-suite (suite)"
    assert found["role user"]["found"] == "openai/user-from-environment (VIVA_USER)"
    assert main(["doctor", "s.yml", "--offline", "--json", "--judge", "openai/from-flag"]) == 0
    assert findings(capsys)["role judge"]["found"] == "openai/from-flag (command line)"


def test_the_doctor_reaches_for_the_agent(project: Path, server: int, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "s.yml").write_text(GOOD.replace(":9/", f":{server}/"))
    assert main(["doctor", "s.yml", "--json"]) == 0
    found = findings(capsys)[f"reach http://127.0.0.1:{server}/"]
    assert found["state"] == "ok"
    assert found["found"].startswith("answers (status 501")


def test_the_doctor_tells_an_agent_that_is_not_there(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "s.yml").write_text(GOOD)
    assert main(["doctor", "s.yml", "--json"]) == 2
    found = findings(capsys)["reach http://127.0.0.1:9/"]
    assert found["state"] == "broken"
    assert found["found"].startswith("connection: ")


@pytest.mark.parametrize(
    ("more", "needed"),
    [
        ("", set()),
        ("criteria: [Is polite]\n", {"judge"}),
        ("measures: [coherence]\n", {"judge"}),
        ("  - {id: chat, driver: persona, tasks: [Learn a capital]}\n", {"user"}),
    ],
)
def test_the_doctor_says_which_roles_this_suite_needs(
    project: Path, more: str, needed: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "s.yml").write_text(GOOD + more)
    code = main(["doctor", "s.yml", "--offline", "--json"])
    found = findings(capsys)
    for role in ("judge", "user"):
        one = found[f"role {role}"]
        assert one["state"] == ("broken" if role in needed else "missing"), one
        assert one["hint"].startswith("needed by this suite: " if role in needed else "not needed by this suite")
    assert code == (2 if needed else 0)
    named = ["--judge", "scripted:x.yml", "--user", "scripted:x.yml"]
    (project / "x.yml").write_text("- reply: hello\n")
    assert main(["doctor", "s.yml", "--offline", "--json", *named]) == 0
    found = findings(capsys)
    assert {role for role in ("judge", "user") if found[f"role {role}"]["hint"] == "needed by this suite"} == needed


def test_the_doctor_reaches_for_an_embabel_agent_where_the_environment_says(
    project: Path, server: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "s.yml").write_text(GOOD.replace('{http: {url: "http://127.0.0.1:9/chat"}}', "embabel"))
    monkeypatch.setenv("VIVA_AGENT_URL", f"http://127.0.0.1:{server}")
    assert main(["doctor", "s.yml", "--json"]) == 0
    assert findings(capsys)[f"reach http://127.0.0.1:{server}/"]["state"] == "ok"


def test_the_doctor_tries_the_graph(project: Path, server: int, capsys: pytest.CaptureFixture[str]) -> None:
    stage = 'stage: {graph: {neo4j: {uri: "bolt://127.0.0.1:9"}}}\n'
    (project / "s.yml").write_text(GOOD.replace(":9/", f":{server}/") + stage)
    assert main(["doctor", "s.yml", "--json"]) == 2
    graph = findings(capsys)["graph neo4j"]
    assert graph["state"] == "broken"
    assert "127.0.0.1:9" in graph["found"] or "viva[graph]" in graph["found"]


def test_the_doctor_says_what_each_permission_is_good_for(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--allow", "command:python", "--allow", "templates", "--allow", "my.module"]
    assert main(["doctor", "--json", *words]) == 0
    found = {what: one["found"] for what, one in findings(capsys).items()}
    assert found["allow command:python"] == "suites may start it"
    assert found["allow templates"] == "suites may bring prompts of their own"
    assert found["allow my.module"] == "suites may import it"


def test_the_doctor_names_a_part_that_cannot_be_built(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "s.yml").write_text(
        GOOD.replace('{http: {url: "http://127.0.0.1:9/chat"}}', "{command: {argv: [python, a.py]}}")
    )
    assert main(["doctor", "s.yml", "--json"]) == 2
    assert "--allow command:python" in findings(capsys)["subject command"]["found"]


def test_the_doctor_tells_a_store_that_cannot_be_written(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "file").write_text("in the way")
    assert main(["doctor", "--store", "file/viva.db", "--json"]) == 2
    assert findings(capsys)["store"]["state"] == "broken"


def test_looking_leaves_nothing_behind(project: Path) -> None:
    main(["doctor"])
    assert list(project.iterdir()) == []
