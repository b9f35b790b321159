"""Values that must never be printed, and the one place that knows how to mask them."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

MASK = "•••"


class Secret:
    """A value that can be used but not printed, compared in logs, or serialised."""

    __slots__ = ("_value", "name")

    def __init__(self, value: str, name: str = "") -> None:
        self._value = value
        self.name = name

    def reveal(self) -> str:
        """Give the value to the one call that needs it."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({self.name or MASK})"

    __str__ = __repr__

    def __reduce__(self) -> Any:
        raise TypeError("a Secret cannot be serialised")


class Redactor:
    """Masks known secret values wherever they appear, in every encoding they are likely to appear in."""

    SHORTEST = 6  # Shorter values would mask ordinary words.

    def __init__(self) -> None:
        self._needles: dict[str, bytes] = {}
        self.count = 0

    def learn(self, secret: Secret) -> None:
        """Remember a secret so that it is masked from now on."""
        value = secret.reveal()
        if len(value) < self.SHORTEST:
            return
        for form in _forms(value):
            for written in (form, _json_inside(form)):  # The second: within a text that is itself written as JSON.
                if len(written) >= self.SHORTEST:
                    self._needles[written] = written.encode("utf-8", "surrogatepass")

    def text(self, text: str) -> str:
        """Mask a text."""
        for needle in self._needles:
            if needle in text:
                self.count += text.count(needle)
                text = text.replace(needle, MASK)
        return text

    def raw(self, raw: bytes) -> bytes:
        """Mask serialised bytes."""
        for needle in self._needles.values():
            if needle in raw:
                self.count += raw.count(needle)
                raw = raw.replace(needle, MASK.encode())
        return raw


def _forms(value: str) -> list[str]:
    quoted = quote(value, safe="")
    plain = [value, quoted, quoted.replace("%2F", "/"), repr(value)[1:-1], json.dumps(value)[1:-1]]
    return plain + _base64_forms(value.encode("utf-8", "surrogatepass"))


def _base64_forms(raw: bytes) -> list[str]:
    """The part of an encoding that the secret alone decides, wherever in the encoded text it begins (`user:key`)."""
    forms: list[str] = []
    for before, unsure in ((0, 0), (1, 2), (2, 3)):
        known = (before + len(raw)) * 8 // 6
        encoded = base64.b64encode(b"\0" * before + raw).decode()[unsure:known]
        forms += [encoded, encoded.replace("+", "-").replace("/", "_")]
    return forms


def _json_inside(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


redactor = Redactor()
"""The process-wide redactor: secrets are learned when they are read, and masked at the store's and terminal's edge."""
