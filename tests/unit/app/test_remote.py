"""A trial can be executed in another process from its serialised form alone."""

import subprocess
import sys

from viva.core.case import Case
from viva.core.check import Check
from viva.core.data import from_json, to_json
from viva.core.evidence import Evidence
from viva.core.ref import Ref
from viva.core.trial import Trial
from viva.core.variant import DEFAULT_VARIANT

CHILD = """
import asyncio, sys
from viva.app import execute_trial
sys.path.insert(0, sys.argv[1])
evidence = asyncio.run(execute_trial(sys.stdin.buffer.read(), allow=["far_agent"]))
sys.stdout.buffer.write(evidence)
"""


def test_a_trial_runs_elsewhere_from_its_json(tmp_path):
    (tmp_path / "far_agent.py").write_text("def answer(message):\n    return message.upper()\n")
    case = Case(id="far", input="hello", checks=(Check(scorer="contains", settings={"text": "HELLO"}),))
    trial = Trial(
        run="r", case=case, variant=DEFAULT_VARIANT, repeat=2, driver=Ref(name="once"), seed=4,
        subject=Ref(name="function", settings={"target": "far_agent:answer"}),
    )  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        input=to_json(trial),
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    evidence = from_json(done.stdout, Evidence)
    assert evidence.text == "HELLO" and evidence.trial == "far#2" == trial.key and evidence.ending.ok
    assert evidence.case == case
