"""Old stores open, an interrupted migration leaves old or new, and newer stores are refused."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import store_child
from store_child import RUN, a_run, cases, evidence_of, kill_at

from viva.core.errors import StoreError
from viva.store.connection import open_writer
from viva.store.migrate import Migration, migrate, migrations, statements
from viva.store.sqlite import SqliteStore
from viva.version import __version__

GOLDEN = Path(__file__).resolve().parents[1] / "golden"

NEXT = Migration(
    migrations()[-1].number + 1,
    "the future",
    (
        "ALTER TABLE evidence ADD COLUMN seconds REAL NOT NULL DEFAULT 0",
        "UPDATE evidence SET seconds = length(body)",
        "CREATE TABLE seconds (run INTEGER, total REAL)",
        "INSERT INTO seconds SELECT run, sum(seconds) FROM evidence GROUP BY run",
        "DROP INDEX claims_by_owner",
    ),
)


async def make_store(path: Path) -> None:
    await store_child.open_and_fill(str(path), 5, 1, lambda _: None)


def schema_of(path: Path) -> tuple[int, list[str]]:
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        version = raw.execute("PRAGMA user_version").fetchone()[0]
        names = [name for (name,) in raw.execute("SELECT sql FROM sqlite_master ORDER BY name") if name]
    raw.close()
    return version, names


def rows_of(path: Path) -> list[object]:
    with sqlite3.connect(path) as raw:
        found: list[object] = raw.execute("SELECT key, body FROM evidence ORDER BY seq").fetchall()
    raw.close()
    return found


def migrate_and_die(path: str, number: str) -> None:
    """In a child: migrate, and kill oneself at the Nth statement."""
    connection = open_writer(Path(path))
    kill_at(int(number))()
    migrate(connection, Path(path), (*migrations(), NEXT))


def test_a_kill_at_any_statement_leaves_the_old_schema_or_the_new(tmp_path: Path) -> None:
    original = tmp_path / "original.db"
    asyncio.run(make_store(original))
    old, rows = schema_of(original), rows_of(original)
    shutil.copy(original, tmp_path / "migrated.db")
    connection = open_writer(tmp_path / "migrated.db")
    migrate(connection, tmp_path / "migrated.db", (*migrations(), NEXT))
    connection.close()
    new = schema_of(tmp_path / "migrated.db")
    assert (new[0], old[0]) == (NEXT.number, NEXT.number - 1)

    outcomes = []
    number = 0
    while True:
        number += 1
        path = tmp_path / f"{number}.db"
        shutil.copy(original, path)
        script = f"import test_store_migrations as t; t.migrate_and_die({str(path)!r}, '{number}')"
        child = subprocess.run(
            [sys.executable, "-c", script], cwd=Path(__file__).parent, capture_output=True, text=True
        )
        if child.returncode == 0:
            break
        assert child.returncode == -signal.SIGKILL, child.stderr
        found = schema_of(path)
        assert found in (old, new)
        outcomes.append(found == new)
        assert rows_of(path) == rows
        again = open_writer(path) if found == old else sqlite3.connect(path)
        migrate(again, path, (*migrations(), NEXT))
        again.close()
        assert schema_of(path) == new
    assert outcomes == [False] * (len(NEXT.statements) + 2) + [True]


def test_a_failing_migration_leaves_the_old_schema(tmp_path: Path) -> None:
    path = tmp_path / "viva.db"
    asyncio.run(make_store(path))
    old = schema_of(path)
    broken = NEXT._replace(statements=(*NEXT.statements, "INSERT INTO nowhere VALUES (1)"))
    connection = open_writer(path)
    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        migrate(connection, path, (*migrations(), broken))
    connection.close()
    assert schema_of(path) == old


async def test_a_newer_store_is_refused_by_name_and_untouched(tmp_path: Path) -> None:
    path = tmp_path / "viva.db"
    await make_store(path)
    newest = migrations()[-1].number
    with sqlite3.connect(path) as raw:
        raw.execute(f"PRAGMA user_version = {newest + 1}")
        raw.execute("UPDATE about SET value = '9.9.9' WHERE name = 'viva_version'")
    raw.close()
    before = rows_of(path)
    for read_only in (False, True):
        with pytest.raises(StoreError) as refused:
            await SqliteStore.open(path, read_only=read_only)
        assert refused.value.kind == "newer_schema"
        assert f"written by version 9.9.9 (schema {newest + 1}), you have {__version__}" in str(refused.value)
    assert rows_of(path) == before


async def test_an_empty_file_becomes_a_store_but_not_by_looking(tmp_path: Path) -> None:
    path = tmp_path / "viva.db"
    path.touch()
    with pytest.raises(StoreError) as refused:
        await SqliteStore.open(path, read_only=True)
    assert refused.value.kind == "old_schema"
    store = await SqliteStore.open(path)
    await store.create_run(a_run(), cases(1))
    assert await store.add_evidence(RUN, evidence_of(cases(1)[0]))
    await store.close()


def test_migrations_are_numbered_without_a_gap_and_shipped() -> None:
    assert [step.number for step in migrations()] == list(range(1, len(migrations()) + 1))
    assert all(step.statements for step in migrations())


def test_statements_are_split_where_they_end() -> None:
    script = "-- a remark\nCREATE TABLE a (b TEXT DEFAULT ';');\n\nINSERT INTO a\nVALUES ('x; y');\n"
    assert statements(script) == ["CREATE TABLE a (b TEXT DEFAULT ';');", "INSERT INTO a\nVALUES ('x; y');"]


@pytest.mark.parametrize("version", sorted(path.stem for path in GOLDEN.glob("store_v*.db")))
async def test_a_store_of_every_released_schema_reads_as_it_did_then(tmp_path: Path, version: str) -> None:
    sys.path.insert(0, str(GOLDEN))
    try:
        from make_store_v1 import digest
    finally:
        sys.path.remove(str(GOLDEN))
    shutil.copy(GOLDEN / f"{version}.db", tmp_path / "viva.db")
    os.chmod(tmp_path / "viva.db", 0o644)
    store = await SqliteStore.open(tmp_path / "viva.db")
    found = await digest(store)
    await store.close()
    assert found == json.loads((GOLDEN / f"{version}.json").read_text("utf-8"))


def test_there_is_a_golden_store_for_every_schema() -> None:
    kept = {path.stem for path in GOLDEN.glob("store_v*.db")}
    assert kept >= {f"store_v{step.number}" for step in migrations()}
