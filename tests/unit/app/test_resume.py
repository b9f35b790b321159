"""Going on with runs: exactly what is missing, and only when nothing has changed."""

import asyncio
import os
from pathlib import Path

import pytest

import viva
from viva.app import RunSpec, examine, rescore, resume
from viva.core.errors import SuiteError
from viva.core.limits import RunLimits
from viva.store.sqlite import SqliteStore

SUITE = """\
suite: capitals
subject: {function: {target: "resume_agent:answer"}}
checks:
  - contains: Paris
cases:
  - {id: france, input: What is the capital of France?}
  - {id: texas, input: Where is the other Paris?}
  - {id: spain, input: What is the capital of Spain?}
"""
AGENT = """\
from pathlib import Path
def answer(message):
    with Path(__file__).with_name("book.txt").open("a") as book:
        book.write(message + "\\n")
    return "Paris" if "France" in message or "Paris" in message else "Madrid"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "suite.yml").write_text(SUITE)
    (tmp_path / "resume_agent.py").write_text(AGENT)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(__import__("sys").modules, "resume_agent", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec(folder: Path, **options) -> RunSpec:
    settings = {"store": folder / "viva.db", "allow": ("resume_agent",), **options}
    return RunSpec(folder / "suite.yml", **settings)


def calls(folder: Path) -> int:
    book = folder / "book.txt"
    return len(book.read_text().splitlines()) if book.exists() else 0


def edit(folder: Path, old: str, new: str) -> None:
    text = (folder / "suite.yml").read_text()
    assert old in text
    (folder / "suite.yml").write_text(text.replace(old, new))


async def partly(folder: Path, trials: int = 1):
    return await examine(spec(folder, limits=RunLimits(trials=trials)))


async def test_running_again_does_exactly_what_is_missing(folder):
    first = await partly(folder)
    assert first.status == "interrupted" and first.not_run == 2 and calls(folder) == 1
    second = await examine(spec(folder))
    assert second.id == first.id and second.resumed and second.status == "finished" and calls(folder) == 3
    third = await examine(spec(folder))
    assert third.id == first.id and third.owed_nothing and calls(folder) == 3


async def test_resume_works_from_the_store_alone(folder):
    first = await partly(folder)
    options = spec(folder)
    view = await resume(first.id, RunSpec("", store=options.store, allow=options.allow, limits=RunLimits(trials=99)))
    assert view.status == "finished" and calls(folder) == 3
    again = await resume("latest", RunSpec("", store=options.store))
    assert again.owed_nothing and calls(folder) == 3


async def test_a_finished_run_is_recognised_without_reading_the_suite(folder, monkeypatch):
    await examine(spec(folder))

    def refuse(*_, **__):
        raise AssertionError("the suite was read")

    monkeypatch.setattr("viva.app.intent.load_suite", refuse)
    assert (await examine(spec(folder))).owed_nothing
    assert (await resume("latest", RunSpec("", store=folder / "viva.db"))).owed_nothing


async def test_fresh_begins_anew(folder):
    first = await partly(folder)
    second = await examine(spec(folder, fresh=True))
    assert second.id != first.id and not second.resumed and calls(folder) == 4


CHANGES = [
    ("capital of Spain", "capital city of Spain", "cases (spain changed)"),
    ("contains: Paris", "contains: Pari", "scorers"),
    ("contains: Paris", "{contains: Paris, weight: 2}", "scorers"),
    ("checks:", "formula: pass_rate@1\nchecks:", "formula"),
    ("checks:", "thresholds: ['score >= 0.9']\nchecks:", "formula"),
    ("checks:", "driver: {script: {turns: [hello]}}\nchecks:", "drivers"),
    ("checks:", "roles: {judge: 'scripted:other.yml'}\nchecks:", "roles"),
    ('"resume_agent:answer"', '"resume_agent:answer", arguments: {}', "subject"),
    ("  - {id: spain", "  - {id: italy, input: And Italy?}\n  - {id: spain", "italy added"),
    ("checks:", "limits: {turns: 3}\nchecks:", "limits"),
]


@pytest.mark.parametrize(("old", "new", "named"), CHANGES, ids=[change[2] + str(n) for n, change in enumerate(CHANGES)])
async def test_a_changed_part_is_named_and_refused_unless_forked(folder, old, new, named):
    first = await partly(folder)
    edit(folder, old, new)
    for attempt in (lambda: examine(spec(folder)), lambda: resume(first.id, spec(folder))):
        with pytest.raises(SuiteError, match="has changed since") as refused:
            await attempt()
        assert named in str(refused.value) and refused.value.kind == "changed" and "--fork" in str(refused.value)
    assert calls(folder) == 1
    forked = await examine(spec(folder, fork=True, limits=RunLimits(trials=0)))
    assert forked.run.forked_from == first.id


async def test_a_comment_is_no_change(folder):
    first = await partly(folder)
    edit(folder, "checks:", "# Only one check.\nchecks:")
    view = await examine(spec(folder))
    assert view.id == first.id and view.status == "finished"


async def test_a_changed_suite_after_a_finished_run_is_a_new_run(folder):
    first = await examine(spec(folder))
    edit(folder, "capital of Spain", "capital city of Spain")
    second = await examine(spec(folder))
    assert second.id != first.id and second.status == "finished" and second.run.forked_from == ""


async def test_rescoring_never_touches_the_agent(folder):
    first = await examine(spec(folder))
    edit(folder, "contains: Paris", "contains: Madrid")
    mine = await rescore(first.id, RunSpec("", store=folder / "viva.db"), "same")
    other = await rescore(first.id, spec(folder), "other")
    assert calls(folder) == 3
    assert [trial.outcome for trial in await walk(mine)] == ["pass", "pass", "fail"]
    assert [trial.outcome for trial in await walk(other)] == ["fail", "fail", "pass"]
    assert [trial.outcome for trial in await walk(first)] == ["pass", "pass", "fail"]
    store = await SqliteStore.open(folder / "viva.db")
    assert await store.scorings(first.id) == ["same", "other"]
    await store.close()


async def walk(view):
    return [trial async for trial in view.walk()]


async def test_a_rescoring_that_exists_is_completed_not_repeated(folder):
    first = await examine(spec(folder))
    again = await rescore(first.id, RunSpec("", store=folder / "viva.db"), "x")
    assert again.course.finished == 3
    assert (await rescore(first.id, RunSpec("", store=folder / "viva.db"), "x")).course.finished == 0


async def test_a_suite_error_is_found_before_a_run_is_begun(folder):
    edit(folder, "resume_agent:answer", "resume_agent:nobody")
    with pytest.raises(SuiteError):
        await examine(spec(folder))
    with pytest.raises(SuiteError, match="not allowed"):
        await examine(spec(folder, allow=()))
    store = await SqliteStore.open(folder / "viva.db")
    assert await store.runs() == []
    await store.close()


async def test_two_suites_in_one_store_do_not_meet(folder):
    await partly(folder)
    (folder / "other").mkdir()
    (folder / "other" / "suite.yml").write_text(SUITE)
    view = await examine(RunSpec(folder / "other" / "suite.yml", store=folder / "viva.db", allow=("resume_agent",)))
    assert not view.resumed and view.status == "finished"


async def test_runs_at_the_same_time_get_ids_of_their_own(folder):
    views = await asyncio.gather(*(examine(spec(folder, fresh=True, hear_signals=False)) for _ in range(3)))
    assert len({view.id for view in views}) == 3
    assert os.path.exists(folder / "viva.db") and viva.__version__ == views[0].run.viva_version


async def test_what_is_wrong_with_a_later_case_is_found_before_anything_is_spent(folder):
    edit(folder, "Where is the other Paris?}", "Where is the other Paris?, checks: [{contains: {}}]}")
    with pytest.raises(SuiteError, match=r"suite\.yml:7.*say which text"):
        await examine(spec(folder))
    assert calls(folder) == 0


async def test_one_character_of_a_prompt_is_a_named_change(folder):
    (folder / "persona.jinja").write_text("You are a patient user.")
    (folder / "user.yml").write_text("- reply: '{}'\n")
    persona = "driver: {persona: {template: persona.jinja}}, tasks: [{text: Ask for the capital of Spain}]"
    edit(folder, "input: What is the capital of Spain?", persona)
    first = intent_hashes(folder)
    (folder / "persona.jinja").write_text("You are a patient user!")
    second = intent_hashes(folder)
    assert [part for part in first if first[part] != second[part]] == ["prompts"]


def intent_hashes(folder):
    from viva.app.intent import read_intent
    from viva.app.project import open_project
    from viva.core.clock import SystemClock

    wanted = spec(folder)
    return read_intent(wanted, open_project(wanted.allow, (), wanted.store), SystemClock().now()).run.hashes
