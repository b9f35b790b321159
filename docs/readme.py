"""`make readme`: put what viva prints today into the README, so that what it shows is real."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"^```text\n.*?^```", re.MULTILINE | re.DOTALL)
YES = "- reply: {id: $nonce, reason: Yes., answer: met}\n"


def printed(readme: str, folder: Path) -> list[str]:
    """What stands in the README's text blocks, in their order."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("VIVA_", "COLUMNS"))}

    def run(*words: str, cwd: Path = folder) -> str:
        done = subprocess.run(  # noqa: S603
            [sys.executable, *words],
            cwd=cwd,
            env=environment | {"NO_COLOR": "1"},
            capture_output=True,
            text=True,
            check=False,  # A judge that gives no verdict on some items has an exit code that says so.
        )
        if not done.stdout:
            raise SystemExit(f"{' '.join(words)}: {done.stderr}")
        return done.stdout

    suite = re.search(r"^```yaml\n(.*?)^```", readme, re.MULTILINE | re.DOTALL)
    assert suite is not None
    run("-m", "viva", "init")
    (folder / "capitals.yml").write_text(suite[1], encoding="utf-8")
    (folder / "yes.yml").write_text(YES, encoding="utf-8")
    demo = run("examples/demo.py", "--report", str(folder / "report.txt"), cwd=ROOT)
    withheld = (folder / "report.txt").read_text(encoding="utf-8").split("job@supplied: ")[0]
    judged = run("-m", "viva", "judge", "test", "--model", "scripted:yes.yml")
    return [
        run("-m", "viva", "run", "capitals.yml"),
        demo,
        lines_of(withheld, lambda line: re.match(r"Transcript|  \[", line)),
        proof(withheld),
        lines_of(demo, lambda line: re.match("withheld →", line)),
        lines_of(judged, lambda line: not re.match(r" +(seconds|cost|unreadable|not judged) ", line)),
    ]


def lines_of(text: str, is_wanted: Callable[[str], object]) -> str:
    """The wanted lines of a text."""
    return "\n".join(line for line in text.splitlines() if is_wanted(line))


def proof(report: str) -> str:
    """The claim that failed, with its reason."""
    lines = report.splitlines()
    at = next(number for number, line in enumerate(lines) if "expected 'Australia/Sydney'" in line)
    return "\n".join(lines[at - 1 : at + 1])


def main() -> None:
    """Write the README anew."""
    readme = README.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        texts = iter(printed(readme, Path(folder)))
    tidy = ("\n".join(line.rstrip() for line in text.strip("\n").splitlines()) for text in texts)
    README.write_text(BLOCK.sub(lambda _: f"```text\n{next(tidy)}\n```", readme), encoding="utf-8")


if __name__ == "__main__":
    main()
