"""The world around the agent: what is prepared before a trial, and put back after it."""

from __future__ import annotations

from viva.core.data import Data
from viva.core.ref import Ref


class Settle(Data, frozen=True):
    """Wait until the agent has digested its seeds: poll a probe until it says so, or give up."""

    probe: Ref | None = None
    wait_s: float = 0.0
    every_s: float = 3.0
    timeout_s: float = 30.0
    fail_fast: bool = True
    """Poll after the first seed already, and give up there."""


class StagePlan(Data, frozen=True):
    """What a trial's stage needs: setups in order, seeds in order, a settle-wait, and connections by name."""

    setups: tuple[Ref, ...] = ()
    seeds: tuple[Ref, ...] = ()
    settle: Settle | None = None
    undo: bool = True
    graph: Ref | None = None
    database: Ref | None = None


NO_STAGE = StagePlan()
