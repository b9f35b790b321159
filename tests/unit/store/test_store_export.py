"""A run leaves as lines and comes back whole; a torn file gives back every whole line and names the others."""

from __future__ import annotations

import asyncio
import json
import random
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from store_samples import VARIANTS, a_case, a_run, cases, evidence_of, failed_evidence, result_of, scores

from viva.core.data import replace
from viva.core.errors import StoreError
from viva.core.evidence import Observed
from viva.core.text import storable_data
from viva.store.export import export_run, import_run
from viva.store.sqlite import SqliteStore

ODD = "\ud800 NUL\x00 bidi\u202e e" + "\u0301" * 50 + " 🦆 \u2028 \r\n"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "from" / "viva.db")
    yield opened
    await opened.close()


@pytest.fixture
async def other(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    opened = await SqliteStore.open(tmp_path / "to" / "viva.db")
    yield opened
    await opened.close()


async def a_small_run(store: SqliteStore, seed: int = 1) -> None:
    listed = [a_case("a", variants=VARIANTS), a_case("b", input=ODD), a_case("c")]
    await store.create_run(a_run(planned=4), listed)
    trials = [evidence_of(listed[0], variant) for variant in VARIANTS]
    odd = replace(evidence_of(listed[1], text=ODD), state={ODD: Observed(value=[ODD])})
    trials += [odd, failed_evidence(listed[2])]
    for evidence in random.Random(seed).sample(trials, len(trials)):
        await store.add_evidence("run-1", evidence)
        for scoring in ("", "again"):
            await store.add_result("run-1", result_of(evidence), scores(), scoring)
    await store.finish_run("run-1", "finished")


async def contents(store: SqliteStore) -> list[object]:
    found: list[object] = [await store.run("run-1"), await store.cases("run-1"), await store.scorings("run-1")]
    found += [evidence async for evidence in store.all_evidence("run-1")]
    for scoring in ("", "again"):
        found += [result async for result in store.all_results("run-1", scoring)]
    return found


async def test_a_run_comes_back_whole(store: SqliteStore, other: SqliteStore, tmp_path: Path) -> None:
    await a_small_run(store)
    counts = await export_run(store, "latest", tmp_path / "run.jsonl")
    assert (counts.cases, counts.evidence, counts.results) == (3, 4, 8)
    report = await import_run(other, tmp_path / "run.jsonl")
    assert (report.run, report.evidence, report.results, report.bad, report.complete) == ("run-1", 4, 8, (), True)
    assert await contents(other) == await contents(store)
    odd = await other.evidence("run-1", "b")
    assert odd.text == storable_data(ODD)


async def test_an_export_does_not_depend_on_what_finished_first(
    store: SqliteStore, other: SqliteStore, tmp_path: Path
) -> None:
    await a_small_run(store, seed=1)
    await a_small_run(other, seed=2)
    texts = []
    for number, each in enumerate((store, other)):
        await export_run(each, "run-1", tmp_path / f"{number}.jsonl")
        texts.append((tmp_path / f"{number}.jsonl").read_bytes().splitlines()[1:])
    assert texts[0] == texts[1]


async def test_importing_twice_adds_nothing(store: SqliteStore, other: SqliteStore, tmp_path: Path) -> None:
    await a_small_run(store)
    await export_run(store, "run-1", tmp_path / "run.jsonl")
    await import_run(other, tmp_path / "run.jsonl")
    again = await import_run(other, tmp_path / "run.jsonl")
    assert (again.already_there, again.complete) == (12, True)
    assert await contents(other) == await contents(store)


async def test_a_file_torn_at_any_byte_gives_every_whole_record(
    store: SqliteStore, other: SqliteStore, tmp_path: Path
) -> None:
    case = a_case("a", checks=())
    await store.create_run(a_run("run-00000"), [case])
    evidence = failed_evidence(case)
    await store.add_evidence("run-00000", evidence)
    await store.add_result("run-00000", result_of(evidence), scores()[1:])
    await export_run(store, "latest", tmp_path / "run.jsonl")
    whole = (tmp_path / "run.jsonl").read_bytes()
    assert whole.count(b"\n") == 5
    torn = tmp_path / "torn.jsonl"
    for offset in range(len(whole) + 1):
        run_id = f"run-{offset:05}"  # Each its own run in one store.
        text = whole.replace(b"run-00000", run_id.encode())[:offset]
        torn.write_bytes(text)
        report = await import_run(other, torn)
        lines = text.split(b"\n")
        usable = len(lines) - 1 + is_whole(lines[-1])
        is_torn = bool(lines[-1]) and not is_whole(lines[-1])
        assert [bad.number for bad in report.bad] == ([len(lines)] if is_torn else []), offset
        assert report.run == (run_id if usable >= 1 else "")
        assert (report.cases, report.evidence, report.results) == (usable >= 2, usable >= 3, usable >= 4), offset
        assert report.complete == (usable == 5)


def is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


GARBAGE = [
    (b"\x00\x00\x00", "not a whole record"),
    (b'{"record":"evidence","evidence":{"trial":"\xff\xfe"}}', "not a whole record"),
    (b'{"record":"evidence","evidence":{"trial":"a\x00"}}', "not a whole record"),
    (b"[" * 100_000, "not a whole record"),
    (b'{"record":"recipe"}', "not a whole record"),
    (b"null", "not a whole record"),
    (b'{"record":"run","run":{"id":"x","suite":"s","suite_hash":"h"}}', "a second run"),
    (b'{"record":"case","case":{"id":"late"}}', "a case after the first trial"),
    (
        b'{"record":"evidence","evidence":{"trial":"z","case":{"id":"z"},"variant":{}}}',
        "its case 'z' is missing",
    ),
    (b'{"record":"result","result":{"trial":"z","case":"z","outcome":"pass"}}', "a case that its run does not have"),
    (b'{"record":"result","result":{"trial":"z","case":"z","outcome":"maybe"}}', "not a whole record"),
    (
        b'{"record":"result","result":{"trial":"a@withheld","case":"a","outcome":"pass"},'
        b'"scores":[{"is":"score","name":"x","value":7}],"scoring":"new"}',
        "not a whole record",
    ),
]


@pytest.mark.parametrize(("garbage", "reason"), GARBAGE, ids=range(len(GARBAGE)))
async def test_a_garbage_line_is_named_and_the_rest_taken(
    store: SqliteStore, other: SqliteStore, tmp_path: Path, garbage: bytes, reason: str
) -> None:
    await a_small_run(store)
    await export_run(store, "run-1", tmp_path / "run.jsonl")
    lines = (tmp_path / "run.jsonl").read_bytes().split(b"\n")
    lines.insert(5, garbage)
    (tmp_path / "bad.jsonl").write_bytes(b"\n".join(lines))
    report = await import_run(other, tmp_path / "bad.jsonl")
    assert [bad.number for bad in report.bad] == [6]
    assert reason in report.bad[0].reason
    assert (report.evidence, report.results, report.complete) == (4, 8, False)
    assert await contents(other) == await contents(store)


async def test_a_huge_line_is_skipped_in_little_memory(store: SqliteStore, other: SqliteStore, tmp_path: Path) -> None:
    await a_small_run(store)
    await export_run(store, "run-1", tmp_path / "run.jsonl")
    head, tail = (tmp_path / "run.jsonl").read_bytes().split(b"\n", 1)
    with (tmp_path / "huge.jsonl").open("wb") as file:
        file.write(head + b'\n{"record":"case","case":{"id":"')
        for _ in range(100):
            file.write(b"x" * 1_000_000)
        file.write(b'"}}\n' + tail)
    tracemalloc.start()
    report = await import_run(other, tmp_path / "huge.jsonl", most_line_bytes=2_000_000)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(bad.number, bad.reason) for bad in report.bad] == [(2, "the line is too long")]
    assert report.evidence == 4
    assert peak < 20_000_000


async def test_only_a_number_of_bad_lines_is_named_and_all_are_counted(other: SqliteStore, tmp_path: Path) -> None:
    (tmp_path / "noise.jsonl").write_bytes(b"noise\n" * 5_000)
    report = await import_run(other, tmp_path / "noise.jsonl")
    assert (report.run, report.bad_lines, len(report.bad)) == ("", 5_000, 1_000)
    assert await other.runs() == []


async def test_another_run_of_the_same_name_is_not_mixed_in(
    store: SqliteStore, other: SqliteStore, tmp_path: Path
) -> None:
    await a_small_run(store)
    await export_run(store, "run-1", tmp_path / "run.jsonl")
    await other.create_run(replace(a_run(), suite_hash="0ther"), [a_case("a")])
    with pytest.raises(StoreError) as refused:
        await import_run(other, tmp_path / "run.jsonl")
    assert refused.value.kind == "exists"
    assert await other.evidence_keys("run-1") == set()


async def test_a_missing_file_is_a_named_error(store: SqliteStore, tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        await import_run(store, tmp_path / "nowhere.jsonl")
    await store.create_run(a_run(), [])
    with pytest.raises(StoreError):
        await export_run(store, "run-1", tmp_path / "no folder" / "run.jsonl")


async def test_an_export_that_fails_leaves_no_half_file(store: SqliteStore, tmp_path: Path) -> None:
    await a_small_run(store)
    target = tmp_path / "run.jsonl"
    target.write_text("the export of yesterday")
    with pytest.raises(StoreError):
        await export_run(store, "no such run", target)
    assert target.read_text() == "the export of yesterday"
    assert list(tmp_path.glob("*.part-*")) == []


async def test_a_long_run_is_imported_in_groups(store: SqliteStore, other: SqliteStore, tmp_path: Path) -> None:
    listed = cases(700)
    await store.create_run(a_run(planned=700), listed)
    await asyncio.gather(*(store.add_evidence("run-1", evidence_of(case)) for case in listed))
    await export_run(store, "run-1", tmp_path / "run.jsonl")
    report = await import_run(other, tmp_path / "run.jsonl")
    assert (report.evidence, report.complete) == (700, True)
