"""A command-line agent that hangs, forks, shouts or crashes is ended as a whole, and its failure named."""

from __future__ import annotations

import asyncio
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from subject_kit import SubjectKit, build, opening

from viva.core.errors import SubjectError
from viva.core.transcript import Message, Reply


async def run(tmp_path: Path, script: str, text: str = "hello", seconds: float = 10.0, **settings: Any) -> Reply:
    (tmp_path / "agent.py").write_text(script)
    max_bytes = settings.pop("most", 1_000_000)
    subject = build("command", {"argv": ["python", "agent.py"], **settings}, SubjectKit(folder=tmp_path))
    session = await subject.open(opening(seconds=seconds, max_bytes=max_bytes))
    try:
        reply: Reply = await session.send(Message(text=text))
        return reply
    finally:
        await session.close()


async def failure(tmp_path: Path, script: str, **more: Any) -> SubjectError:
    with pytest.raises(SubjectError) as caught:
        await run(tmp_path, script, **more)
    return caught.value


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    return not (stat.exists() and stat.read_text().rpartition(")")[2].split()[0] == "Z")


async def gone(pid: int, within_s: float) -> bool:
    until = time.monotonic() + within_s
    while is_alive(pid) and time.monotonic() < until:
        await asyncio.sleep(0.02)
    return not is_alive(pid)


HANG = "import os, time; open('pid', 'w').write(str(os.getpid())); time.sleep(600)"
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + HANG
FORKING = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for n in range(3):
    if os.fork() == 0:
        if os.fork() == 0:
            open(f'grandchild{n}', 'w').write(str(os.getpid()))
        open(f'child{n}', 'w').write(str(os.getpid()))
        time.sleep(600)
open('pid', 'w').write(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.parametrize("script", [HANG, STUBBORN, FORKING])
async def test_the_whole_group_is_dead_within_five_seconds_of_the_deadline(tmp_path: Path, script: str) -> None:
    started = time.monotonic()
    error = await failure(tmp_path, script, seconds=1.5)
    assert (error.kind, error.retryable) == ("timed_out", False)
    assert time.monotonic() - started < 1.5 + 5
    pids = [int(path.read_text()) for path in tmp_path.iterdir() if path.name != "agent.py"]
    assert len(pids) == (7 if script == FORKING else 1)
    for pid in pids:
        assert await gone(pid, 2.0)


async def test_a_cancelled_message_leaves_no_process(tmp_path: Path) -> None:
    task = asyncio.create_task(run(tmp_path, STUBBORN))
    while not (tmp_path / "pid").exists() or not (tmp_path / "pid").read_text():
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await gone(int((tmp_path / "pid").read_text()), 2.0)


async def test_a_child_that_outlives_the_program_does_not_hold_the_reply(tmp_path: Path) -> None:
    script = """
import os, time
if os.fork() == 0:
    open('pid', 'w').write(str(os.getpid()))
    time.sleep(600)
print('done', flush=True)
"""
    started = time.monotonic()
    reply = await run(tmp_path, script)
    assert reply.text == "done"
    assert time.monotonic() - started < 6
    pid = tmp_path / "pid"
    assert not pid.exists() or not pid.read_text() or await gone(int(pid.read_text()), 2.0)


async def test_a_child_that_left_the_group_does_not_hold_the_reply(tmp_path: Path) -> None:
    script = """
import os, time
if os.fork() == 0:
    os.setsid()
    time.sleep(8)
    os._exit(0)
print('done', flush=True)
"""
    started = time.monotonic()
    assert (await run(tmp_path, script)).text == "done"
    assert time.monotonic() - started < 6


SHOUT = "import sys\nfor _ in range(200): sys.{stream}.write('x' * 1_000_000)\nprint('done')"


async def test_shouting_on_standard_error_takes_no_memory(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reply = await run(tmp_path, SHOUT.format(stream="stderr"), seconds=60)
    assert reply.text == "done"
    assert len(reply.metadata["stderr"]) <= 2048
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


async def test_shouting_on_standard_output_is_cut(tmp_path: Path) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    error = await failure(tmp_path, SHOUT.format(stream="stdout"), seconds=60)
    assert error.kind == "too_large"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


async def test_an_exit_code_is_recorded_with_the_end_of_standard_error(tmp_path: Path) -> None:
    error = await failure(tmp_path, "import sys; print('half'); print('it broke', file=sys.stderr); sys.exit(137)")
    assert (error.kind, error.status, error.retryable) == ("process_failed", 137, False)
    assert "137" in str(error)
    assert "it broke" in error.body
    killed = await failure(tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert (killed.kind, killed.status) == ("process_failed", -9)


async def test_printing_nothing_is_named(tmp_path: Path) -> None:
    assert (await failure(tmp_path, "import sys; sys.stdin.read()")).kind == "empty_output"


async def test_a_program_that_does_not_read_its_input_is_fine(tmp_path: Path) -> None:
    reply = await run(tmp_path, "import sys; sys.stdin.close(); print('deaf')", text="x" * 1_000_000)
    assert reply.text == "deaf"


async def test_bytes_that_are_no_text_are_kept_as_escapes(tmp_path: Path) -> None:
    reply = await run(tmp_path, "import sys; sys.stdout.buffer.write(b'caf\\xe9 \\x00')")
    assert reply.text == "caf\\xe9 \0"


async def test_a_missing_program_is_fatal(tmp_path: Path) -> None:
    error = await failure(tmp_path, "", argv=["no-such-agent-anywhere"])
    assert (error.kind, error.fatal) == ("program_missing", True)


@pytest.mark.parametrize("text", ["a\0b", "x" * 3_000_000])
async def test_a_message_that_cannot_be_an_argument_is_named(tmp_path: Path, text: str) -> None:
    error = await failure(tmp_path, "print(1)", text=text, argv=["python", "agent.py", "{message}"])
    assert error.kind == "unsendable"


async def test_keys_of_ours_do_not_reach_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "topsecret")
    (tmp_path / "agent.py").write_text("import os; print(sorted(os.environ), os.environ.get('GIVEN'))")
    kit = SubjectKit(folder=tmp_path, ALLOWED="given-value")
    subject = build("command", {"argv": [sys.executable, "agent.py"], "env": {"GIVEN": "env:ALLOWED"}}, kit)
    reply = await (await subject.open(opening())).send(Message(text="a"))
    assert "SOME_API_KEY" not in reply.text
    assert "PATH" in reply.text
    assert "given-value" in reply.text


async def test_many_at_once_leave_no_process_and_no_open_file(tmp_path: Path) -> None:
    def open_files() -> int:
        return len(os.listdir("/proc/self/fd"))

    (tmp_path / "agent.py").write_text("print(input())")
    subject = build("command", {"argv": ["python", "agent.py"]}, SubjectKit(folder=tmp_path))

    async def once(text: str) -> str:
        reply: Reply = await (await subject.open(opening())).send(Message(text=text))
        return reply.text

    await once("warm")
    before = open_files()
    assert await asyncio.gather(*(once(str(n)) for n in range(12))) == [str(n) for n in range(12)]
    assert open_files() <= before + 2
