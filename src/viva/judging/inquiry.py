"""One question before it is put, and its key: a name made of all that decides the prompt, without writing the prompt.

Two questions with the same key would be put in the same words, nonce apart; so the reply to one answers the other,
and a model that keeps its replies can be asked for all of a trial's at once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from viva.core.data import replace, to_json
from viva.judging.exhibits import Exhibits
from viva.judging.fence import enclose
from viva.judging.template import Template
from viva.ports.model import ModelRequest

if TYPE_CHECKING:
    from hashlib import _Hash

FORMAT = b"viva-question-1\n"


class Inquiry(msgspec.Struct, frozen=True):
    """One question: what it is about, with which template, on which exhibits."""

    template: Template
    about: str
    exhibits: Exhibits
    values: dict[str, Any]
    menu: tuple[str, ...]
    told: bytes
    """The values and the menu, as they enter the key."""
    stamp: str
    flags: tuple[str, ...] = ()
    salt: str = ""


def told(values: Any, menu: Sequence[str]) -> bytes:
    """Write what a question says of its own, so that no two questions that differ are written the same."""
    return repr((values, menu)).encode()


class Keys:
    """Makes the keys of one judge. `bare` is a request as the judge makes it, with a text that never changes."""

    def __init__(self, bare: ModelRequest, reply: Template) -> None:
        # How long we wait and who asks cannot change an answer; how a request and its fences are built can.
        same = to_json(replace(bare, timeout_s=0.0, purpose=""))
        self._built = FORMAT + same + enclose("label", "value", "nonce").encode() + reply.hash.encode()
        self._begun: dict[str, _Hash] = {}

    def of(self, inquiry: Inquiry) -> str:
        """The key of a question."""
        digest = self._template(inquiry.template).copy()
        digest.update(b"%b%d\n%b%b" % (inquiry.exhibits.digest, len(inquiry.told), inquiry.told, inquiry.salt.encode()))
        return digest.hexdigest()

    def _template(self, template: Template) -> _Hash:
        if template.hash not in self._begun:
            self._begun[template.hash] = hashlib.sha256(self._built + template.hash.encode())
        return self._begun[template.hash]
