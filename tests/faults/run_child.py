"""A small run in a process of its own, for tests that kill it, stop it or run two of it.

It says on stdout what it was told by the run (`finished KEY`, `end STATUS …`), line by line and unbuffered, and its
subject keeps its own book of openings. Options are one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys

import viva
from viva.app import RunSpec, examine, run_blocking
from viva.core.faultpoint import install
from viva.engine.events import RunStarted, TrialFinished, TrialStarted
from viva.testing import FakeSubject

OPTIONS = {
    "store": "",
    "book": "",
    "trials": 200,
    "concurrency": 8,
    "seconds": 0.004,
    "seed": 1,
    "grace_s": 10.0,
    "lease_s": 60.0,
    "mode": "quick",
    "kill_at": "",
    "kill_count": 0,
    "limits": {},
}


class BookedSubject(FakeSubject):
    """Writes every opening into a file that survives a kill."""

    def __init__(self, options: dict) -> None:
        super().__init__(self.reply)
        self.options = options
        self.book = os.open(options["book"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        self.random = random.Random(options["seed"])

    def reply(self, message, opening):
        return "wrong" if opening.trial.endswith("7") else f"ok {opening.case.id}"

    async def open(self, opening):
        os.write(self.book, f"{opening.trial} {os.getpid()}\n".encode())
        return await super().open(opening)

    async def answer(self, message, opening, turn):
        match self.options["mode"]:
            case "quick":
                await asyncio.sleep(self.random.uniform(0, 2 * self.options["seconds"]))
            case "hang":
                await asyncio.sleep(3600)
            case "deaf":
                while True:
                    try:
                        await asyncio.sleep(3600)
                    except asyncio.CancelledError:
                        say("deaf")
            case "exit":
                raise SystemExit(5)
        return await super().answer(message, opening, turn)


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def hear(notice) -> None:
    match notice:
        case TrialFinished(result=result):
            say(f"finished {result.trial} {result.outcome}")
        case TrialStarted(trial=trial):
            say(f"started {trial}")
        case RunStarted(run=run, owed=owed, unscored=unscored):
            say(f"run {run.id} owed {owed} unscored {unscored}")


def kill_at_point(options: dict) -> None:
    left = options["kill_count"]

    def hook(point: str) -> None:
        nonlocal left
        if point == options["kill_at"]:
            left -= 1
            if left <= 0:
                os.kill(os.getpid(), signal.SIGKILL)

    install(hook)


def main() -> int:
    options = {**OPTIONS, **json.loads(sys.argv[1])}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # One that comes after the run must not spoil what is said about it.
    if options["kill_at"]:
        kill_at_point(options)
    cases = [{"id": f"case-{n:04}", "input": f"question {n}"} for n in range(options["trials"])]
    suite = viva.suite("kills", cases, checks=[{"contains": "ok"}, {"contains": "case"}])
    spec = RunSpec(
        suite,
        subject=BookedSubject(options),
        store=options["store"],
        concurrency=options["concurrency"],
        on_notice=hear,
        grace_s=options["grace_s"],
        lease_s=options["lease_s"],
        limits=viva.RunLimits(**options["limits"]) if options["limits"] else None,
    )
    view = run_blocking(lambda: examine(spec))
    say(f"end {view.status} not_run {view.not_run} abandoned {','.join(view.abandoned)} nothing {view.owed_nothing}")
    os._exit(128 + view.signal if view.signal else 0)


if __name__ == "__main__":
    main()
