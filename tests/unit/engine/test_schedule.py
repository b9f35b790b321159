"""Many trials at once: bounded, kept, resumable, stoppable."""

import asyncio

import pytest
from engine_rig import Ask, Contains, FixedParts, Rig, cases, open_store

from viva.core.errors import StoreError, SubjectError
from viva.core.limits import Limits, Retry, RunLimits
from viva.core.score import Score, ScoreError
from viva.core.usage import Usage
from viva.engine.events import TrialFinished, TurnTaken
from viva.testing import Drip, FakeSubject, FaultyStore, Hang, Raise, Status


@pytest.fixture
async def store(tmp_path):
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()


async def test_every_trial_is_executed_once_and_kept_before_it_is_reported(store):
    subject = FakeSubject()
    rig = Rig(store, cases(150, repeats=2), FixedParts(subject))
    course = await rig.execute(concurrency=8)
    assert (course.status, course.finished, course.not_run) == ("finished", 300, 0)
    assert set(subject.openings.values()) == {1} and len(subject.openings) == 300
    assert len(await rig.results()) == 300
    assert sum(isinstance(notice, TrialFinished) for notice in rig.notices) == 300
    assert (await store.run("r1")).status == "finished"


async def test_no_more_sessions_at_once_than_the_endpoint_has_slots(store):
    subject = FakeSubject(fault=Drip(0.002))
    await Rig(store, cases(60), FixedParts(subject)).execute(concurrency=5)
    assert subject.most_live == 5


async def test_one_bad_trial_never_stops_the_others(store):
    def crash(message, opening):
        if opening.trial == "case-0003":
            raise SystemExit(1)
        return "ok"

    rig = Rig(store, cases(10), FixedParts(FakeSubject(crash)))
    course = await rig.execute()
    results = await rig.results()
    assert course.status == "finished"
    assert {key for key, result in results.items() if result.outcome == "error"} == {"case-0003"}
    assert results["case-0003"].error == "subject_error" and results["case-0003"].score is None


async def test_a_failing_trial_is_never_shown_to_a_scorer(store):
    scorer = Contains()
    await Rig(store, cases(3), FixedParts(FakeSubject(fault=Status(418)), scorers=[scorer])).execute()
    assert scorer.seen == []


async def test_a_scorer_that_raises_is_an_error_in_its_own_trial(store):
    def act(evidence):
        if evidence.trial == "case-0001":
            raise SystemExit("no")
        if evidence.trial == "case-0002":
            return [0.7]
        return []

    rig = Rig(store, cases(3), FixedParts(FakeSubject(), scorers=[Contains(act)]))
    await rig.execute()
    kinds = {}
    async for result, scores in store.all_results("r1"):
        assert result.outcome == "error" and result.score is None
        kinds[result.trial] = [score.kind for score in scores]
    assert kinds == {"case-0000": ["no_score"], "case-0001": ["scorer_error"], "case-0002": ["no_score"]}


async def test_unstorable_replies_are_kept_as_text(store):
    from viva.core.transcript import Reply

    rig = Rig(store, cases(1), FixedParts(FakeSubject([Reply(text="ok \ud800", data={"x": object()})])))
    assert (await rig.execute()).status == "finished"
    evidence = await store.evidence("r1", "case-0000")
    assert evidence.text == "ok \\ud800" and "unstorable" in evidence.notes


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_key_stops_the_run_early_with_one_message(store, status):
    subject = FakeSubject(fault=Status(status))
    rig = Rig(store, cases(50), FixedParts(subject))
    course = await rig.execute(concurrency=2)
    assert course.status == "aborted" and str(status) in course.reason
    assert sum(subject.openings.values()) <= 4
    assert await rig.results() == {}  # Owed again, when the key is right.
    assert (await store.tally("r1")).evidence == 0


async def test_three_failures_to_connect_stop_the_run_but_one_success_does_not(store, tmp_path):
    down = SubjectError("nobody listens", kind="connection_refused", fatal=True)
    rig = Rig(store, cases(50), FixedParts(FakeSubject(fault=Raise(down))))
    course = await rig.execute(concurrency=1)
    assert course.status == "aborted" and course.not_run == 50

    other = await open_store(tmp_path / "other")
    rig = Rig(other, cases(20), FixedParts(FakeSubject(fault=Raise(down, after=1))))
    course = await rig.execute(concurrency=1)
    await other.close()
    assert course.status == "finished" and course.finished == 20


async def test_failures_that_differ_are_results(store):
    def fail(message, opening):
        kind = "dns" if opening.trial.endswith("0") else "reset"
        raise SubjectError("no", kind=kind, fatal=kind == "dns")

    rig = Rig(store, cases(4), FixedParts(FakeSubject(fail)))
    course = await rig.execute(concurrency=1)
    assert course.status == "finished"
    assert [result.error for result in (await rig.results()).values()] == ["dns", "reset", "reset", "reset"]


async def test_a_full_store_stops_the_run_cleanly_and_resume_completes(store):
    subject = FakeSubject()
    rig = Rig(store, cases(60), FixedParts(subject))
    await store.create_run(rig.run, rig.cases)
    for fail_from in (1, 2, 5, 20, 41):
        rig.store = FaultyStore.around(store, fail_from)
        course = await rig.execute(create=False)
        assert course.status == "aborted" and isinstance(course.store_error, StoreError)
        for notice in rig.notices:
            if isinstance(notice, TrialFinished):
                assert notice.result.trial in await store.result_keys("r1")
    rig.store = store
    assert (await rig.execute(create=False)).status == "finished"
    assert len(await rig.results()) == 60


async def test_the_first_request_to_stop_lets_trials_in_flight_finish(store):
    subject = FakeSubject(fault=Drip(0.05))
    rig = Rig(store, cases(100), FixedParts(subject))
    rig.on_notice = lambda notice: (
        rig.stopper.ask(2) if isinstance(notice, TurnTaken) and not rig.stopper.asked else None
    )
    course = await rig.execute(concurrency=4)
    assert course.status == "interrupted" and rig.stopper.exit_code == 130
    assert course.finished == sum(subject.openings.values()) == len(await rig.results())
    assert course.not_run == 100 - course.finished
    assert (await store.run("r1")).status == "interrupted"

    rig.on_notice, rig.stopper.asked = None, 0
    assert (await rig.execute(create=False)).status == "finished"
    assert set(subject.openings.values()) == {1} and len(await rig.results()) == 100


async def test_the_second_request_stops_now_and_what_was_cut_off_is_owed_again(store):
    subject = FakeSubject(fault=Hang())
    rig = Rig(store, cases(10), FixedParts(subject))
    asyncio.get_running_loop().call_later(0.2, rig.stopper.ask, 15)
    asyncio.get_running_loop().call_later(0.4, rig.stopper.ask, 15)
    course = await asyncio.wait_for(rig.execute(concurrency=4), 5)
    assert course.status == "interrupted" and rig.stopper.exit_code == 143
    assert (await store.tally("r1")).evidence == 0 and course.not_run == 10
    assert subject.live == 0


async def test_an_agent_that_does_not_let_go_is_named_after_the_grace(store):
    subject = FakeSubject(fault=Hang(ignores_cancel=True, seconds=3.0))
    rig = Rig(store, cases(1), FixedParts(subject))
    asyncio.get_running_loop().call_later(0.1, rig.stopper.ask, 2)
    course = await asyncio.wait_for(rig.execute(grace_s=0.2), 10)
    assert course.abandoned == ["case-0000"] and (await store.tally("r1")).evidence == 0
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})


async def test_money_ends_the_run_before_the_call_that_would_exceed(store):
    subject = FakeSubject(usage=Usage(calls=1, cost_usd=0.10))
    rig = Rig(store, cases(30), FixedParts(subject), RunLimits(cost_usd=1.05))
    course = await rig.execute(concurrency=3)
    assert course.status == "interrupted" and "budget" in course.reason
    assert subject.messages <= 10 and course.not_run == 30 - course.finished
    assert all(result.outcome == "pass" for result in (await rig.results()).values())
    rig.limits = RunLimits()
    assert (await rig.execute(create=False)).status == "finished"


async def test_a_ceiling_of_trials_leaves_the_rest_not_run(store):
    rig = Rig(store, cases(30), FixedParts(FakeSubject()), RunLimits(trials=12))
    course = await rig.execute()
    assert (course.finished, course.not_run) == (12, 18) and "budget" in course.reason


async def test_a_ceiling_of_seconds_cuts_trials_off_and_keeps_none_of_them(store):
    rig = Rig(store, cases(5), FixedParts(FakeSubject(fault=Hang())), RunLimits(seconds=0.2))
    course = await asyncio.wait_for(rig.execute(), 10)
    assert "budget" in course.reason and await rig.results() == {} and course.not_run == 5


async def test_a_budget_reached_while_judging_keeps_the_evidence_and_owes_the_scores(store):
    broke = [ScoreError(name="contains", kind="budget", detail="no money")]
    scorer = Contains(lambda evidence: broke)
    subject = FakeSubject()
    rig = Rig(store, cases(3), FixedParts(subject, scorers=[scorer]))
    course = await rig.execute(concurrency=1)
    assert course.status == "interrupted" and await rig.results() == {}
    scorer.act = None
    assert (await rig.execute(create=False)).status == "finished"
    assert set(subject.openings.values()) == {1}


async def test_only_missing_scores_are_scored_on_resume(store):
    subject, scorer = FakeSubject(), Contains()
    rig = Rig(store, cases(20), FixedParts(subject, scorers=[scorer]))
    await store.create_run(rig.run, rig.cases)
    rig.store = FaultyStore.around(store, 6, only=frozenset({"add_result"}))
    course = await rig.execute(create=False)
    assert course.store_error is not None
    done, kept = set(await store.result_keys("r1")), set(await store.evidence_keys("r1"))
    scorer.seen.clear()
    rig.store = store
    await rig.execute(create=False)
    assert set(scorer.seen).isdisjoint(done) and kept - done <= set(scorer.seen)
    assert set(subject.openings.values()) == {1} and len(await rig.results()) == 20


async def test_two_schedules_share_one_run_and_open_each_trial_once(store):
    subject = FakeSubject(fault=Drip(0.002))
    rig = Rig(store, cases(200), FixedParts(subject))
    await store.create_run(rig.run, rig.cases)
    first, second = await asyncio.gather(
        rig.execute(create=False, owner="a", concurrency=4), rig.execute(create=False, owner="b", concurrency=4)
    )
    assert first.status == second.status == "finished" and first.finished + second.finished == 200
    assert set(subject.openings.values()) == {1} and len(await rig.results()) == 200


async def test_a_listener_that_fails_does_not_stop_the_run(store):
    rig = Rig(store, cases(5), FixedParts(FakeSubject()))

    def deaf(notice):
        raise RuntimeError("no")

    rig.on_notice = deaf
    assert (await rig.execute()).finished == 5


async def test_a_turn_limit_is_scored_and_flagged(store):
    rig = Rig(store, cases(1, limits=Limits(turns=2), retry=Retry()), FixedParts(FakeSubject(), Ask(9)))
    await rig.execute()
    result = (await rig.results())["case-0000"]
    assert result.outcome == "pass" and result.flags == ("turn_limit",) and result.turns == 2


async def test_a_model_that_cannot_be_used_any_more_stops_the_run_and_its_scores_are_owed_again(store):
    def no_quota(evidence):
        if len(scorer.seen) > 5:
            rig.schedule.abort("the judge has no quota")
            return [ScoreError(name="contains", kind="quota")]
        return [Score(name="contains", value=1.0)]

    scorer, subject = Contains(no_quota), FakeSubject()
    rig = Rig(store, cases(40), FixedParts(subject, scorers=[scorer]))
    course = await rig.execute(concurrency=1)
    assert course.status == "aborted" and "quota" in course.reason
    assert all(result.outcome == "pass" for result in (await rig.results()).values())
    scorer.act = None
    assert (await rig.execute(create=False)).status == "finished"
    assert set(subject.openings.values()) == {1} and len(await rig.results()) == 40


async def test_memory_holds_a_bounded_number_of_trials(store):
    most = 0

    class Counting(FixedParts):
        def subject(self, trial):
            nonlocal most
            most = max(most, len(rig.schedule._tasks))
            return super().subject(trial)

    rig = Rig(store, cases(300), Counting(FakeSubject()))
    await rig.execute(concurrency=4)
    assert 4 <= most <= 2 * 4 + 32


async def test_a_request_to_stop_before_the_run_began_is_heard(store):
    subject = FakeSubject()
    rig = Rig(store, cases(5), FixedParts(subject))
    rig.stopper.ask(2)
    course = await rig.execute()
    assert course.status == "interrupted" and not subject.openings and course.not_run == 5
