"""Quantities as text, each in its own unit."""

from __future__ import annotations

NONE = "–"
"""What stands where there is no number; never 0."""


def quantity(raw: float | None, unit: str) -> str:
    """A raw value with its unit: `3 turns`, `1,250 ms`, `4 of 1–5`."""
    if raw is None:
        return NONE
    if unit == "ms":
        return milliseconds(raw)
    text = f"{raw:,.0f}" if abs(raw) >= 1000 else f"{raw:.4g}"
    if unit == "turns" and raw == 1:
        return "1 turn"
    return f"{text} of {unit}" if "–" in unit else f"{text} {unit}".strip()


def milliseconds(value: float | None) -> str:
    """A duration as text."""
    if value is None:
        return NONE
    return f"{value:,.0f} ms" if value < 10_000 else f"{value / 1000:,.1f} s"
