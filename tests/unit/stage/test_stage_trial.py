"""Setting a stage for one trial and putting it back: order, failure half-way, locks, debts."""

import asyncio
import json
import sqlite3
from types import SimpleNamespace

import pytest
from aiohttp import web

from viva.config.files import resolve
from viva.core.case import Case
from viva.core.errors import StageError, SubjectError, SuiteError
from viva.core.evidence import Observation
from viva.core.limits import Retry
from viva.core.ref import Ref
from viva.core.stage import Settle, StagePlan
from viva.core.transcript import Reply
from viva.ports.subject import Opening
from viva.registry import Registry
from viva.stage.stage import TrialStage


class Agent:
    """Opens sessions that keep what they are told."""

    def __init__(self, failures=0, ingests=True):
        self.openings, self.said, self.texts, self.closed = [], [], [], 0
        self.failures, self.ingests = failures, ingests

    async def open(self, opening):
        self.openings.append(opening)
        session = SimpleNamespace(id="s", send=self.send, close=self.close)
        if self.ingests:
            session.ingest = self.ingest
        return session

    async def send(self, message):
        if self.failures:
            self.failures -= 1
            raise SubjectError("busy", retryable=True)
        self.said.append(message.text)
        return Reply(text=f"heard {message.text}")

    async def ingest(self, text):
        self.texts.append(text)

    async def close(self):
        self.closed += 1


@pytest.fixture
def folder(tmp_path):
    with sqlite3.connect(tmp_path / "agent.db") as link:
        link.execute("CREATE TABLE notes (text TEXT)")
    link.close()
    return tmp_path


DATABASE = Ref(name="sqlite", settings={"file": "agent.db"})


def ref(name, **settings):
    return Ref(name=name, settings=settings, where=f"suite.yml:{name}")


def trial(plan):
    case = Case(id="c", stage=plan, retry=Retry(attempts=3, backoff_s=0.0))
    return SimpleNamespace(case=case), Opening(run="r", trial="c", case=case)


async def prepare(stage, plan, agent=None):
    about, opening = trial(plan)
    return await stage.prepare(about, opening, (agent or Agent()).open)


async def rows(prepared, sql="SELECT text FROM notes ORDER BY rowid"):
    seen = await prepared.observe(Observation(key="k", source="sql", request={"sql": sql}))
    return [next(iter(row.values())) for row in seen]


@pytest.fixture
async def stage(folder, small_kit):
    registry = Registry(allow=("command:python",))

    class Kit(small_kit):
        def allow_program(self, program):
            registry.check_program(program)

        def file(self, name):
            return resolve(self.folder, name)

    made = TrialStage(registry, Kit({"TOKEN": "s3cret-value"}, folder))
    yield made
    await made.close()


def note(text):
    return ref("sql", script=f"INSERT INTO notes VALUES ('{text}')")


async def test_setups_are_applied_in_order_and_all_is_put_back(stage):
    prepared = await prepare(stage, StagePlan(database=DATABASE, setups=(note("one"), note("two"))))
    assert await rows(prepared) == ["one", "two"]
    await prepared.undo()
    again = await prepare(stage, StagePlan(database=DATABASE))
    assert await rows(again) == []
    await again.undo()


async def test_undoing_twice_is_harmless(stage):
    prepared = await prepare(stage, StagePlan(database=DATABASE, setups=(note("one"),)))
    await prepared.undo()
    await prepared.undo()


async def test_a_setup_that_fails_half_way_undoes_the_ones_before_it_and_names_itself(stage):
    broken = ref("sql", script="INSERT INTO nowhere VALUES (1)")
    with pytest.raises(StageError) as failed:
        await prepare(stage, StagePlan(database=DATABASE, setups=(note("one"), broken)))
    assert "setup 2 (sql)" in str(failed.value)
    assert failed.value.where == "suite.yml:sql"
    prepared = await prepare(stage, StagePlan(database=DATABASE))
    assert await rows(prepared) == []
    await prepared.undo()


async def test_two_trials_on_one_database_take_turns(stage):
    plan = StagePlan(database=DATABASE, setups=(note("mine"),))
    order = []

    async def play(name):
        prepared = await prepare(stage, plan)
        order.append((name, await rows(prepared)))
        await asyncio.sleep(0.02)
        await prepared.undo()

    await asyncio.gather(*(play(n) for n in range(5)))
    assert sorted(n for n, _ in order) == [0, 1, 2, 3, 4]
    assert all(seen == ["mine"] for _, seen in order)


async def test_without_undo_trials_share_the_world_and_do_not_wait(stage):
    plan = StagePlan(database=DATABASE, setups=(note("mine"),), undo=False)
    first, second = await prepare(stage, plan), await prepare(stage, plan)
    assert await rows(second) == ["mine", "mine"]
    await first.undo()
    await second.undo()


async def test_a_way_back_that_was_cut_off_lets_the_next_trial_in_and_is_gone_first(stage, monkeypatch):
    prepared = await prepare(stage, StagePlan(database=DATABASE, setups=(note("left over"),)))
    cut = asyncio.Event()

    async def slow_restore(self, picture):
        cut.set()
        await asyncio.sleep(60)

    from viva.stage.database import Database

    with monkeypatch.context() as patched:
        patched.setattr(Database, "restore", slow_restore)
        undoing = asyncio.create_task(prepared.undo())
        await cut.wait()
        undoing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await undoing
    async with asyncio.timeout(10):
        again = await prepare(stage, StagePlan(database=DATABASE))
    assert await rows(again) == []
    await again.undo()


async def test_what_is_still_owed_is_put_back_when_the_run_ends(folder, small_kit, monkeypatch):
    from viva.stage.database import Database

    stage = TrialStage(Registry(), small_kit(folder=folder))
    prepared = await prepare(stage, StagePlan(database=DATABASE, setups=(note("left over"),)))

    async def failing(self, picture):
        raise StageError("the disk is away")

    with monkeypatch.context() as patched:
        patched.setattr(Database, "restore", failing)
        with pytest.raises(StageError) as told:
            await prepared.undo()
    assert told.value.kind == "undo_failed"
    await stage.close()
    assert await Database(folder / "agent.db").read("SELECT * FROM notes") == []


async def test_a_command_setup_runs_in_the_suites_folder_sees_only_what_it_is_given_and_is_undone(stage, folder):
    write = "import os, sys; open(sys.argv[1], 'w').write(os.environ.get('TOKEN', '') + os.environ.get('OTHER', ''))"
    remove = "import os, sys; os.remove(sys.argv[1])"
    setup = ref(
        "command",
        argv=["python", "-c", write, "made.txt"],
        undo=["python", "-c", remove, "made.txt"],
        env={"TOKEN": "env:TOKEN"},
    )
    prepared = await prepare(stage, StagePlan(setups=(setup,)))
    assert (folder / "made.txt").read_text() == "s3cret-value"
    await prepared.undo()
    assert not (folder / "made.txt").exists()


@pytest.mark.parametrize(
    ("argv", "settings", "kind"),
    [
        (["python", "-c", "import sys; sys.exit('it broke')"], {}, "setup_failed"),
        (["python", "-c", "import time; time.sleep(60)"], {"timeout_s": 0.2}, "setup_timed_out"),
    ],
)
async def test_a_command_that_fails_or_hangs_is_an_error(stage, argv, settings, kind):
    with pytest.raises(StageError) as failed:
        await prepare(stage, StagePlan(setups=(ref("command", argv=argv, **settings),)))
    assert failed.value.kind == kind


async def test_a_program_nobody_allowed_is_found_before_the_run(stage):
    with pytest.raises(SuiteError) as refused:
        await stage.check(StagePlan(setups=(ref("command", argv=["sh", "-c", "true"]),)))
    assert refused.value.kind == "not_allowed"


async def test_what_a_stage_lacks_is_found_before_the_run(stage):
    for plan in (
        StagePlan(database=Ref(name="sqlite", settings={"file": "absent.db"})),
        StagePlan(database=Ref(name="postgres")),
        StagePlan(setups=(ref("sql", script="x", file="y"),)),
        StagePlan(graph=Ref(name="neo4j", settings={"uri": "bolt://127.0.0.1:9"})),
    ):
        with pytest.raises((SuiteError, StageError)):
            await stage.check(plan)


@pytest.fixture
async def service():
    """A small HTTP service that counts what it is asked."""
    seen = []

    async def handle(request):
        seen.append((request.method, request.path, request.headers.get("X-Token"), await request.text()))
        if request.path == "/broken":
            return web.Response(status=500, text="no")
        return web.json_response({"count": len(seen)})

    app = web.Application()
    app.router.add_route("*", "/{tail:.*}", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    yield SimpleNamespace(url=f"http://127.0.0.1:{port}", seen=seen)
    await runner.cleanup()


async def test_an_http_setup_calls_and_calls_back(stage, service):
    setup = ref(
        "http",
        url=f"{service.url}/users",
        method="POST",
        body={"name": "Ann"},
        headers={"X-Token": "env:TOKEN"},
        undo={"url": f"{service.url}/users/ann", "method": "DELETE"},
    )
    prepared = await prepare(stage, StagePlan(setups=(setup,)))
    assert service.seen == [("POST", "/users", "s3cret-value", json.dumps({"name": "Ann"}).replace(" ", ""))]
    await prepared.undo()
    assert service.seen[1][:2] == ("DELETE", "/users/ann")


async def test_an_http_setup_that_is_refused_is_an_error_with_the_answer(stage, service):
    with pytest.raises(StageError) as failed:
        await prepare(stage, StagePlan(setups=(ref("http", url=f"{service.url}/broken"),)))
    assert failed.value.kind == "http_status"
    assert "answered 500: no" in str(failed.value)


async def test_seeds_open_sessions_that_say_so_and_close_them(stage):
    agent = Agent(failures=1)
    plan = StagePlan(
        seeds=(
            ref("conversation", lines=[{"content": "a"}, {"content": "b", "role": "assistant"}, {"content": "c"}]),
            ref("text", text="a document"),
        )
    )
    prepared = await prepare(stage, plan, agent)
    assert [opening.purpose for opening in agent.openings] == ["seed", "seed"]
    assert agent.said == ["a", "c"]
    assert agent.texts == ["a document"]
    assert agent.closed == 2
    assert prepared.notes["seeds"] == [
        {"kind": "conversation", "lines": 2, "replies": ["heard a", "heard c"]},
        {"kind": "text", "characters": 10},
    ]


async def test_a_text_seed_without_an_ingest_call_is_an_error_or_skipped(stage):
    with pytest.raises(StageError) as failed:
        await prepare(stage, StagePlan(seeds=(ref("text", text="t"),)), Agent(ingests=False))
    assert failed.value.kind == "seed_unsupported"
    skipping = StagePlan(seeds=(ref("text", text="t", if_unsupported="skip"),))
    prepared = await prepare(stage, skipping, Agent(ingests=False))
    assert "skipped" in prepared.notes["seeds"][0]


async def test_settling_polls_sql_until_the_expression_holds(stage, folder):
    probe = ref("sql", query="SELECT count(*) FROM notes", until="value >= 2")
    plan = StagePlan(
        database=DATABASE,
        seeds=(ref("text", text="t"),),
        settle=Settle(probe=probe, every_s=0.02, timeout_s=10),
    )

    class Slow(Agent):
        async def ingest(self, text):
            async def remember():
                for _ in range(2):
                    await asyncio.sleep(0.05)
                    with sqlite3.connect(folder / "agent.db") as link:
                        link.execute("INSERT INTO notes VALUES ('x')")
                    link.close()

            self.work = asyncio.create_task(remember())

    agent = Slow()
    prepared = await prepare(stage, plan, agent)
    assert await rows(prepared) == ["x", "x"]
    await agent.work
    await prepared.undo()


@pytest.mark.parametrize("until", ["value >=", "valu >= 1"])
async def test_a_settle_expression_that_cannot_be_read_is_an_error_not_a_wait(stage, until):
    plan = StagePlan(
        database=DATABASE,
        seeds=(ref("text", text="t"),),
        settle=Settle(probe=ref("sql", sql="SELECT 1", until=until), every_s=0.01, timeout_s=5),
    )
    for attempt in (stage.check(plan), prepare(stage, plan)):
        with pytest.raises((SuiteError, StageError)) as failed:
            await attempt
        assert failed.value.kind == "settle_expression"


async def test_looking_at_what_is_not_there_says_what_to_add(stage):
    prepared = await prepare(stage, StagePlan())
    for source, said in (("graph", "graph: embedded"), ("sql", "database"), ("nonsense", "nonsense")):
        request = {"cypher": "RETURN 1"} if source == "graph" else {"sql": "SELECT 1"}
        with pytest.raises(StageError) as failed:
            await prepared.observe(Observation(key="k", source=source, request=request))
        assert said in str(failed.value)
