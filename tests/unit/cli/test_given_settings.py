"""`--set` and `--lenient`: the same suite against another address, without touching the file."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from viva.app.override import override
from viva.cli.main import main
from viva.cli.options import setting
from viva.core.errors import SuiteError
from viva.core.ref import Ref
from viva.registry import Registry

SUITE = """\
suite: capitals
subject:
  http: {url: "http://127.0.0.1:9/chat", headers: {X-Kept: kept}, body: {q: "{message}"}, response: {text: a}}
retry: {attempts: 1}
cases:
  - {id: france, input: What is the capital of France?, checks: [{contains: Paris}]}
  - {id: spain, input: What is the capital of Spain?, checks: [{contains: Paris}]}
"""


class Agent(http.server.BaseHTTPRequestHandler):
    """Answers everything with Paris, and remembers the headers it was sent."""

    heard: list[dict[str, str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        self.heard.append({key.lower(): value for key, value in self.headers.items()})
        body = b'{"a": "Paris"}'
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture
def agent() -> Iterator[str]:
    Agent.heard.clear()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Agent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}/chat"
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "suite.yml").write_text(SUITE)
    return tmp_path


def run(*words: str, file: str = "suite.yml") -> int:
    return main(["run", file, "-q", *words])


def test_an_address_and_a_header_of_the_command_line_go_over_the_suites(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--set", f"url={agent}", "--set", "headers.X-Team=blue") == 0, capsys.readouterr().err
    assert "2 passed" in capsys.readouterr().out
    assert {(heard["x-team"], heard["x-kept"]) for heard in Agent.heard} == {("blue", "kept")}


def test_other_settings_are_another_run_and_the_same_ones_are_not(
    agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for team in ("blue", "blue", "red"):
        assert run("--set", f"url={agent}", "--set", f"headers.X-Team={team}") == 0
    assert len(Agent.heard) == 4
    capsys.readouterr()
    main(["list", "--json"])
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_a_run_is_resumed_with_the_settings_it_had(agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--set", f"url={agent}", "-c", "1", "--max-seconds", "0.000001")
    assert run(*words) == 3
    capsys.readouterr()
    assert main(["resume", "latest", "-q", "--max-seconds", "60"]) == 0, capsys.readouterr().err
    assert "2 passed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("ulr=http://x", "unknown setting 'ulr' (did you mean 'url'?"),
        ("api_key=sk-very-secret", "use env:NAME"),
        ("headers.Authorization=Bearer abcdefghi", "use env:NAME"),
        ("api_key=env:MY_KEY", "--allow-env MY_KEY"),
        ("url.host=x", "is no mapping"),
        ("url", "is not KEY=VALUE"),
        ("headers={", "not valid YAML"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_one_line_and_no_run(
    word: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--set", word) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert said in err
    assert "very-secret" not in err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("k=3", 3),
        ("k=0.5", 0.5),
        ("k=true", True),
        ("k=null", None),
        ("k=", ""),
        ("k=http://127.0.0.1:9000/a?b=c", "http://127.0.0.1:9000/a?b=c"),
        ("k=Answer: briefly # please", "Answer: briefly # please"),
        ("k=[python, agent.py]", ["python", "agent.py"]),
        ('k={"a": [1]}', {"a": [1]}),
        ('k="3"', "3"),
        ("k=@odd", "@odd"),
    ],
)
def test_values_are_read_as_yaml_reads_them(text: str, value: Any) -> None:
    assert setting(text) == ("k", value)


def test_what_is_not_named_stays_as_the_suite_said() -> None:
    suite = Ref(name="http", settings={"url": "http://a", "headers": {"A": "1", "B": "2"}})
    made = override(suite, {"headers.B": "3", "timeout_s": 2}, Registry(), ())
    assert made.settings == {"url": "http://a", "headers": {"A": "1", "B": "3"}, "timeout_s": 2}
    assert suite.settings["headers"] == {"A": "1", "B": "2"}
    with pytest.raises(SuiteError, match="timeout_s"):
        override(suite, {"timeout_s": "soon"}, Registry(), ())


def test_the_doctor_looks_at_the_address_that_was_given(agent: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "suite.yml", "--json", "--set", f"url={agent}"])
    found = {one["what"]: one for one in json.loads(capsys.readouterr().out)}
    assert found[f"reach {agent.removesuffix('chat')}"]["state"] == "ok"


def test_a_lenient_run_warns_of_unknown_keys_and_goes_on(
    project: Path, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "odd.yml").write_text(SUITE + "colour: blue\n")
    assert run("--set", f"url={agent}", file="odd.yml") == 2
    assert run("--set", f"url={agent}", "--lenient", file="odd.yml") == 0
    assert "warning: odd.yml" in capsys.readouterr().err
