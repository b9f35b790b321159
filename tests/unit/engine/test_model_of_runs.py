"""A model of runs: whatever happens in between, what was reported is kept, and in the end nothing is missing.

Actions are executing for a while, stopping, a failing disk, an empty purse, and a second process. The model is the set
of trials reported as finished.
"""

import asyncio
import tempfile
from pathlib import Path

from engine_rig import FixedParts, Rig, cases, open_store
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viva.core.limits import RunLimits
from viva.engine.events import TrialFinished
from viva.engine.stop import Stopper
from viva.testing import FakeSubject, FaultyStore

TRIALS = 25
LEASE_S = 1.0
"""A disk that failed also keeps a run from giving its claims back; here its process lives on, so they must expire."""
ACTIONS = st.one_of(
    st.tuples(st.just("stop"), st.integers(1, 12)),
    st.tuples(st.just("stop now"), st.integers(1, 12)),
    st.tuples(st.just("disk"), st.integers(1, 40)),
    st.tuples(st.just("purse"), st.integers(0, 12)),
    st.tuples(st.just("two"), st.just(0)),
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(ACTIONS, min_size=1, max_size=5))
def test_any_series_of_interruptions_ends_with_every_trial_once(actions):
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_live_through(actions, Path(folder)))


async def _live_through(actions, folder: Path) -> None:
    store = await open_store(folder)
    subject = FakeSubject()
    rig = Rig(store, cases(TRIALS), FixedParts(subject))
    await store.create_run(rig.run, rig.cases)
    reported: set[str] = set()
    try:
        for action, number in actions:
            await _act(rig, store, action, number)
            reported |= {notice.result.trial for notice in rig.notices if isinstance(notice, TrialFinished)}
            assert reported <= await store.result_keys("r1")
        rig.store, rig.limits, rig.stopper, rig.on_notice = store, RunLimits(), Stopper(), None
        assert (await rig.execute(create=False, lease_s=LEASE_S)).status == "finished"
        assert len(await rig.results()) == TRIALS == len(await store.evidence_keys("r1"))
        assert (await store.tally("r1")).results == TRIALS
    finally:
        await store.close()


async def _act(rig: Rig, store, action: str, number: int) -> None:
    rig.store, rig.limits, rig.stopper, rig.on_notice = store, RunLimits(), Stopper(), None
    match action:
        case "stop" | "stop now":
            heard = 0

            def count(notice) -> None:
                nonlocal heard
                heard += 1
                if heard == number:
                    for _ in range(1 if action == "stop" else 2):
                        rig.stopper.ask(2)

            rig.on_notice = count
        case "disk":
            rig.store = FaultyStore.around(store, number)
        case "purse":
            rig.limits = RunLimits(trials=number)
        case "two":
            await asyncio.gather(
                rig.execute(create=False, owner="a", lease_s=LEASE_S),
                rig.execute(create=False, owner="b", lease_s=LEASE_S),
            )
            return
    await rig.execute(create=False, concurrency=3, lease_s=LEASE_S)
