"""The simulated user under examination: what it did wrong is shown with the trial, and never moves the score."""

from __future__ import annotations

from viva.core.data import Data
from viva.core.evidence import Evidence
from viva.core.score import Score
from viva.ports.kit import Kit
from viva.scoring.checks.audit import audit
from viva.scoring.scorer import PlainScorer


class UserSettings(Data, frozen=True):
    """Which findings to look for."""

    ignore: tuple[str, ...] = ()


class User(PlainScorer):
    """Reads the transcript for what a fair user would not have done. Its weight is 0: it blames, it does not score."""

    Settings = UserSettings
    name = "user"
    version = "1"
    section = "user"

    def __init__(self, settings: UserSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self._settings = settings

    def look(self, evidence: Evidence) -> Score:
        """List the findings."""
        found = [
            finding
            for finding in audit(evidence.case, evidence.transcript.turns, evidence.ending)
            if finding.flag not in self._settings.ignore
        ]
        reason = "; ".join(f"turn {item.turn}: {item.flag} ({item.words})" for item in found) or "behaved as asked"
        return Score(
            name=self.label,
            value=0.0 if found else 1.0,
            reason=reason,
            weight=0.0,
            section=self.section,
            scorer=self.signature,
            hash=self.hash,
            detail={"findings": [[item.flag, item.turn, item.words] for item in found]},
            flags=tuple(dict.fromkeys(f"user:{item.flag}" for item in found)),
        )
