"""The front door: its names are a promise, and opening it costs nothing."""

import subprocess
import sys

import pytest

import viva

NAMES = """
Case Check Criterion DriverError Ending Event Evidence JudgeError Level LimitError Limits Measure Message ModelError
Observation Observed Ref Registry Reply Retry Roles Run RunLimits RunSpec RunView Score ScoreError ScoreSkipped
ScorerError SetupError StageError StoppedError StoreError SubjectError Suite SuiteError Task Threshold ToolCall
Transcript Trial TrialResult TrialView Turn Usage Variant VivaError __version__ arun load_suite run suite
""".split()


def test_the_public_names_are_exactly_these():
    assert sorted(viva.__all__) == sorted(NAMES) == dir(viva)


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_can_be_used(name):
    assert getattr(viva, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing_here"):
        viva.nothing_here  # noqa: B018


def test_importing_viva_imports_nothing_heavy():
    code = "import viva, sys; print(' '.join(sorted(sys.modules)))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {"aiohttp", "rich", "jinja2", "yaml", "rapidfuzz", "msgspec", "asyncio", "sqlite3"}
    assert not heavy & {name.partition(".")[0] for name in out.split()}


def test_the_names_for_plug_in_authors_are_exactly_these():
    import viva.testing

    assert viva.testing.__all__ == [
        "ContractError",
        "Drip",
        "FakeClock",
        "FakeModel",
        "FakeSubject",
        "Fault",
        "FaultyStore",
        "Hang",
        "Kill",
        "Raise",
        "Status",
        "check_driver",
        "check_scorer",
        "check_store",
        "check_subject",
    ]
