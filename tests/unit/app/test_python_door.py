"""Suites built and run in Python: in scripts, in async code, and inside a running loop as in a notebook."""

import asyncio

import pytest

import viva
from viva.testing import FakeSubject


def capitals(count=2, **keys):
    cases = [{"id": f"c{n}", "input": f"What is the capital of land {n}?"} for n in range(count)]
    return viva.suite("capitals", cases, **{"checks": [{"contains": "Paris"}], **keys})


def agent(message: str) -> str:
    return "It is Paris." if "0" in message else "I do not know."


@pytest.fixture
def store(tmp_path):
    return tmp_path / "viva.db"


def test_a_function_is_examined_from_a_script_and_the_run_can_be_walked(store):
    run = viva.run(capitals(), subject=agent, store=store)
    assert run.status == "finished" and run.planned == 2 and run.pass_rate == 0.5 and run.score == 0.5
    assert [(trial.key, trial.outcome, trial.score) for trial in run] == [("c0", "pass", 1.0), ("c1", "fail", 0.0)]
    assert run["c0"].evidence.text == "It is Paris." and run["c0"].scores[0].passed
    with pytest.raises(KeyError):
        run["nobody"]


async def test_inside_a_running_loop_as_in_a_notebook(store):
    run = viva.run(capitals(), subject=agent, store=store)
    assert [trial.outcome for trial in run.trials] == ["pass", "fail"]


async def test_async_code_awaits(store):
    async def slow_agent(message: str) -> str:
        await asyncio.sleep(0)
        return "Paris"

    run = await viva.arun(capitals(), subject=slow_agent, store=store)
    assert [trial.outcome async for trial in run.walk()] == ["pass", "pass"]


def test_a_subject_object_a_class_and_async_functions_are_subjects(store):
    class Agent:
        def send(self, message):
            return "Paris"

    for subject in (FakeSubject(["Paris"]), Agent, Agent()):
        assert viva.run(capitals(), subject=subject, store=store).pass_rate == 1.0


def test_python_objects_are_examined_anew_unless_asked_to_finish(store):
    first = viva.run(capitals(), subject=agent, store=store)
    assert viva.run(capitals(), subject=agent, store=store).id != first.id
    again = viva.run(capitals(), subject=agent, store=store, fresh=False)
    assert again.owed_nothing and again.status == "finished"


def test_filters_repeats_and_options(store):
    run = viva.run(capitals(5), subject=agent, store=store, match="c1 or c2", repeats=3, concurrency=2)
    assert [trial.key for trial in run] == ["c1", "c1#2", "c1#3", "c2", "c2#2", "c2#3"]
    assert run.run.filters == {"match": "c1 or c2", "repeats": 3} and run.run.concurrency == 2


def test_a_misspelt_option_is_refused_with_the_nearest_one(store):
    with pytest.raises(viva.SuiteError, match="concurrency"):
        viva.run(capitals(), subject=agent, store=store, concurency=2)


def test_a_suite_without_a_subject_is_refused(store):
    with pytest.raises(viva.SuiteError, match="no subject"):
        viva.run(capitals(), store=store)
    assert not any(store.parent.glob("*.json"))


def test_labels_of_equal_checks_are_told_apart(store):
    run = viva.run(capitals(1, checks=[{"contains": "Paris"}, {"contains": "It"}]), subject=agent, store=store)
    names = [score.name for score in run["c0"].scores]
    assert len(set(names)) == 2


def test_variants_reach_the_agent(store):
    suite = capitals(
        1, variants=[{"name": "small", "model": "s"}, {"name": "big", "model": "b"}], checks=[{"contains": "b"}]
    )

    def tells_model(message: str, model: str) -> str:
        return f"I am {model}"

    run = viva.run(suite, subject=tells_model, store=store)
    assert [(trial.key, trial.outcome) for trial in run] == [("c0@small", "fail"), ("c0@big", "pass")]
