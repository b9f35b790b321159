"""A criterion: one requirement in words, for a model to judge."""

from __future__ import annotations

from viva.core.data import Data


class Level(Data, frozen=True):
    """One rung of a graded criterion."""

    name: str
    value: float
    text: str = ""


class Criterion(Data, frozen=True):
    """One requirement in words, with weight and polarity.

    A pitfall describes something bad: when it is met, its weight counts against the answer. The weight itself is
    always written positive; `signed_weight` carries the polarity into formulas.
    """

    id: str
    text: str
    title: str = ""
    weight: float = 1.0
    pitfall: bool = False
    levels: tuple[Level, ...] = ()
    category: str = ""
    section: str = "criteria"
    where: str = ""

    @property
    def signed_weight(self) -> float:
        """Positive for a requirement, negative for a pitfall."""
        return -self.weight if self.pitfall else self.weight
