"""Whole runs against agents that misbehave: every bad trial has its own named end, and the good ones never notice."""

from __future__ import annotations

import asyncio
import resource
import sys
import time
from pathlib import Path
from typing import Any

from fault_server import (
    FaultServer,
    Handler,
    Received,
    answer,
    claims,
    drip,
    endless,
    hang,
    hang_up,
    packed_bomb,
    redirect,
    reset_before_answer,
    reset_mid_body,
)

import viva

GOOD = ("good-1", "good-2", "good-3")

OVER_HTTP: dict[str, tuple[Handler, str]] = {
    "hangs": (hang(), "timed_out"),
    "drips": (drip(), "timed_out"),
    "never ends": (endless(), "too_large"),
    "claims five gigabytes": (claims(5_000_000_000, then_close=False), "too_large"),
    "sends a bomb": (packed_bomb("gzip", 100_000_000), "too_large"),
    "is broken": (answer({"oops": 1}, 503), "server_error"),
    "refuses": (answer({"no": 1}, 422), "subject_error"),
    "shows a login page": (answer(b"<html>log in</html>", content_type="text/html"), "not_json"),
    "sends half JSON": (answer(b'{"text": "ha'), "invalid_json"),
    "sends null": (answer({"text": None}), "null_content"),
    "sends something else": (answer({"total": 12}), "missing_field"),
    "points elsewhere": (redirect("http://169.254.169.254/latest/meta-data/"), "redirect"),
    "points at itself": (redirect("/"), "redirect"),
    "resets": (reset_before_answer(), "uncertain_delivery"),
    "resets half way": (reset_mid_body(), "uncertain_delivery"),
    "hangs up": (hang_up(), "uncertain_delivery"),
}

AS_PROGRAM = {
    "hangs": ("import time; time.sleep(600)", "timed_out"),
    "ignores SIGTERM": ("import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(600)", "timed_out"),
    "never ends": ("import sys\nwhile True: sys.stdout.write('x' * 100_000)", "too_large"),
    "exits with 137": ("raise SystemExit(137)", "process_failed"),
    "is killed": ("import os; os.kill(os.getpid(), 9)", "process_failed"),
    "prints nothing": ("pass", "empty_output"),
}


def blocks(message: str) -> str:
    time.sleep(4)
    return message


async def blocks_the_loop(message: str) -> str:
    return blocks(message)


async def never(message: str) -> str:
    await asyncio.Event().wait()
    return message


def exits(message: str) -> str:
    sys.exit(message)


def raises(message: str) -> str:
    raise KeyboardInterrupt


def gives_nothing(message: str) -> Any:
    return None


AS_FUNCTION = {
    "blocks": (blocks, "timed_out"),
    "exits": (exits, "exited"),
    "raises KeyboardInterrupt": (raises, "exited"),
    "gives nothing": (gives_nothing, "null_content"),
}
AS_COROUTINE = {
    "blocks the loop": (blocks_the_loop, "timed_out"),
    "never returns": (never, "timed_out"),
    "exits": (exits, "exited"),
    "raises KeyboardInterrupt": (raises, "exited"),
    "gives nothing": (gives_nothing, "null_content"),
}


async def examine(folder: Path, kinds: dict[str, str], on: Any = None, concurrency: int = 6, **suite: Any) -> None:
    """Run one case for each fault, and good ones among them; hold every end against its name."""
    named = [*kinds, *GOOD]
    cases = [{"id": name.replace(" ", "-"), "input": name} for name in sorted(named)]
    before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    made = viva.suite(
        "bad agents", cases, checks=[{"contains": "fine"}], retry={"attempts": 2, "backoff_s": 0.01},
        limits={"turn_seconds": 1.5, "bytes": 1_000_000}, concurrency=concurrency, **suite,
    )  # fmt: skip
    run = await viva.arun(made, subject=on, store=folder / "viva.db")
    found = {trial.key: trial async for trial in run.walk()}
    ends = {name: found[name.replace(" ", "-")].result for name in named}
    assert run.status == "finished"
    assert {name: result.error for name, result in ends.items() if name not in GOOD} == kinds
    for name in kinds:
        trial = found[name.replace(" ", "-")]
        assert (trial.outcome, trial.score, trial.scores) == ("error", None, ()), "a failure was shown to a scorer"
        assert (await trial.read_evidence()).ending.because
    assert {ends[name].outcome for name in GOOD} == {"pass"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb < 200_000


async def test_every_bad_agent_behind_http_ends_its_own_trial_with_a_name(tmp_path: Path) -> None:
    async def agent(request: Received, out: asyncio.StreamWriter) -> None:
        message = request.json["message"]
        await (OVER_HTTP[message][0] if message in OVER_HTTP else answer({"text": "fine"}))(request, out)

    async with FaultServer(agent) as server:
        kinds = {name: kind for name, (_, kind) in OVER_HTTP.items()}
        await examine(tmp_path, kinds, subject={"http": {"url": server.url + "/"}})
        sent = [request.json["message"] for request in server.requests if request.body]
    assert sent.count("is broken") == 2, "a server's error is tried again"
    for name in ("resets", "resets half way", "hangs up", "refuses", "hangs", "never ends"):
        assert sent.count(name) == 1, f"an agent that {name} may have acted, and was asked twice"


async def test_every_bad_program_ends_its_own_trial_with_a_name(tmp_path: Path) -> None:
    for name, (script, _) in AS_PROGRAM.items():
        (tmp_path / f"{name.replace(' ', '-')}.py").write_text(script)
    for name in GOOD:
        (tmp_path / f"{name}.py").write_text("print('fine')")
    suite = tmp_path / "suite.yml"
    cases = "".join(f"  - {{id: {name.replace(' ', '-')}, input: x}}\n" for name in (*AS_PROGRAM, *GOOD))
    suite.write_text(
        "suite: programs\nsubject: {command: {argv: [python, '{case}.py']}}\nchecks: [{contains: fine}]\n"
        "limits: {turn_seconds: 1.5, bytes: 1000000}\ncases:\n" + cases
    )
    run = await viva.arun(suite, store=tmp_path / "viva.db", allow=("command:python",))
    found = {trial.key: trial.result async for trial in run.walk()}
    assert {key: found[key].outcome for key in GOOD} == dict.fromkeys(GOOD, "pass")
    for name, (_, kind) in AS_PROGRAM.items():
        result = found[name.replace(" ", "-")]
        assert (result.outcome, result.error, result.score) == ("error", kind, None), name


async def test_every_bad_function_ends_its_own_trial_with_a_name(tmp_path: Path) -> None:
    def agent(message: str) -> Any:
        return "fine" if message in GOOD else AS_FUNCTION[message][0](message)

    await examine(tmp_path, {name: kind for name, (_, kind) in AS_FUNCTION.items()}, on=agent)


async def test_every_bad_coroutine_ends_its_own_trial_with_a_name(tmp_path: Path) -> None:
    async def agent(message: str) -> Any:
        if message in GOOD:
            return "fine"
        found = AS_COROUTINE[message][0](message)
        return await found if asyncio.iscoroutine(found) else found

    # One at a time: coroutines share an event loop, and one that blocks it makes those beside it late.
    await examine(tmp_path, {name: kind for name, (_, kind) in AS_COROUTINE.items()}, on=agent, concurrency=1)
