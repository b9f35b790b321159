"""Shows a conversation: live in verbose runs, and afterwards with `viva show RUN TRIAL`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from viva.cli.terminal import Part, Styled
from viva.core.text import shorten
from viva.core.transcript import Turn

EVENT_STYLES = {
    "function_result": "red",
    "function_call": "yellow",
    "system_prompt": "grey",
    "graph_query": "green",
}
"""The colours of what an agent reports about its own work; other kinds are dim."""

ROLE_STYLES = {"user": "cyan", "assistant": "bold", "system": "grey", "tool": "yellow"}

MOST_CHARACTERS = 4000
"""Of one message or event; the store keeps the whole."""

Write = Callable[..., None]


def show_turn(turn: Turn, write: Write, prefix: str = "") -> None:
    """Write one turn: what the agent reports of its work, then what was said."""
    for kind, data in _works(turn):
        lead = f"{prefix}{kind:>9} "
        write(Styled(lead + shorten(_compact(data), MOST_CHARACTERS), EVENT_STYLES.get(kind, "dim")))
    for fault in turn.faults:
        write(Styled(f"{prefix}{'failed':>9} {fault.kind} after {fault.took_ms:,.0f} ms: {_flat(fault.detail)}", "red"))
    for line in _said(turn, prefix):
        write(*line)


def _works(turn: Turn) -> Iterator[tuple[str, Any]]:
    for event in turn.events:
        yield event.kind, event.data
    for call in turn.tool_calls:
        yield "function_call", {"name": call.name, "arguments": call.arguments}
        if call.result is not None:
            yield "function_result", {"name": call.name, "result": call.result}


def _said(turn: Turn, prefix: str) -> Iterator[list[Part]]:
    # Every line after the first gets a bar of its own, so that a message cannot pass for several speakers.
    first, *rest = shorten(turn.text, MOST_CHARACTERS).split("\n")
    took = "" if turn.latency_ms is None else f"  ({turn.latency_ms:,.0f} ms)"
    style = ROLE_STYLES.get(turn.role, "")
    yield [Styled(f"{prefix}{turn.role:>9} │ ", style), first, Styled("" if rest else took, "dim")]
    for number, line in enumerate(rest, start=1):
        ending = took if number == len(rest) else ""
        yield [Styled(f"{prefix}{'':>9} │ ", style), line, Styled(ending, "dim")]
    if turn.data is not None and turn.role == "assistant":
        yield [Styled(f"{prefix}{'data':>9} │ ", style), shorten(_compact(turn.data), MOST_CHARACTERS)]


def _compact(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, default=str)


def _flat(text: str) -> str:
    return shorten(" ".join(text.split()), 200)
