"""The agent's SQLite database: read by checks within limits, written by setups, put back afterwards."""

import sqlite3
import time

import pytest

from viva.core.errors import StageError
from viva.stage.database import MOST_BYTES, Database


@pytest.fixture(params=["delete", "wal"])
def database(tmp_path, request):
    path = tmp_path / "agent.db"
    with sqlite3.connect(path) as link:
        link.execute(f"PRAGMA journal_mode={request.param}")
        link.execute("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT)")
        link.execute("INSERT INTO notes (text) VALUES ('one'), ('two')")
    link.close()
    return Database(path)


async def test_rows_come_back_by_column(database):
    assert await database.read("SELECT id, text FROM notes ORDER BY id") == [
        {"id": 1, "text": "one"},
        {"id": 2, "text": "two"},
    ]


async def test_values_travel_as_parameters(database):
    nasty = "'; DROP TABLE notes; --"
    assert await database.read("SELECT count(*) AS n FROM notes WHERE text = ?", [nasty]) == [{"n": 0}]
    assert await database.read("SELECT count(*) AS n FROM notes") == [{"n": 2}]


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM notes",
        "INSERT INTO notes (text) VALUES ('x')",
        "CREATE TABLE x (y)",
        "DROP TABLE notes",
        "ATTACH 'other.db' AS other",
        "PRAGMA writable_schema = 1",
        "VACUUM INTO 'copy.db'",
        "WITH x AS (SELECT 1) DELETE FROM notes",
    ],
)
async def test_nothing_but_reading_is_let_through(database, sql):
    with pytest.raises(StageError) as refused:
        await database.read(sql)
    assert refused.value.kind in ("sql_not_reading", "sql_error")
    assert await database.read("SELECT count(*) AS n FROM notes") == [{"n": 2}]
    assert {path.name for path in database.path.parent.iterdir()} <= {"agent.db", "agent.db-wal", "agent.db-shm"}


async def test_a_query_without_end_is_stopped_in_time(database):
    began = time.monotonic()
    with pytest.raises(StageError) as stopped:
        await database.read(
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n", timeout_s=0.2
        )
    assert stopped.value.kind == "sql_timeout"
    assert time.monotonic() - began < 10


async def test_too_many_rows_are_refused_not_truncated(database):
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n"
    with pytest.raises(StageError) as refused:
        await database.read(endless, rows=100)
    assert refused.value.kind == "too_many_rows"
    assert len(await database.read(f"{endless} LIMIT 100", rows=100)) == 100


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT zeroblob({MOST_BYTES + 1}) AS big",
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
        "SELECT printf('%.*c', 1000000, 'x') AS big FROM n LIMIT 500",
    ],
)
async def test_a_result_too_large_to_keep_is_refused(database, sql):
    with pytest.raises(StageError) as refused:
        await database.read(sql)
    assert refused.value.kind == "too_large"


async def test_a_mistake_is_one_line_with_a_name(database, tmp_path):
    with pytest.raises(StageError) as failed:
        await database.read("SELECT absent FROM notes")
    assert (failed.value.kind, str(failed.value)) == ("sql_error", "SQL: no such column: absent")
    with pytest.raises(StageError):
        await Database(tmp_path / "absent.db").read("SELECT 1")
    assert not (tmp_path / "absent.db").exists()


async def test_what_was_changed_is_put_back(database):
    picture = await database.picture()
    await database.write("DELETE FROM notes WHERE id = 1; UPDATE notes SET text = 'changed'; CREATE TABLE extra (x)")
    await database.restore(picture)
    assert await database.read("SELECT text FROM notes ORDER BY id") == [{"text": "one"}, {"text": "two"}]
    assert await database.read("SELECT name FROM sqlite_master WHERE name = 'extra'") == []


async def test_it_is_put_back_while_the_agent_still_has_it_open(database):
    picture = await database.picture()
    agent = sqlite3.connect(database.path)
    agent.execute("INSERT INTO notes (text) VALUES ('three')")
    agent.commit()
    await database.restore(picture)
    assert agent.execute("SELECT count(*) FROM notes").fetchone() == (2,)
    agent.close()


async def test_a_setup_script_is_all_or_nothing_and_writes_no_other_file(database, tmp_path):
    with pytest.raises(StageError) as failed:
        await database.write("INSERT INTO notes (text) VALUES ('three'); INSERT INTO nowhere VALUES (1)")
    assert failed.value.kind == "sql_error"
    assert await database.read("SELECT count(*) AS n FROM notes") == [{"n": 2}]
    with pytest.raises(StageError):
        await database.write(f"ATTACH '{tmp_path / 'stolen.db'}' AS other; CREATE TABLE other.x (y)")
    assert not (tmp_path / "stolen.db").exists()
