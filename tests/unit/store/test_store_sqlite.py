"""The store keeps what it acknowledged, gives it back unchanged, and refuses what it cannot keep."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from store_samples import VARIANTS, TwoClocks, a_case, a_run, cases, evidence_of, failed_evidence, result_of, scores

from viva.core.data import replace
from viva.core.errors import SetupError, StoreError
from viva.core.score import TrialResult
from viva.core.transcript import Transcript, Turn
from viva.core.trial import trial_key
from viva.ports.store import Store, Tally
from viva.store.sqlite import SqliteStore


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "deep" / "viva.db")
    yield opened
    await opened.close()


async def test_the_store_fulfils_its_contract_by_type(store: SqliteStore) -> None:
    port: Store = store
    assert port is store


async def test_a_run_and_its_cases_come_back_as_they_were(store: SqliteStore) -> None:
    listed = cases(3)
    await store.create_run(a_run(planned=3), iter(listed))
    assert await store.run("run-1") == a_run(planned=3)
    assert await store.cases("run-1") == listed
    assert await store.tally("run-1") == Tally(planned=3)


async def test_runs_are_found_by_id_prefix_and_latest(store: SqliteStore) -> None:
    for name, suite in (("abc-1", "one"), ("abd-2", "two"), ("xyz-3", "one")):
        await store.create_run(a_run(name, suite=suite), [])
    assert (await store.run("latest")).id == "xyz-3"
    assert (await store.run("abd")).id == "abd-2"
    assert [run.id for run in await store.runs()] == ["xyz-3", "abd-2", "abc-1"]
    assert [run.id for run in await store.runs("one")] == ["xyz-3", "abc-1"]
    with pytest.raises(StoreError, match="2 runs begin with 'ab'") as ambiguous:
        await store.run("ab")
    assert ambiguous.value.kind == "ambiguous"
    for name in ("nope", "", "a%", "ab_"):
        with pytest.raises(StoreError) as missing:
            await store.run(name)
        assert missing.value.kind == "not_found"


async def test_an_id_that_begins_another_id_is_still_found(store: SqliteStore) -> None:
    await store.create_run(a_run("run-1"), [])
    await store.create_run(a_run("run-10"), [])
    assert (await store.run("run-1")).id == "run-1"


async def test_latest_follows_new_runs_in_every_question(store: SqliteStore) -> None:
    await store.create_run(a_run("one"), cases(1))
    assert len(await store.cases("latest")) == 1
    await store.create_run(a_run("two"), cases(2))
    assert len(await store.cases("latest")) == 2


async def test_a_run_is_never_created_twice(store: SqliteStore) -> None:
    await store.create_run(a_run(), cases(1))
    with pytest.raises(StoreError) as refused:
        await store.create_run(a_run(), cases(2))
    assert refused.value.kind == "exists"
    assert len(await store.cases("run-1")) == 1


async def test_two_cases_of_one_name_are_refused_and_nothing_is_kept(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="two cases are called 'france'"):
        await store.create_run(a_run(), [a_case(), a_case()])
    assert await store.runs() == []


async def test_the_state_of_a_run_is_what_was_said_last(tmp_path: Path) -> None:
    clock = TwoClocks()
    store = await SqliteStore.open(tmp_path / "viva.db", clock=clock)
    await store.create_run(a_run(), [])
    await store.finish_run("run-1", "interrupted", "Ctrl-C")
    stopped = await store.run("run-1")
    assert (stopped.status, stopped.reason, stopped.finished_at) == ("interrupted", "Ctrl-C", clock.wall.isoformat())
    await store.finish_run("run-1", "running")
    assert (await store.run("run-1")).finished_at == ""
    clock.jump(-3600)
    await store.finish_run("run-1", "finished")
    assert (await store.run("run-1")).status == "finished"  # By sequence: an earlier date is no older fact.
    await store.close()


async def test_evidence_and_results_come_back_as_they_were(store: SqliteStore) -> None:
    case = a_case()
    await store.create_run(a_run(planned=1), [case])
    evidence = evidence_of(case)
    assert await store.add_evidence("run-1", evidence)
    assert await store.tally("run-1") == Tally(planned=1, evidence=1)
    assert await store.add_result("run-1", result_of(evidence), scores())
    assert await store.evidence("run-1", "france") == evidence
    assert await store.scores("run-1", "france") == scores()
    assert await store.result("run-1", "france") == (result_of(evidence), scores())
    assert await store.evidence_keys("run-1") == {"france"} == await store.result_keys("run-1")
    assert await store.tally("run-1") == Tally(planned=1, evidence=1, results=1)


async def test_a_late_writer_is_refused_and_nothing_is_merged(store: SqliteStore) -> None:
    case = a_case()
    await store.create_run(a_run(), [case])
    first, late = evidence_of(case, text="first"), evidence_of(case, text="late")
    assert await store.add_evidence("run-1", first) is True
    assert await store.add_evidence("run-1", late) is False
    assert await store.add_result("run-1", result_of(first, 1.0), scores(1.0)) is True
    assert await store.add_result("run-1", result_of(late, 0.0), scores(0.0)) is False
    assert await store.evidence("run-1", "france") == first
    assert await store.result("run-1", "france") == (result_of(first, 1.0), scores(1.0))


async def test_of_two_writers_in_one_commit_exactly_one_wins(store: SqliteStore) -> None:
    case = a_case()
    await store.create_run(a_run(), [case])
    answers = await asyncio.gather(*(store.add_evidence("run-1", evidence_of(case, text=str(n))) for n in range(50)))
    assert sorted(answers) == [False] * 49 + [True]
    winner = answers.index(True)
    assert (await store.evidence("run-1", "france")).text == str(winner)


async def test_the_same_key_in_two_runs_is_two_trials(store: SqliteStore) -> None:
    case = a_case()
    for name in ("one", "two"):
        await store.create_run(a_run(name), [case])
    answers = await asyncio.gather(*(store.add_evidence(name, evidence_of(case, text=name)) for name in ("one", "two")))
    assert answers == [True, True]
    assert (await store.evidence("two", "france")).text == "two"


async def test_rescorings_stand_beside_the_runs_own_results(store: SqliteStore) -> None:
    case = a_case()
    await store.create_run(a_run(), [case])
    evidence = evidence_of(case)
    await store.add_evidence("run-1", evidence)
    for name, value in (("", 1.0), ("stricter", 0.0), ("again", 0.5)):
        assert await store.add_result("run-1", result_of(evidence, value), scores(value), name)
    assert await store.scorings("run-1") == ["stricter", "again"]
    assert (await store.scores("run-1", "france", "stricter"))[0] == scores(0.0)[0]
    assert [result.score async for result, _ in store.all_results("run-1", "again")] == [0.5]
    assert await store.result_keys("run-1", "unheard of") == set()


async def test_order_is_the_plans_whatever_finished_first(store: SqliteStore) -> None:
    listed = [a_case(f"c{n}", variants=VARIANTS, repeats=12) for n in (2, 10, 1)]
    await store.create_run(a_run(), listed)
    plan = [(case, variant, repeat) for case in listed for variant in VARIANTS for repeat in range(1, 13)]
    shuffled = random.Random(5).sample(plan, len(plan))
    for case, variant, repeat in shuffled:
        await store.add_evidence("run-1", evidence_of(case, variant, repeat))
    for case, variant, repeat in reversed(shuffled):
        await store.add_result("run-1", result_of(evidence_of(case, variant, repeat)), scores())
    keys = [trial_key(case.id, variant.name, repeat) for case, variant, repeat in plan]
    assert [evidence.trial async for evidence in store.all_evidence("run-1")] == keys
    assert [result.trial async for result, _ in store.all_results("run-1")] == keys
    assert [evidence.case async for evidence in store.all_evidence("run-1")] == [case for case, _, _ in plan]


async def test_pages_join_without_a_gap(store: SqliteStore) -> None:
    listed = cases(451)
    await store.create_run(a_run(), listed)
    await asyncio.gather(*(store.add_evidence("run-1", evidence_of(case)) for case in reversed(listed)))
    assert [evidence.case.id async for evidence in store.all_evidence("run-1")] == [case.id for case in listed]


async def test_large_bodies_are_kept_apart_pressed_and_shared(store: SqliteStore) -> None:
    listed = cases(2)
    await store.create_run(a_run(), listed)
    huge = "naïve 🦆 " * 150_000
    for case in listed:
        evidence = replace(evidence_of(listed[0], text=huge), trial=case.id, case=case)
        assert await store.add_evidence("run-1", evidence)
        assert await store.evidence("run-1", case.id) == evidence
        long_scores = [replace(scores()[0], reason=huge)]
        assert await store.add_result("run-1", result_of(evidence), long_scores)
        assert await store.scores("run-1", case.id) == long_scores
    with sqlite3.connect(store.path) as raw:
        assert raw.execute("SELECT count(*) FROM evidence WHERE body IS NULL").fetchone() == (2,)
        assert raw.execute("SELECT count(*) FROM results WHERE scores IS NULL").fetchone() == (2,)
        shared, stored = raw.execute("SELECT count(*), sum(length(body)) FROM bodies WHERE size > 32768").fetchone()
    raw.close()
    assert shared == 3  # Two pieces of evidence, which name their cases, and one list of scores.
    assert stored < len(huge) / 4


async def test_equal_cases_of_many_runs_are_stored_once(store: SqliteStore) -> None:
    for number in range(4):
        await store.create_run(a_run(f"run-{number}"), cases(10))
    with sqlite3.connect(store.path) as raw:
        assert raw.execute("SELECT count(*) FROM bodies").fetchone() == (10,)
    raw.close()


async def test_evidence_of_a_changed_case_keeps_the_case_it_was_made_with(store: SqliteStore) -> None:
    await store.create_run(a_run(), [a_case()])
    changed = a_case(expected="Lyon")
    await store.add_evidence("run-1", evidence_of(changed))
    assert (await store.evidence("run-1", "france")).case == changed
    assert await store.cases("run-1") == [a_case()]


async def test_a_trial_of_a_foreign_case_is_refused_alone(store: SqliteStore) -> None:
    known = cases(20)
    await store.create_run(a_run(), known)
    foreign = a_case("atlantis")
    mixed = [*known[:10], foreign, *known[10:]]
    answers = await asyncio.gather(
        *(store.add_evidence("run-1", evidence_of(case)) for case in mixed), return_exceptions=True
    )
    refused = answers.pop(10)
    assert isinstance(refused, StoreError)
    assert refused.kind == "foreign_trial"
    assert "atlantis" in str(refused)
    assert answers == [True] * 20
    assert len(await store.evidence_keys("run-1")) == 20


@pytest.mark.parametrize("poison", [None, 7, object()])
async def test_what_could_not_be_read_back_is_not_acknowledged(store: SqliteStore, poison: Any) -> None:
    case = a_case()
    await store.create_run(a_run(), [case])
    evidence = replace(evidence_of(case), transcript=Transcript(turns=(Turn(role="assistant", text=poison),)))
    with pytest.raises(StoreError) as refused:
        await store.add_evidence("run-1", evidence)
    assert refused.value.kind == "unstorable"
    assert "france" in str(refused.value)
    assert await store.evidence_keys("run-1") == set()
    assert await store.add_evidence("run-1", evidence_of(case))


async def test_a_trial_that_failed_is_evidence_too(store: SqliteStore) -> None:
    case = a_case()
    await store.create_run(a_run(), [case])
    evidence = failed_evidence(case)
    await store.add_evidence("run-1", evidence)
    assert await store.evidence("run-1", "france") == evidence


async def test_a_result_without_evidence_is_kept_in_its_place(store: SqliteStore) -> None:
    listed = cases(3)
    await store.create_run(a_run(), listed)
    for case in reversed(listed):
        skipped = TrialResult(trial=case.id, case=case.id, outcome="skipped", error="budget")
        assert await store.add_result("run-1", skipped, [])
    assert [result.case async for result, _ in store.all_results("run-1")] == [case.id for case in listed]


async def test_asking_for_what_is_not_there_is_a_named_error(store: SqliteStore) -> None:
    await store.create_run(a_run(), [a_case()])
    for question in (store.evidence("run-1", "nowhere"), store.scores("run-1", "nowhere"), store.tally("no run")):
        with pytest.raises(StoreError) as missing:
            await question
        assert missing.value.kind == "not_found"
    with pytest.raises(StoreError):
        await store.add_evidence("no run", evidence_of(a_case()))


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "viva.db")
    await store.create_run(a_run(), [a_case()])
    await store.close()
    await store.close()
    for action in (store.runs(), store.add_evidence("run-1", evidence_of(a_case()))):
        with pytest.raises(StoreError) as refused:
            await action
        assert refused.value.kind == "closed"


async def test_closing_commits_what_is_queued(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "viva.db")
    listed = cases(200)
    await store.create_run(a_run(), listed)
    waiting = [asyncio.ensure_future(store.add_evidence("run-1", evidence_of(case))) for case in listed]
    await asyncio.sleep(0)
    await store.close()
    assert all(await asyncio.gather(*waiting))
    again = await SqliteStore.open(tmp_path / "viva.db")
    assert len(await again.evidence_keys("run-1")) == 200
    await again.close()


async def test_a_cancelled_wait_harms_nobody_else(store: SqliteStore) -> None:
    listed = cases(50)
    await store.create_run(a_run(), listed)
    waiting = [asyncio.ensure_future(store.add_evidence("run-1", evidence_of(case))) for case in listed]
    await asyncio.sleep(0)
    for task in waiting[::2]:
        task.cancel()
    answers = await asyncio.gather(*waiting, return_exceptions=True)
    assert answers[1::2] == [True] * 25
    assert {case.id for case in listed[1::2]} <= await store.evidence_keys("run-1")


async def test_a_read_only_store_reads_and_refuses_to_write(tmp_path: Path) -> None:
    writing = await SqliteStore.open(tmp_path / "viva.db")
    await writing.create_run(a_run(), [a_case()])
    looking = await SqliteStore.open(tmp_path / "viva.db", read_only=True)
    await writing.add_evidence("run-1", evidence_of(a_case()))
    assert await looking.evidence("run-1", "france") == evidence_of(a_case())
    with pytest.raises(StoreError) as refused:
        await looking.add_evidence("run-1", evidence_of(a_case()))
    assert refused.value.kind == "read_only"
    await looking.close()
    await writing.close()


async def test_looking_at_a_store_that_is_not_there_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as missing:
        await SqliteStore.open(tmp_path / "viva.db", read_only=True)
    assert missing.value.kind == "not_found"
    assert list(tmp_path.iterdir()) == []


async def test_a_path_with_odd_characters_works(tmp_path: Path) -> None:
    path = tmp_path / "50% of #all? ünits & more" / "viva db.db"
    store = await SqliteStore.open(path)
    await store.create_run(a_run(), [])
    await store.close()
    assert path.is_file()


async def test_a_file_that_is_no_store_is_refused_untouched(tmp_path: Path) -> None:
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"this is a diary, not a database" * 100)
    with pytest.raises(StoreError) as damaged:
        await SqliteStore.open(garbage)
    assert damaged.value.kind == "corrupt"
    assert garbage.read_bytes().startswith(b"this is a diary")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as raw:
        raw.execute("CREATE TABLE recipes (name TEXT)")
    raw.close()
    with pytest.raises(StoreError, match="not a viva store"):
        await SqliteStore.open(other)


async def test_commits_go_to_the_log_and_nothing_weaker_than_normal(store: SqliteStore) -> None:
    await store.create_run(a_run(), [])
    settings = await store._write(
        lambda c: [c.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")]
    )
    assert settings == ["wal", 1]


async def test_rows_share_commits(store: SqliteStore) -> None:
    from viva.core import faultpoint

    listed = cases(300)
    await store.create_run(a_run(), listed)
    commits: list[str] = []
    faultpoint.install(lambda point: commits.append(point) if point == "store.committed" else None)
    try:
        await asyncio.gather(*(store.add_evidence("run-1", evidence_of(case)) for case in listed))
    finally:
        faultpoint.install(None)
    assert len(commits) <= 30


async def test_memory_does_not_grow_with_rows(store: SqliteStore) -> None:
    case = a_case(repeats=4000)
    await store.create_run(a_run(planned=4000), [case])

    async def keep(first: int, last: int) -> int:
        for start in range(first, last, 50):
            batch = [evidence_of(case, repeat=n, text="x" * 1000) for n in range(start, start + 50)]
            await asyncio.gather(*(store.add_evidence("run-1", evidence) for evidence in batch))
            await asyncio.gather(*(store.add_result("run-1", result_of(evidence), scores()) for evidence in batch))
        return tracemalloc.get_traced_memory()[0]

    tracemalloc.start()
    early = await keep(1, 500)
    late = await keep(551, 2500)
    tracemalloc.stop()
    assert late - early < 500_000  # The rows themselves are some six million bytes.


async def test_a_python_with_an_old_sqlite_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 26, 0))
    with pytest.raises(SetupError, match=r"needs 3\.35"):
        await SqliteStore.open(tmp_path / "viva.db")
    assert not list(tmp_path.iterdir())
