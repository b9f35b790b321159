"""Small implementations to name in suites, so that these tests are about the reading alone."""

from __future__ import annotations

from typing import Any, Literal

from viva.core.data import Data
from viva.registry import Registry


class ContainsSettings(Data, frozen=True):
    text: str = ""
    times: int = 1
    mode: Literal["any", "all"] = "any"
    headers: dict[str, str] = {}
    arguments: dict[str, Any] = {}


class Contains:
    Settings = ContainsSettings
    shorthand = "text"

    def __init__(self, settings: ContainsSettings, kit: Any) -> None:
        self.settings = settings

    async def score(self, evidence: Any) -> Any: ...


class Plain:
    """Takes no settings of a declared type."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    async def score(self, evidence: Any) -> Any: ...


class Call(Data, frozen=True):
    path: str
    headers: dict[str, str] = {}


class AgentSettings(Data, frozen=True):
    url: str
    headers: dict[str, str] = {}
    api_key: str = ""
    session: Call | None = None
    environment: tuple[str, ...] = ()
    body: Any = None


class Agent:
    Settings = AgentSettings
    shorthand = "url"

    async def open(self, opening: Any) -> Any: ...

    async def close(self) -> None: ...


class TurnsSettings(Data, frozen=True):
    turns: tuple[str, ...]
    pause_s: float = 0.0


class Script:
    Settings = TurnsSettings

    async def drive(self, conversation: Any) -> Any: ...


class Once:
    async def drive(self, conversation: Any) -> Any: ...


class Mean:
    def combine(self, scores: Any, facts: Any) -> Any: ...


class Graph:
    async def read(self, cypher: str) -> Any: ...

    async def write(self, script: str) -> None: ...

    async def close(self) -> None: ...


class Setup:
    shorthand = "script"

    async def apply(self, ground: Any) -> None: ...


def fakes() -> Registry:
    registry = Registry()
    registry.register("scorers", "contains", Contains)
    registry.register("scorers", "fuzzy", Plain)
    registry.register("scorers", "each", Plain)
    registry.register("scorers", "holistic", Plain)
    registry.register("subjects", "http", Agent)
    registry.register("drivers", "script", Script)
    registry.register("drivers", "once", Once)
    registry.register("drivers", "persona", Once)
    registry.register("formulas", "mean@1", Mean)
    registry.register("formulas", "weighted@1", Mean)
    registry.register("formulas", "weighted@2", Mean)
    registry.register("graphs", "embedded", Graph)
    registry.register("setups", "cypher", Setup)
    return registry
