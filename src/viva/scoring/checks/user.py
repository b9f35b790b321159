"""The simulated user under examination: what it did wrong is shown with the trial, and never moves the score."""

from __future__ import annotations

from collections.abc import Sequence

from viva.core.data import Data, content_hash
from viva.core.evidence import Evidence, Observation, Observed
from viva.core.score import AnyScore, Score, ScoreSkipped
from viva.ports.kit import Kit
from viva.scoring.checks.audit import FLAGS, audit

SECTION = "user"


class UserSettings(Data, frozen=True):
    """Which findings to look for."""

    ignore: tuple[str, ...] = ()


class User:
    """Reads the transcript for what a fair user would not have done. Its weight is 0: it blames, it does not score."""

    Settings = UserSettings
    name = "user"
    version = "1"

    def __init__(self, settings: UserSettings, kit: Kit) -> None:
        self._settings = settings

    @property
    def label(self) -> str:
        """The name of its score."""
        return "user"

    @property
    def hash(self) -> str:
        """Of the rules in use."""
        return content_hash([FLAGS, self._settings])

    def observations(self) -> tuple[Observation, ...]:
        """None: the transcript is enough."""
        return ()

    def settled(self, observation: Observation, seen: Observed) -> bool:
        """Nothing is waited for."""
        return True

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """List the findings."""
        if not evidence.transcript.turns:
            return [ScoreSkipped(name=self.label, reason="there was no conversation", weight=0.0, section=SECTION)]
        found = [
            finding
            for finding in audit(evidence.case, evidence.transcript.turns, evidence.ending)
            if finding.flag not in self._settings.ignore
        ]
        reason = "; ".join(f"turn {item.turn}: {item.flag} ({item.words})" for item in found) or "behaved as asked"
        return [
            Score(
                name=self.label,
                value=0.0 if found else 1.0,
                reason=reason,
                weight=0.0,
                section=SECTION,
                detail={"findings": [[item.flag, item.turn, item.words] for item in found]},
                flags=tuple(dict.fromkeys(f"user:{item.flag}" for item in found)),
            )
        ]
