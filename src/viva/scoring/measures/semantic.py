"""Semantic similarity: how near the reply lies to the expected answer in the space of an embedding model."""

from __future__ import annotations

import math
from collections.abc import Sequence

from viva.core.data import Data, content_hash, to_json
from viva.core.evidence import Evidence
from viva.core.score import AnyScore, Score, ScoreError
from viva.ports.kit import Kit
from viva.scoring.measures.rated import missing_input
from viva.scoring.scorer import AskingScorer


class SemanticSettings(Data, frozen=True):
    """How similarity is measured."""

    embedder: str = ""
    """An embedding model by name; '' is the offline one."""
    at_least: float | None = None
    """The similarity from which it passes."""


class SemanticSimilarity(AskingScorer):
    """The cosine of the two texts' vectors; what points away from the expected answer scores 0."""

    Settings = SemanticSettings
    shorthand = "at_least"
    name = "semantic_similarity"
    version = "1"

    def __init__(self, settings: SemanticSettings, kit: Kit) -> None:
        self.settings = settings
        self.embedder = kit.embedder(settings.embedder)

    @property
    def hash(self) -> str:
        """Of the embedding model and these settings."""
        return content_hash([self.embedder.name, self.settings])

    async def score(self, evidence: Evidence) -> Sequence[AnyScore]:
        """Embed both texts and compare them."""
        if missing := missing_input(self.name, evidence, ("response", "expected")):
            return [missing]
        texts = (evidence.text or "", _text(evidence.case.expected))
        near = cosine(*await self.embedder.embed(texts))
        if near is None:
            detail = f"{self.embedder.name} has no direction for one of the texts (is it empty?)"
            return [ScoreError(name=self.name, kind="no_vector", detail=detail, section="measures")]
        value, at_least = min(1.0, max(0.0, near)), self.settings.at_least
        return [
            Score(
                name=self.name,
                value=value,
                raw=near,
                unit="cosine",
                passed=None if at_least is None else near >= at_least,
                reason=f"cosine {near:.3f} by {self.embedder.name}",
                section="measures",
            )
        ]


def cosine(left: Sequence[float], right: Sequence[float]) -> float | None:
    """The cosine of two vectors; None when one of them is zero, or is no vector of numbers."""
    length = math.hypot(*left) * math.hypot(*right)
    if not math.isfinite(length) or length == 0.0 or len(left) != len(right):
        return None
    near = math.fsum(a * b for a, b in zip(left, right, strict=True)) / length
    return near if math.isfinite(near) else None


def _text(value: object) -> str:
    return value if isinstance(value, str) else to_json(value).decode()
