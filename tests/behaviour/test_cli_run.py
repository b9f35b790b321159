"""`viva run` as a person or a script meets it: tables, JSON, exit codes, and what comes after an interruption."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SUITE = """\
suite: capitals
subject: {command: {argv: [sh, agent.sh, "{message}"]}}
retry: {attempts: 1}
concurrency: 4
checks: []
cases:
  - {id: france, input: France, tags: [europe], checks: [{contains: Paris, label: contains}]}
  - {id: spain, input: Spain, tags: [europe], checks: [{contains: Madrid, label: contains}]}
  - {id: japan, input: Japan, checks: [{contains: Tokyo, label: contains}]}
"""

AGENT = """\
case "$1" in
  France) echo "It is Paris." ;;
  Spain) echo "It is Madrid." ;;
  *) echo "It is \033]0;owned\007Kyoto." ;;
esac
"""

SLOW_SUITE = (
    SUITE.replace("concurrency: 4", "concurrency: 2")[: SUITE.index("cases:")]
    + "cases:\n"
    + "".join(
        f"  - {{id: c{number}, input: France, checks: [{{contains: Paris, label: contains}}]}}\n"
        for number in range(60)
    )
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "suite.yml").write_text(SUITE)
    (tmp_path / "agent.sh").write_text(AGENT)
    (tmp_path / ".viva").mkdir()
    (tmp_path / ".viva" / "settings.toml").write_text('allow = ["command:sh", "command:no-such-program"]\n')
    return tmp_path


def environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("VIVA_", "COLUMNS"))}
    return {**kept, "NO_COLOR": "1"}


def viva(project: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "viva", *words],
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def start(project: Path, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "viva", *words],
        cwd=project,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def slow(project: Path) -> None:
    """An agent that takes its time, and writes down every question it was asked."""
    (project / "suite.yml").write_text(SLOW_SUITE)
    (project / "agent.sh").write_text('echo "$1" >> asked.txt\nsleep 0.3\necho "It is Paris."\n')


def wait_until_asked(project: Path, times: int) -> None:
    deadline = time.monotonic() + 30
    asked = project / "asked.txt"
    while not asked.exists() or len(asked.read_text().splitlines()) < times:
        assert time.monotonic() < deadline, "the agent was never asked"
        time.sleep(0.02)


def test_a_run_ends_in_a_table_on_stdout(project: Path) -> None:
    ran = viva(project, "run", "suite.yml")
    assert ran.returncode == 0, ran.stderr
    rows = {line.split()[0]: line.split()[1:] for line in ran.stdout.splitlines() if line.strip()}
    assert rows["france"][:2] == ["pass", "1.000"]
    assert rows["japan"][:2] == ["fail", "0.000"]
    assert rows["contains"][0] == "0.667"
    assert "3 trials: 2 passed, 1 failed, 0 errors, 0 skipped" in ran.stdout
    assert "\x1b" not in ran.stdout + ran.stderr


def test_what_failed_does_not_pass_for_an_error_but_a_threshold_tells(project: Path) -> None:
    assert viva(project, "run", "suite.yml", "--fail-under", "0.6").returncode == 0
    below = viva(project, "run", "suite.yml", "--fail-under", "0.7")
    assert below.returncode == 1
    assert "score >= 0.7 does not hold: score is 0.6667" in below.stdout


def test_a_threshold_of_the_suite_decides_the_exit_code(project: Path) -> None:
    (project / "suite.yml").write_text(SUITE + "thresholds: [pass_rate >= 0.9]\n")
    ran = viva(project, "run", "suite.yml")
    assert ran.returncode == 1
    assert "pass_rate >= 0.9 does not hold: pass_rate is 0.6667" in ran.stdout


def test_errors_in_trials_are_three_and_in_no_mean(project: Path) -> None:
    (project / "agent.sh").write_text('test "$1" = Japan && exit 9\n' + AGENT)
    ran = viva(project, "run", "suite.yml", "--json", "--fail-under", "0.99")
    assert ran.returncode == 3, ran.stderr
    found = json.loads(ran.stdout)
    assert found["exit_code"] == 3
    assert (found["score"]["n"], found["score"]["mean"]) == (2, 1.0)
    assert found["outcomes"]["errors"] == 1


@pytest.mark.parametrize("change", [("contains", "contians"), ("cases:", "caess:"), ("command:", "comand:")])
def test_bad_configuration_is_two_with_one_line(project: Path, change: tuple[str, str]) -> None:
    (project / "suite.yml").write_text(SUITE.replace(*change))
    ran = viva(project, "run", "suite.yml")
    assert ran.returncode == 2, ran.stdout
    assert ran.stdout == ""
    assert ran.stderr.startswith("viva: suite.yml:")
    assert "did you mean" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_an_agent_that_is_not_there_stops_the_run_early_and_is_three(project: Path) -> None:
    (project / "suite.yml").write_text(SUITE.replace("sh, agent.sh", "no-such-program"))
    ran = viva(project, "run", "suite.yml")
    assert ran.returncode == 3, ran.stderr
    assert "Traceback" not in ran.stderr
    assert "no-such-program" in ran.stderr
    assert "go on with: viva resume" in ran.stderr


def test_json_is_all_there_is_on_stdout(project: Path) -> None:
    ran = viva(project, "run", "suite.yml", "--json", "--verbose")
    found = json.loads(ran.stdout)
    assert found["run"]["suite"] == "capitals"
    assert found["outcomes"]["n"] == 3
    assert "\\x1b]0;owned\\x07" in ran.stderr


def test_quiet_is_one_line(project: Path) -> None:
    ran = viva(project, "run", "suite.yml", "-q")
    assert ran.stdout.count("\n") == 1
    assert "score 0.667 (n=3), 2 passed, 1 failed, 0 errors, 0 skipped" in ran.stdout
    assert ran.stderr == ""


def test_verbose_shows_the_conversation_with_nothing_that_commands_the_terminal(project: Path) -> None:
    ran = viva(project, "run", "suite.yml", "-v")
    assert "france       user │ France" in ran.stderr
    assert "france  assistant │ It is Paris." in ran.stderr
    assert "It is \\x1b]0;owned\\x07Kyoto." in ran.stderr


@pytest.mark.parametrize(
    ("words", "cases"),
    [
        (["-k", "france or japan"], {"france", "japan"}),
        (["--tag", "europe"], {"france", "spain"}),
        (["--limit", "1"], {"france"}),
    ],
)
def test_filters_choose_cases(project: Path, words: list[str], cases: set[str]) -> None:
    assert viva(project, "run", "suite.yml", "-q", *words).returncode == 0
    shown = viva(project, "show", "latest", "--trials", "--json")
    assert {json.loads(line)["case"] for line in shown.stdout.splitlines()} == cases


def test_running_again_runs_nothing_and_fresh_begins_anew(project: Path) -> None:
    first = viva(project, "run", "suite.yml")
    again = viva(project, "run", "suite.yml")
    assert "nothing was missing" in again.stderr
    assert again.stdout == first.stdout
    assert viva(project, "run", "suite.yml", "--fresh").returncode == 0
    assert len(json.loads(viva(project, "list", "--json").stdout)) == 2


def test_several_suites_give_the_gravest_code(project: Path) -> None:
    (project / "other.yml").write_text(SUITE.replace("suite: capitals", "suite: other"))
    ran = viva(project, "run", "other.yml", "suite.yml", "-q", "--fail-under", "0.9", "-k", "france")
    assert ran.returncode == 0, ran.stderr
    both = viva(project, "run", "other.yml", "suite.yml", "-q", "--fail-under", "0.9")
    assert both.returncode == 1
    assert both.stdout.count("\n") == 2


def test_several_suites_are_one_json_document(project: Path) -> None:
    (project / "other.yml").write_text(SUITE.replace("suite: capitals", "suite: other"))
    both = viva(project, "run", "other.yml", "suite.yml", "--json")
    assert [one["run"]["suite"] for one in json.loads(both.stdout)] == ["other", "capitals"]
    torn = viva(project, "run", "other.yml", "nosuch.yml", "--json")
    assert torn.returncode == 2
    assert [one["run"]["suite"] for one in json.loads(torn.stdout)] == ["other"]
    assert "nosuch.yml" in torn.stderr


def test_what_the_projects_settings_allow_and_a_suite_uses_is_said_once(project: Path) -> None:
    (project / "other.yml").write_text(SUITE.replace("suite: capitals", "suite: other"))
    ran = viva(project, "run", "other.yml", "suite.yml")
    assert ran.stderr == "allowed by .viva/settings.toml: command:sh\n"
    assert viva(project, "run", "suite.yml", "--fresh", "-q").stderr == ""


def test_what_the_command_line_allows_needs_no_saying(project: Path) -> None:
    (project / ".viva" / "settings.toml").unlink()
    ran = viva(project, "run", "suite.yml", "--allow", "command:sh")
    assert (ran.returncode, ran.stderr) == (0, "")
    (project / "pyproject.toml").write_text('[tool.viva]\nallow = ["command:sh", "my.module"]\n')
    assert viva(project, "run", "suite.yml", "--fresh").stderr == "allowed by pyproject.toml: command:sh\n"


def test_a_filter_that_leaves_nothing_says_so(project: Path) -> None:
    ran = viva(project, "run", "suite.yml", "-k", "nosuch")
    assert ran.returncode == 2
    assert ran.stderr == "viva: no case matches 'nosuch' (there are: france, spain, japan)\n"


def test_scoring_again_does_not_touch_the_agent(project: Path) -> None:
    assert viva(project, "run", "suite.yml").returncode == 0
    (project / "agent.sh").unlink()
    (project / "suite.yml").write_text(re.sub("contains: [A-Z][a-z]*", "contains: It is", SUITE))
    scored = viva(project, "score", "latest", "--suite", "suite.yml", "--name", "looser")
    assert scored.returncode == 0, scored.stderr
    assert "3 trials: 3 passed" in scored.stdout
    assert "3 trials: 2 passed" in viva(project, "show", "latest").stdout
    assert "3 trials: 3 passed" in viva(project, "show", "latest", "--scoring", "looser").stdout


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_one_signal_drains_saves_and_says_how_to_go_on(project: Path, number: int, code: int) -> None:
    slow(project)
    process = start(project, "run", "suite.yml")
    wait_until_asked(project, 4)
    process.send_signal(number)
    out, err = process.communicate(timeout=30)
    assert process.returncode == code, err
    assert "interrupted" in out
    assert "finishing what is in flight" in err
    asked = len((project / "asked.txt").read_text().splitlines())
    shown = json.loads(viva(project, "show", "latest", "--json").stdout)
    assert shown["outcomes"]["n"] == shown["outcomes"]["passed"] == asked
    command = next(line for line in err.splitlines() if "viva resume" in line).split("go on with: viva ")[1]
    resumed = viva(project, *command.split(), "-c", "30", "-q")
    assert resumed.returncode == 0, resumed.stderr
    assert "60 passed" in resumed.stdout
    assert len((project / "asked.txt").read_text().splitlines()) == 60


def test_a_second_signal_stops_now_and_leaves_a_run_that_can_be_resumed(project: Path) -> None:
    slow(project)
    (project / "agent.sh").write_text('echo "$1" >> asked.txt\nsleep 20\necho "It is Paris."\n')
    process = start(project, "run", "suite.yml")
    wait_until_asked(project, 2)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert time.monotonic() - began < 9
    assert "Traceback" not in err
    assert "go on with: viva resume" in err


def test_a_terminal_that_is_closed_ends_the_run_as_a_signal_does(project: Path) -> None:
    slow(project)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(project)
        os.execve(sys.executable, [sys.executable, "-m", "viva", "run", "suite.yml"], environment())
    wait_until_asked(project, 4)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 129
    run = json.loads(viva(project, "show", "latest", "--json").stdout)
    assert run["run"]["status"] == "interrupted"
    assert run["outcomes"]["n"] == len((project / "asked.txt").read_text().splitlines())


def test_output_that_nobody_reads_costs_no_result(project: Path) -> None:
    process = start(project, "run", "suite.yml")
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read()
    assert process.wait(timeout=30) == 0
    assert "Traceback" not in err
    assert "BrokenPipe" not in err
    process.stderr.close()
    assert json.loads(viva(project, "show", "latest", "--json").stdout)["outcomes"]["n"] == 3
