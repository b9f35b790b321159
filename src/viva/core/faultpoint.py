"""Named points where tests may inject a fault; nothing happens there otherwise."""

from __future__ import annotations

from collections.abc import Callable

_hooks: list[Callable[[str], None]] = []


def fault(point: str) -> None:
    """Announce that execution has reached a named point."""
    for hook in _hooks:
        hook(point)


def install(hook: Callable[[str], None] | None) -> None:
    """Let a test decide what happens at the named points; None switches it off."""
    _hooks[:] = [] if hook is None else [hook]
