"""Whether each turn of a script was answered as the script expected."""

from __future__ import annotations

from typing import Any

from viva.core.data import Data
from viva.core.errors import ScorerError
from viva.core.evidence import Evidence
from viva.core.score import Score
from viva.ports.kit import Kit
from viva.scoring.reading import show
from viva.scoring.scorer import PlainScorer


class ExpectationsSettings(Data, frozen=True):
    """What share of the expectations must be met."""

    at_least: float = 1.0


class Expectations(PlainScorer):
    """Reads what the script noted: the share of its expectations that were met."""

    Settings = ExpectationsSettings
    name = "expectations"
    shorthand = "at_least"

    def __init__(self, settings: ExpectationsSettings, kit: Kit) -> None:
        super().__init__(settings, kit)
        self._at_least = settings.at_least

    def look(self, evidence: Evidence) -> Score:
        """Count; an expectation that could not be looked at is an error, not a miss."""
        noted = evidence.notes.get("expectations")
        if not isinstance(noted, list | tuple) or not noted:
            raise ScorerError(
                "the conversation noted no expectations",
                kind="no_expectations",
                hint="give turns of the `script` driver an `expect`",
            )
        for note in noted:
            if note.get("met") is None:
                raise ScorerError(f"turn {note.get('turn')}: {note.get('reason')}", kind="expression_error")
        missed = [note for note in noted if not note["met"]]
        share = (len(noted) - len(missed)) / len(noted)
        reason = f"{len(noted) - len(missed)} of {len(noted)} met" + "".join(f"; {_said(note)}" for note in missed[:3])
        return self.measured(share, share, "share", passed=share >= self._at_least, reason=reason)


def _said(note: dict[str, Any]) -> str:
    return f"turn {note.get('turn')}: {show(str(note.get('reason')), 120)[1:-1]}"
