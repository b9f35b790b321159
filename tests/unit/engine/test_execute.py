"""One trial to evidence: whatever goes wrong is the ending of that trial."""

import asyncio
import contextlib
import time
from datetime import timedelta

import pytest
from engine_rig import Ask, Contains, FixedParts, cases, play, play_scene

from viva.core.case import Case
from viva.core.errors import DriverError, LimitError, StageError, SubjectError
from viva.core.evidence import Observation
from viva.core.limits import Limits, Retry, RunLimits
from viva.core.usage import Usage
from viva.engine.limits import RunMeter
from viva.ports.driver import Conversation, Stop
from viva.testing import Drip, FakeClock, FakeSubject, Hang, Raise, Status

CASE = cases(1)[0]


def with_limits(**settings) -> Case:
    return cases(1, limits=Limits(**settings))[0]


async def test_a_good_trial_completes_with_two_turns():
    evidence = await play(FixedParts(FakeSubject(["ok"])), CASE)
    assert [turn.text for turn in evidence.transcript.turns] == ["hello", "ok"]
    assert evidence.ending.ok and evidence.ending.kind == "completed"
    assert evidence.timing.responses == 1 and evidence.timing.total_ms >= evidence.timing.mean_ms >= 0


async def test_the_session_is_closed_after_success_and_after_failure():
    good, bad = FakeSubject(), FakeSubject(fault=Status(404))
    await play(FixedParts(good), CASE)
    await play(FixedParts(bad), CASE)
    assert (good.live, bad.live) == (0, 0)


async def test_failures_are_retried_and_kept_on_the_turn_apart_from_the_successful_attempt():
    clock = FakeClock()
    case = cases(1, retry=Retry(attempts=4, backoff_s=1.0))[0]
    _, evidence = await play_scene(FixedParts(FakeSubject(fault=Status(503, times=2))), case, clock=clock)
    reply = evidence.transcript.last_reply
    assert reply.text == "ok" and [fault.status for fault in reply.faults] == [503, 503]
    assert reply.latency_ms == 0 and reply.total_ms == pytest.approx(2000)
    assert evidence.failures == 2 and clock.slept == [1.0, 1.0]


async def test_attempts_end_at_the_configured_number():
    subject = FakeSubject(fault=Status(503))
    evidence = await play(FixedParts(subject), cases(1, retry=Retry(attempts=3, backoff_s=0.0))[0])
    assert subject.messages == 3
    assert not evidence.ending.ok and evidence.ending.status == 503
    assert evidence.failures == 3 and evidence.text is None


async def test_what_is_not_retryable_is_sent_once():
    subject = FakeSubject(fault=Status(400))
    evidence = await play(FixedParts(subject), CASE)
    assert subject.messages == 1
    assert (evidence.ending.kind, evidence.ending.status, evidence.ending.body) == ("subject_error", 400, "status 400")


async def test_the_wait_the_agent_asked_for_is_a_lower_bound():
    clock = FakeClock()
    case = cases(1, retry=Retry(attempts=2, backoff_s=0.1))[0]
    subject = FakeSubject(fault=Status(429, times=1, wait_s=7.0))
    await play_scene(FixedParts(subject), case, clock=clock)
    assert clock.slept[0] == 7.0


async def test_a_wait_beyond_the_trials_ceiling_ends_it_at_once():
    clock = FakeClock()
    subject = FakeSubject(fault=Status(429, wait_s=10_800))
    _, evidence = await play_scene(FixedParts(subject), CASE, clock=clock)
    assert evidence.ending.status == 429 and clock.slept == []


async def test_a_hanging_agent_times_out_at_the_turns_ceiling():
    began = time.monotonic()
    evidence = await play(FixedParts(FakeSubject(fault=Hang())), with_limits(turn_seconds=0.1))
    assert evidence.ending.kind == "timed_out" and not evidence.ending.ok
    assert [turn.role for turn in evidence.transcript.turns] == ["user"]
    assert time.monotonic() - began < 3


async def test_a_dripping_agent_hits_the_trials_ceiling():
    subject = FakeSubject(fault=Drip(0.06))
    evidence = await play(FixedParts(subject, Ask(100)), with_limits(seconds=0.3, turn_seconds=10))
    assert evidence.ending.kind == "timed_out" and evidence.ending.by == "limit"
    assert 1 <= len(evidence.transcript.replies) < 10  # What was said until then is kept.
    assert subject.live == 0


@pytest.mark.parametrize("limits", [{"turn_seconds": 0.05, "seconds": None}, {"seconds": 0.05}])
async def test_an_agent_that_ignores_cancellation_is_left_behind(limits):
    subject = FakeSubject(fault=Hang(ignores_cancel=True, seconds=1.0))
    scene, evidence = await play_scene(FixedParts(subject), with_limits(**limits), patience_s=0.1)
    assert scene.abandoned and evidence.ending.kind == "abandoned" and not evidence.ending.ok
    assert subject.live == 0  # Closed from outside.
    await asyncio.wait(asyncio.all_tasks() - {asyncio.current_task()})  # Let the deaf one end before the loop does.


@pytest.mark.parametrize(
    "error",
    [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), asyncio.CancelledError(), MemoryError(), ValueError("x")],
)
async def test_nothing_a_subject_raises_leaves_its_trial(error):
    evidence = await play(FixedParts(FakeSubject(fault=Raise(error))), CASE)
    assert evidence.ending.kind == "subject_error" and not evidence.ending.ok and evidence.ending.by == "agent"


async def test_a_subject_that_cancels_its_own_task_is_no_answer():
    def cancel(message, opening):
        asyncio.current_task().cancel()
        return "ok"

    subject = FakeSubject(cancel)

    class Waits(Ask):
        async def drive(self, conversation: Conversation) -> Stop:
            await conversation.say("hello")
            await asyncio.sleep(5)
            return Stop(because="done")

    evidence = await play(FixedParts(subject, Waits()), CASE)
    assert not evidence.ending.ok and subject.live == 0


async def test_a_never_ending_conversation_ends_at_exactly_n_turns_and_is_still_an_answer():
    subject = FakeSubject(["And then?"])
    evidence = await play(FixedParts(subject, Ask(10_000)), with_limits(turns=7))
    assert evidence.ending.kind == "turn_limit" and evidence.ending.ok
    assert len(evidence.transcript.replies) == 7 and subject.messages == 7


async def test_tokens_of_the_trial_have_a_ceiling():
    subject = FakeSubject(usage=Usage(calls=1, input_tokens=50, output_tokens=50))
    evidence = await play(FixedParts(subject, Ask(10)), with_limits(tokens=250))
    assert evidence.ending.kind == "limit" and not evidence.ending.ok
    assert subject.messages == 3 and evidence.usage["subject"].tokens == 300


async def test_a_driver_that_swallows_the_failure_makes_no_answer_of_it():
    class Shrugs(Ask):
        async def drive(self, conversation: Conversation) -> Stop:
            with contextlib.suppress(SubjectError):
                await conversation.say("hello")
            return Stop(because="never mind")

    evidence = await play(FixedParts(FakeSubject(fault=Status(500)), Shrugs()), cases(1, retry=Retry(attempts=1))[0])
    assert not evidence.ending.ok and evidence.ending.status == 500


async def test_a_failing_driver_and_a_failing_stage_are_named():
    class Fails(Ask):
        async def drive(self, conversation: Conversation) -> Stop:
            raise DriverError("no idea", kind="out_of_words")

    class NoStage:
        async def prepare(self, trial, opening, open_session, begin):
            raise StageError("no graph", kind="unreachable")

    subject = FakeSubject()
    assert (await play(FixedParts(subject, Fails()), CASE)).ending.kind == "out_of_words"
    evidence = await play(FixedParts(subject, stage=NoStage()), CASE)
    assert (evidence.ending.kind, evidence.ending.by) == ("unreachable", "harness")


async def test_the_stage_is_undone_whatever_happens():
    class World:
        def __init__(self):
            self.steps = []
            self.notes = {}

        async def prepare(self, trial, opening, open_session, begin):
            self.steps.append("prepare")
            return self

        async def observe(self, observation):
            self.steps.append("observe")
            return "seen"

        async def undo(self):
            self.steps.append("undo")

    for fault in (None, Raise(SystemExit(1)), Hang()):
        world = World()
        await play(FixedParts(FakeSubject(fault=fault), stage=world), with_limits(turn_seconds=0.05))
        assert (world.steps[0], world.steps[-1]) == ("prepare", "undo")


async def test_observations_are_shared_polled_and_kept():
    looks = 0

    class World:
        notes = {}

        async def prepare(self, trial, opening, open_session, begin):
            return self

        async def observe(self, observation):
            nonlocal looks
            looks += 1
            return "settled" if looks >= 3 else "not yet"

        async def undo(self):
            pass

    wanted = Observation(key="graph", source="graph", poll_s=5, every_s=0.01)
    scorers = [Contains(looks=(wanted,)), Contains(looks=(wanted, Observation(key="state")))]
    evidence = await play(FixedParts(FakeSubject(state={"a": 1}), scorers=scorers, stage=World()), CASE)
    assert evidence.state["graph"].value == "settled" and evidence.state["graph"].looks == 3 == looks
    assert evidence.state["state"].value == {"a": 1}


async def test_an_observation_that_fails_is_an_error_with_a_name():
    look = Observation(key="graph", source="graph", when="both")
    evidence = await play(FixedParts(FakeSubject(), scorers=[Contains(looks=(look,))]), CASE)
    assert evidence.ending.ok
    assert evidence.state["graph"].error == evidence.before["graph"].error == "no_stage"


async def test_a_subject_cannot_change_the_case_or_what_it_said_before():
    mine = {"list": [1]}

    def mutate(message, opening):
        message.data["seen"] = True
        from viva.core.transcript import Reply

        return Reply(text="ok", data=mine)

    class SaysData(Ask):
        async def drive(self, conversation: Conversation) -> Stop:
            await conversation.say("x", conversation.case.input)
            mine["list"].append(2)
            return Stop(because="said")

    case = Case(id="c", input={"a": 1})
    evidence = await play(FixedParts(FakeSubject(mutate), SaysData()), case)
    assert case.input == {"a": 1} and evidence.output == {"list": [1]}


async def test_an_empty_reply_is_a_reply_and_is_flagged():
    evidence = await play(FixedParts(FakeSubject([""])), CASE)
    assert evidence.text == "" and evidence.transcript.last_reply.flags == ("empty",)


async def test_the_purse_refuses_the_call_that_would_pass_its_ceiling():
    meter = RunMeter(RunLimits(cost_usd=1.0))
    subject = FakeSubject(usage=Usage(calls=1, cost_usd=0.4))
    scene, evidence = await play_scene(FixedParts(subject, Ask(10)), CASE, meter=meter)
    assert evidence.ending.kind == "budget" and scene.cut == "budget"
    assert subject.messages == 2 and meter.spent.cost_usd == pytest.approx(0.8)


def test_calls_under_way_count_against_the_purse():
    meter = RunMeter(RunLimits(tokens=100))
    meter.reserve(None, 60)
    with pytest.raises(LimitError) as refused:
        meter.reserve(None, 60)
    assert refused.value.kind == "budget"
    meter.charge(Usage(calls=1, output_tokens=10))
    meter.reserve(None, 60)


@pytest.mark.parametrize("jump", [timedelta(hours=-1), timedelta(days=1)])
async def test_a_jump_of_the_wall_clock_touches_no_duration_and_no_deadline(jump):
    clock = FakeClock()

    def jumps(message, opening):
        clock.jump(jump)
        clock.advance(0.5)
        return "ok"

    _, evidence = await play_scene(FixedParts(FakeSubject(jumps), Ask(3)), CASE, clock=clock)
    assert evidence.ending.ok
    assert [turn.latency_ms for turn in evidence.transcript.replies] == [500.0] * 3
    assert evidence.timing.total_ms == 1500.0


async def test_waiting_for_a_shared_stage_is_not_the_trials_own_time():
    class World:
        notes = {}

        async def prepare(self, trial, opening, open_session, begin):
            await asyncio.sleep(0.3)  # Another trial is still on the stage.
            begin()
            return self

        async def undo(self):
            pass

    evidence = await play(FixedParts(FakeSubject(), stage=World()), with_limits(seconds=0.2))
    assert evidence.ending.kind == "completed"


async def test_setting_the_stage_is_the_trials_own_time():
    class World:
        notes = {}

        async def prepare(self, trial, opening, open_session, begin):
            begin()
            await asyncio.sleep(30)
            return self

        async def undo(self):
            pass

    evidence = await play(FixedParts(FakeSubject(), stage=World()), with_limits(seconds=0.1))
    assert evidence.ending.kind == "timed_out"
