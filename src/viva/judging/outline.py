"""Rendering a template again and again with values of which most stay the same.

A judge puts the same criterion to many conversations. What it says about the criterion is rendered once, with marks
where the values that change with every call go; after that a prompt is put together from pieces. This holds for
values that a template only places, or asks whether they are empty; for any other use the template is rendered anew.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Hashable, Mapping
from typing import Any

from viva.judging.template import Template

MOST_KEPT = 4096

# Random, so that no value can hold a mark.
_KEY = secrets.token_hex(16)
_MARK = re.compile(f"\x02(\\w+) {_KEY}\x03")

Pieces = list[str]
"""Text and names in turn: text, name, text, name, …, text."""


class Outlines:
    """What is known of the templates of one judge."""

    def __init__(self) -> None:
        self._known: dict[Hashable, list[tuple[str, Pieces]]] = {}

    def parts(
        self, template: Template, told: Hashable, values: Mapping[str, Any], late: Mapping[str, str]
    ) -> list[tuple[str, str]]:
        """What `template.parts({**values, **late})` gives. `told` stands for the values: the same, the same values."""
        if not template.worked.isdisjoint(late):
            return template.parts({**values, **late})
        key = (template, told, tuple([name for name, value in late.items() if value]))
        outline = self._known.get(key)
        if outline is None:
            outline = self._draw(key, template, values, late)
        return [(role, _fill(pieces, late)) for role, pieces in outline]

    def _draw(
        self, key: Hashable, template: Template, values: Mapping[str, Any], late: Mapping[str, str]
    ) -> list[tuple[str, Pieces]]:
        marks = {name: f"\x02{name} {_KEY}\x03" if value else "" for name, value in late.items()}
        if len(self._known) >= MOST_KEPT:
            self._known.clear()
        drawn = [(role, _MARK.split(text)) for role, text in template.parts({**values, **marks})]
        self._known[key] = drawn
        return drawn


def _fill(pieces: Pieces, late: Mapping[str, str]) -> str:
    if len(pieces) == 1:
        return pieces[0]
    filled = pieces.copy()
    for at in range(1, len(pieces), 2):
        filled[at] = late[pieces[at]]
    return "".join(filled)
