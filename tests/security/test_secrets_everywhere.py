"""A whole examination with secrets in every place they may stand: none of them is in anything that is left behind."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

SECRETS = {
    "AGENT_TOKEN": 'tok-SENTINEL-agent/9+x"y\\z&=1',
    "OPENAI_API_KEY": "sk-SENTINEL-judge-4f6b9d21",
    "PASSWORD": "pw-SENTINEL-address-77c1",
    "QUERY": "q-SENTINEL-query-0b5e",
}


def forms(secret: str) -> dict[str, str]:
    """How a secret may look in what others say: as it is, quoted, encoded, within JSON, beside a user's name."""
    return {
        "raw": secret,
        "url": quote(secret, safe=""),
        "base64": base64.b64encode(secret.encode()).decode(),
        "basic": base64.b64encode(f"viva:{secret}".encode()).decode(),
        "repr": repr(secret),
        "json": json.dumps({"authorization": secret}),
    }


class Telltale(BaseHTTPRequestHandler):
    """An agent and a provider in one, which repeat every header, the path and every form of every secret."""

    asked: list[dict[str, str]]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).asked.append({**self.headers, "path": self.path})
        said = [form for secret in SECRETS.values() for form in forms(secret).values()]
        all_of_it = f"path {self.path} headers {dict(self.headers)} {' | '.join(said)}"
        if "completions" in self.path:
            self.answer(400, {"error": {"message": f"bad key {all_of_it}", "param": said}})
        elif "broken" in body["message"]:
            self.answer(500, {"trace": all_of_it})
        else:
            self.answer(200, {"text": all_of_it, "echo": said, **dict.fromkeys(said, 1)})

    def answer(self, status: int, value: Any) -> None:
        raw = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def place() -> Iterator[str]:
    Telltale.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Telltale)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


SUITE = """\
suite: secrets
subject:
  http:
    url: "http://{place}/chat"
    api_key: env:AGENT_TOKEN
    headers: {{X-Key: "env:AGENT_TOKEN"}}
retry: {{attempts: 2, backoff_s: 0.01}}
checks: [{{contains: nothing of the kind}}, {{field: {{path: echo, equals: x}}}}]
cases:
  - {{id: echo, input: tell me}}
  - {{id: judged, input: tell me, criteria: [Is discreet]}}
  - {{id: broken, input: broken}}
"""


def everything_left_behind(folder: Path, said: list[str]) -> dict[str, bytes]:
    files = {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert any(name.endswith("viva.db") for name in files)
    assert any(name.endswith("report.txt") for name in files)
    return {**files, **{f"output {number}": text.encode() for number, text in enumerate(said)}}


def test_no_secret_is_in_any_output_file_or_report_of_a_whole_run(tmp_path: Path, place: str) -> None:
    (tmp_path / "suite.yml").write_text(SUITE.format(place=place))
    env = {key: value for key, value in os.environ.items() if not key.startswith("VIVA_")}
    env |= {
        "NO_COLOR": "1",
        "AGENT_TOKEN": SECRETS["AGENT_TOKEN"],
        "OPENAI_API_KEY": SECRETS["OPENAI_API_KEY"],
        "OPENAI_BASE_URL": f"http://viva:{SECRETS['PASSWORD']}@{place}/v1?key={SECRETS['QUERY']}",
    }
    allowed = ["--allow-env", "AGENT_TOKEN"]
    said: list[str] = []

    def viva(*words: str) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, "-m", "viva", *words],
            cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        said.extend((done.stdout, done.stderr))
        return done

    ran = viva("--debug", "run", "suite.yml", "-v", "--judge", "openai/m", "--report", "report.txt", *allowed)
    assert ran.returncode == 3, ran.stderr
    assert any(SECRETS["AGENT_TOKEN"] in one.get("X-Key", "") for one in Telltale.asked), "the agent got its key"
    assert any(SECRETS["QUERY"] in one["path"] for one in Telltale.asked), "the provider got its query"
    viva("--debug", "run", "suite.yml", "--json", "--fresh", "--judge", "openai/m", *allowed)
    viva("show", "latest", "--json")
    viva("show", "latest", "--trials", "--json")
    for trial in ("echo", "judged", "broken"):
        viva("show", "latest", trial)
    viva("--debug", "score", "latest", "--name", "again", "--judge", "openai/m", *allowed)
    viva("--debug", "doctor", "suite.yml", "--judge", "openai/m", *allowed)

    found = [
        (where, name, form)
        for where, content in everything_left_behind(tmp_path, said).items()
        for name, secret in SECRETS.items()
        for form, written in forms(secret).items()
        if written.encode() in content or written.encode().rstrip(b"=") in content
    ]
    assert found == []
    assert "SENTINEL" not in "".join(said), "not even a part of one"


def test_how_many_secrets_were_masked_is_told(tmp_path: Path, place: str) -> None:
    (tmp_path / "suite.yml").write_text(SUITE.format(place=place))
    env = {**os.environ, "NO_COLOR": "1", "AGENT_TOKEN": SECRETS["AGENT_TOKEN"]}
    command = [sys.executable, "-m", "viva", "run", "suite.yml", "-k", "echo", "--allow-env", "AGENT_TOKEN"]
    ran = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60, check=False)
    told = [line for line in ran.stderr.splitlines() if "masked in what was stored and shown" in line]
    assert len(told) == 1
    assert int(told[0].split()[0].replace(",", "")) > 5
