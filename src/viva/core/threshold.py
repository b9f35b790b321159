"""A threshold: the number that turns a score into pass or fail."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Literal

from viva.core.data import Data

Comparator = Literal[">=", ">", "<=", "<", "==", "!="]

COMPARE: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}


class Threshold(Data, frozen=True):
    """`metric comparator value`, of one trial or of the whole run.

    The metric is `score` (the formula's number), the name of a score, `NAME.raw` for its value on its own scale,
    and, for a run, also `pass_rate` and `error_rate`.
    """

    value: float
    metric: str = "score"
    comparator: Comparator = ">="
    scope: Literal["trial", "run"] = "trial"

    def holds(self, number: float) -> bool:
        """Whether a number satisfies the threshold."""
        return COMPARE[self.comparator](number, self.value)

    def __str__(self) -> str:
        return f"{self.metric} {self.comparator} {self.value:g}"
