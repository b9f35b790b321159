"""viva examines AI agents: it talks to them, looks at what they did, and says how good they are.

The front door for Python: `viva.run(suite, subject=my_agent)`. Names are loaded when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from viva.version import __version__

if TYPE_CHECKING:
    from viva.app.api import arun, run
    from viva.app.spec import RunSpec
    from viva.app.view import RunView, TrialView
    from viva.config.build import suite
    from viva.config.load import load_suite
    from viva.core.case import Case, Task
    from viva.core.check import Check, Measure
    from viva.core.criterion import Criterion, Level
    from viva.core.errors import (
        DriverError,
        JudgeError,
        LimitError,
        ModelError,
        ScorerError,
        SetupError,
        StageError,
        StoppedError,
        StoreError,
        SubjectError,
        SuiteError,
        VivaError,
    )
    from viva.core.evidence import Ending, Evidence, Observation, Observed
    from viva.core.limits import Limits, Retry, RunLimits
    from viva.core.ref import Ref
    from viva.core.run import Run
    from viva.core.score import Score, ScoreError, ScoreSkipped, TrialResult
    from viva.core.suite import Roles, Suite
    from viva.core.threshold import Threshold
    from viva.core.transcript import Event, Message, Reply, ToolCall, Transcript, Turn
    from viva.core.trial import Trial
    from viva.core.usage import Usage
    from viva.core.variant import Variant
    from viva.registry import Registry

_HOMES: dict[str, tuple[str, ...]] = {
    "viva.app.api": ("arun", "run"),
    "viva.app.spec": ("RunSpec",),
    "viva.app.view": ("RunView", "TrialView"),
    "viva.config.build": ("suite",),
    "viva.config.load": ("load_suite",),
    "viva.core.case": ("Case", "Task"),
    "viva.core.check": ("Check", "Measure"),
    "viva.core.criterion": ("Criterion", "Level"),
    "viva.core.errors": (
        "DriverError",
        "JudgeError",
        "LimitError",
        "ModelError",
        "ScorerError",
        "SetupError",
        "StageError",
        "StoppedError",
        "StoreError",
        "SubjectError",
        "SuiteError",
        "VivaError",
    ),
    "viva.core.evidence": ("Ending", "Evidence", "Observation", "Observed"),
    "viva.core.limits": ("Limits", "Retry", "RunLimits"),
    "viva.core.ref": ("Ref",),
    "viva.core.run": ("Run",),
    "viva.core.score": ("Score", "ScoreError", "ScoreSkipped", "TrialResult"),
    "viva.core.suite": ("Roles", "Suite"),
    "viva.core.threshold": ("Threshold",),
    "viva.core.transcript": ("Event", "Message", "Reply", "ToolCall", "Transcript", "Turn"),
    "viva.core.trial": ("Trial",),
    "viva.core.usage": ("Usage",),
    "viva.core.variant": ("Variant",),
    "viva.registry": ("Registry",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Case",
    "Check",
    "Criterion",
    "DriverError",
    "Ending",
    "Event",
    "Evidence",
    "JudgeError",
    "Level",
    "LimitError",
    "Limits",
    "Measure",
    "Message",
    "ModelError",
    "Observation",
    "Observed",
    "Ref",
    "Registry",
    "Reply",
    "Retry",
    "Roles",
    "Run",
    "RunLimits",
    "RunSpec",
    "RunView",
    "Score",
    "ScoreError",
    "ScoreSkipped",
    "ScorerError",
    "SetupError",
    "StageError",
    "StoppedError",
    "StoreError",
    "SubjectError",
    "Suite",
    "SuiteError",
    "Task",
    "Threshold",
    "ToolCall",
    "Transcript",
    "Trial",
    "TrialResult",
    "TrialView",
    "Turn",
    "Usage",
    "Variant",
    "VivaError",
    "__version__",
    "arun",
    "load_suite",
    "run",
    "suite",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'viva' has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(home), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
