"""Looking at the world while it still stands: every observation the scorers ask for, once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from viva.core.clock import Clock
from viva.core.data import replace
from viva.core.errors import StageError, VivaError
from viva.core.evidence import Observation, Observed
from viva.core.text import shorten, storable
from viva.ports.scorer import Scorer
from viva.ports.stage import Prepared
from viva.ports.subject import Session


@dataclass(frozen=True, slots=True)
class Look:
    """One observation and the scorers that asked for it."""

    observation: Observation
    askers: tuple[Scorer, ...]

    def is_settled(self, seen: Observed) -> bool:
        """Whether every asker has seen what it hoped for."""
        return all(asker.settled(self.observation, seen) for asker in self.askers)


def looks_for(scorers: Iterable[Scorer]) -> tuple[Look, ...]:
    """Gather the observations of all scorers; those that share a key share one look, taken for the longest wait."""
    found: dict[str, Look] = {}
    for scorer in scorers:
        for wanted in scorer.observations():
            known = found.get(wanted.key)
            found[wanted.key] = Look(wanted, (scorer,)) if known is None else _join(known, wanted, scorer)
    return tuple(found.values())


def _join(known: Look, wanted: Observation, scorer: Scorer) -> Look:
    first = known.observation
    when = first.when if first.when == wanted.when else "both"
    longest = max(first.poll_s, wanted.poll_s)
    return Look(replace(first, when=when, poll_s=longest), (*known.askers, scorer))


class Observer:
    """Takes looks through the session and the prepared stage of one trial."""

    def __init__(self, session: Session | None, prepared: Prepared | None, clock: Clock) -> None:
        self._session = session
        self._prepared = prepared
        self._clock = clock

    async def before(self, looks: Sequence[Look]) -> dict[str, Observed]:
        """Take the looks wanted before the conversation: at the agent when it is open, else at the world around it."""
        at_subject = self._session is not None
        early = [look for look in looks if look.observation.when != "after"]
        wanted = [look for look in early if (look.observation.source == "subject") == at_subject]
        return {look.observation.key: await self._once(look.observation) for look in wanted}

    async def after(self, looks: Sequence[Look]) -> dict[str, Observed]:
        """Take the looks that are wanted after it, again and again where a scorer may be satisfied later."""
        wanted = [look for look in looks if look.observation.when != "before"]
        return {look.observation.key: await self._until_settled(look) for look in wanted}

    async def _until_settled(self, look: Look) -> Observed:
        wanted = look.observation
        ends_at = self._clock.monotonic() + wanted.poll_s
        looks = 1
        seen = await self._once(wanted)
        while wanted.poll_s and not look.is_settled(seen) and self._clock.monotonic() < ends_at:
            await self._clock.sleep(max(wanted.every_s, 0.01))
            looks += 1
            seen = await self._once(wanted)
        return seen if looks == 1 else replace(seen, looks=looks)

    async def _once(self, wanted: Observation) -> Observed:
        began = self._clock.monotonic()
        try:
            value = await self._look(wanted)
        except VivaError as error:
            return self._failed(error.kind, str(error), began)
        except Exception as error:
            return self._failed("raised", f"{type(error).__name__}: {error}", began)
        return Observed(value=value, took_ms=(self._clock.monotonic() - began) * 1000)

    async def _look(self, wanted: Observation) -> Any:
        if wanted.source == "subject":
            if self._session is None:
                raise StageError("the session is not open", kind="no_session")
            return await self._session.observe(wanted)
        if self._prepared is None:
            raise StageError(f"there is no {wanted.source!r} to look at: the case has no stage", kind="no_stage")
        return await self._prepared.observe(wanted)

    def _failed(self, kind: str, detail: str, began: float) -> Observed:
        took_ms = (self._clock.monotonic() - began) * 1000
        return Observed(error=kind, detail=storable(shorten(detail, 2048)), took_ms=took_ms)
