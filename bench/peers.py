"""viva against its peers at the same rubric work, each in an environment and a process of its own.

A peer is installed once by this part, in the user's cache folder (`~/.cache/viva-bench`, or where VIVA_BENCH_CACHE
says); one that does not install is skipped, and said to be skipped. Every peer sends the judge prompt that viva sends,
at the fastest settings its documentation names, after a warm-up outside the clock; that all of them made every call is
counted by the model server. Slow peers are given fewer samples: calls per second are compared.

    python bench/peers.py                  all of them
    VIVA_BENCH_PEERS=inspect,promptfoo     those named
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import judge
from figure import Figure, serve

SCRIPTS = Path(__file__).parent / "peers"
CACHE = Path(os.environ.get("VIVA_BENCH_CACHE") or Path.home() / ".cache" / "viva-bench")
INSTALL_S, RUN_S = 900, 240
WARM = 2
ROUNDS = 3


@dataclass(frozen=True)
class Peer:
    """One peer: what it is installed from, how much work it is given, and how much faster viva should be."""

    name: str
    title: str
    packages: tuple[str, ...]
    samples: int
    target: float | None = None

    @property
    def home(self) -> Path:
        """The environment of this peer."""
        return CACHE / self.name

    @property
    def is_node(self) -> bool:
        """Whether it is JavaScript."""
        return self.name == "promptfoo"


PEERS = (
    Peer("inspect", "Inspect AI", ("inspect-ai", "openai"), judge.SAMPLES, target=8),
    Peer("promptfoo", "promptfoo", ("promptfoo", "node@22"), 100),
    Peer("pydantic-evals", "pydantic-evals", ("pydantic-evals", "pydantic-ai-slim[openai]"), 100),
    Peer("deepeval", "DeepEval", ("deepeval", "openai"), 30),
)


def is_installed(peer: Peer) -> bool:
    """Install a peer unless it is there already; False when that fails."""
    ready = peer.home / "ready"
    if ready.exists():
        return True
    print(f"installing {peer.title} in {peer.home} …", file=sys.stderr, flush=True)
    shutil.rmtree(peer.home, ignore_errors=True)
    try:
        (_install_node if peer.is_node else _install_python)(peer)
    except (OSError, subprocess.SubprocessError) as error:
        told = (getattr(error, "stderr", None) or str(error)).strip().splitlines()
        print(f"{peer.title}: skipped, it does not install here ({told[-1]})", file=sys.stderr, flush=True)
        return False
    ready.touch()
    return True


def _install_python(peer: Peer) -> None:
    venv.create(peer.home, with_pip=True)
    command = [str(peer.home / "bin" / "python"), "-m", "pip", "install", "--quiet", *peer.packages]
    subprocess.run(command, capture_output=True, text=True, check=True, timeout=INSTALL_S)


def _install_node(peer: Peer) -> None:
    peer.home.mkdir(parents=True)
    (peer.home / "package.json").write_text('{"private": true}', encoding="utf-8")
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *peer.packages]
    subprocess.run(command, cwd=peer.home, capture_output=True, text=True, check=True, timeout=INSTALL_S)


def command_of(peer: Peer) -> list[str]:
    """How the work of a peer is started."""
    script = f"rubric_{peer.name.replace('-', '_')}"
    if peer.is_node:
        return [str(peer.home / "node_modules" / ".bin" / "node"), str(SCRIPTS / f"{script}.mjs")]
    return [str(peer.home / "bin" / "python"), str(SCRIPTS / f"{script}.py")]


def environment_of(peer: Peer, folder: str) -> dict[str, str]:
    """Where a peer keeps its own things, and that it calls nobody but the model."""
    own = {"PEER_HOME": str(peer.home), "HOME": folder}
    if peer.is_node:
        own |= {
            "PROMPTFOO_CONFIG_DIR": folder,
            "PROMPTFOO_DISABLE_TELEMETRY": "1",
            "PROMPTFOO_DISABLE_UPDATE": "1",
            "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
            # It opens four connections unless told otherwise, however many calls may be in flight.
            "PROMPTFOO_FETCH_CONNECTIONS": str(judge.CONCURRENCY * judge.CRITERIA),
        }
    return {**os.environ, **own}


def calls_per_second(peer: Peer, url: str) -> float:
    """The work of a peer. Raises RuntimeError when it failed, or did not do all of it."""
    numbers = [str(number) for number in (peer.samples, judge.CRITERIA, judge.CONCURRENCY)]
    before = judge.calls_at(url)["calls"]
    with tempfile.TemporaryDirectory() as folder:
        prompt = Path(folder) / "prompt.json"
        messages = [message["content"] for message in judge._judge_body()["messages"]]
        prompt.write_text(json.dumps(messages), encoding="utf-8")
        command = [*command_of(peer), url, *numbers, str(prompt)]
        done = subprocess.run(
            command, cwd=folder, env=environment_of(peer, folder), capture_output=True, text=True, timeout=RUN_S
        )
    if done.returncode:
        raise RuntimeError(f"it failed: {done.stderr.strip()[-300:]}")
    found = json.loads(done.stdout.splitlines()[-1])
    made = judge.calls_at(url)["calls"] - before
    needed = (peer.samples + WARM) * (judge.CRITERIA + 1)
    if found["score"] != 1 or made < needed:
        raise RuntimeError(f"it scored {found['score']} with {made} of {needed} calls: this is no measurement")
    return float(peer.samples * (judge.CRITERIA + 1) / found["seconds"])


def viva_rate(url: str) -> float:
    """viva at the whole work, stored; only imports are outside the clock."""
    with tempfile.TemporaryDirectory() as folder:
        suite = judge.write_suite(Path(folder), url)
        return judge.CALLS / judge.contest("suite", str(suite), str(Path(folder) / "runs.db"))["seconds"]


def against(peer: Peer) -> Iterator[Figure]:
    """One peer, between two measurements of viva."""
    with judge.model_server("--latency-ms", "20") as url:
        ours = [viva_rate(url)]
        try:
            theirs = calls_per_second(peer, url)
        except (RuntimeError, subprocess.SubprocessError, ValueError, LookupError) as error:
            print(f"{peer.title}: no figure, {error}", file=sys.stderr, flush=True)
            return
        ours += [viva_rate(url) for _ in range(ROUNDS - 1)]
    mine = statistics.median(ours)
    yield Figure(
        name=f"rubric calls/s ÷ {peer.title}",
        measured=mine / theirs,
        target=peer.target,
        at_most=False,
        detail=f"{mine:,.0f}/s ÷ {theirs:,.0f}/s; it had {peer.samples} of {judge.SAMPLES} samples",
    )


def measure() -> Iterator[Figure]:
    """Rubric calls per second against every peer that installs."""
    wanted = os.environ.get("VIVA_BENCH_PEERS", "")
    for peer in PEERS:
        if wanted and peer.name not in wanted.split(","):
            print(f"{peer.title}: not asked for, skipped", file=sys.stderr, flush=True)
        elif is_installed(peer):
            yield from against(peer)


if __name__ == "__main__":
    serve(measure)
