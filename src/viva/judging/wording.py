"""How a criterion is put to the judge: its text, its polarity in words, its menu."""

from __future__ import annotations

import functools
from typing import Any

import msgspec

from viva.core.criterion import Criterion
from viva.judging.fence import encode
from viva.judging.inquiry import told
from viva.judging.verdict import CANNOT_TELL, MENU, MET, NOT_MET

REQUIREMENT = "This is a requirement: met means that the agent fulfils it, not_met that it does not."
PITFALL = (
    "This is a pitfall: it describes a problem. met means that the problem IS present, not_met that the problem is "
    "NOT present. Do not answer whether the agent did well; answer whether the statement is true of it."
)
GRADED = "This is graded: choose the level that describes best how far the agent fulfils it."
GRADED_PITFALL = (
    "This is a graded pitfall: it describes a problem. Choose the level that describes best how far the problem IS "
    "present."
)

_REQUIREMENT_MENU = (
    {"name": MET, "text": "the evidence shows that the requirement is fulfilled"},
    {"name": NOT_MET, "text": "it is not fulfilled, or only in part"},
    {"name": CANNOT_TELL, "text": "the evidence does not allow an answer"},
)
_PITFALL_MENU = (
    {"name": MET, "text": "the problem is present: the statement is true"},
    {"name": NOT_MET, "text": "the problem is not present: the statement is false"},
    {"name": CANNOT_TELL, "text": "the evidence does not allow an answer"},
)
_SHARES = {0.0: "not at all", 0.25: "slightly", 0.5: "half of it", 0.75: "mostly", 1.0: "fully"}


class Wording(msgspec.Struct, frozen=True):
    """A criterion, ready to be put into prompts."""

    criterion: Criterion
    text: str
    """As a JSON string, so that a text of several lines stays one value."""
    polarity: str
    menu: tuple[str, ...]
    entries: tuple[dict[str, str], ...]
    told: bytes
    """All of the above but the criterion, as it enters the key of a question."""

    def values(self) -> dict[str, Any]:
        """What the template `each` is given of it."""
        return {"criterion": self.text, "polarity": self.polarity, "menu": self.entries}

    def item(self, number: str) -> dict[str, str]:
        """What the template `batch` is given of it."""
        told = "; ".join(f"{entry['name']} ({entry['text']})" for entry in self.entries)
        return {"id": number, "criterion": self.text, "polarity": self.polarity, "menu": told}


@functools.lru_cache(maxsize=4096)
def wording(criterion: Criterion) -> Wording:
    """Word a criterion; done once for all trials that share it."""
    if not criterion.levels:
        polarity = PITFALL if criterion.pitfall else REQUIREMENT
        return _worded(criterion, polarity, MENU, _PITFALL_MENU if criterion.pitfall else _REQUIREMENT_MENU)
    entries = tuple({"name": level.name, "text": level.text or _share(level.value)} for level in criterion.levels)
    unsure = {"name": CANNOT_TELL, "text": "the evidence does not allow an answer"}
    menu = tuple(level.name for level in criterion.levels)
    polarity = GRADED_PITFALL if criterion.pitfall else GRADED
    return _worded(criterion, polarity, (*menu, CANNOT_TELL), (*entries, unsure))


def _worded(criterion: Criterion, polarity: str, menu: tuple[str, ...], entries: tuple[dict[str, str], ...]) -> Wording:
    text = encode(criterion.text)
    return Wording(criterion, text, polarity, menu, entries, told((text, polarity, entries), menu))


def _share(value: float) -> str:
    return _SHARES.get(value, f"{value * 100:g} % of the way from not at all to fully")
