"""Replies kept on disk: keyed by everything that matters, and never replaying what was no answer."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import msgspec

from viva.core.data import replace, to_json
from viva.core.faultpoint import fault
from viva.core.usage import Usage
from viva.ports.model import ModelReply, ModelRequest
from viva.ports.store import ResponseCache

FORMAT = "viva-reply-1"
BLANK = "\x00nonce\x00"
"""Stands for the nonce of a call, in the key and in the stored reply; no model writes NUL."""

MOST_SCHEMAS = 64

_HIT = Usage(cache_hits=1)
_FREE_HIT = Usage(cache_hits=1, cost_usd=0.0)
_sorted = msgspec.json.Encoder(order="sorted").encode
_reply = msgspec.json.Decoder(ModelReply)
_REFUSAL = re.compile(
    r"(?:i(?:'|’)?m (?:really |very )?sorry|sorry|i apologi[sz]e|unfortunately|as an ai)?[,.]?\s*(?:but )?"
    r"(?:i (?:can(?:'|’)?t|cannot|can not|won(?:'|’)?t|am unable to|am not able to|must decline)"
    r"|i(?:'|’)m (?:unable|not able) to)"
    r"\s+(?:\w+ ){0,3}?(?:help|assist|comply|answer|provide|do that|continue|fulfil|discuss|engage)",
    re.IGNORECASE,
)


class CachedReplies:
    """A response cache seen by one model."""

    def __init__(self, store: ResponseCache, model: str, endpoint: str) -> None:
        self._store = store
        self._model = model
        self._begun = hashlib.sha256(f"{FORMAT}\n{model}\n{endpoint}\n".encode())
        self._schemas: dict[int, tuple[object, bytes]] = {}
        self.hits = 0
        self.misses = 0

    def key(self, request: ModelRequest) -> str:
        """Name a request by everything that may change its answer, with its nonce blanked out."""
        if request.key:
            return self._named(request.key)
        nonce = request.nonce
        # Lengths keep one long message apart from two short ones.
        said = "".join([f"{m.role} {len(m.text)}\n{m.text}\n" for m in request.messages])
        told = (said.replace(nonce, BLANK) if nonce else said).encode("utf-8", "surrogatepass")
        digest = self._begun.copy()
        digest.update(told)
        digest.update(self._parameters(request))
        if request.schema is not None:
            digest.update(self._schema(request))
        return digest.hexdigest()

    def _named(self, key: str) -> str:
        digest = self._begun.copy()
        digest.update(b"key\n" + key.encode())
        return digest.hexdigest()

    def _parameters(self, request: ModelRequest) -> bytes:
        about = (
            request.temperature,
            request.max_tokens,
            request.stop,
            request.seed,
            request.salt,
            request.parameters,
        )
        return _sorted(about)

    def _schema(self, request: ModelRequest) -> bytes:
        """The schema as bytes; callers use few of them again and again, so they are remembered by identity."""
        schema = request.schema
        known = self._schemas.get(id(schema))
        if known is None or known[0] is not schema:
            if len(self._schemas) >= MOST_SCHEMAS:
                self._schemas.clear()
            known = self._schemas[id(schema)] = (schema, _sorted(schema))
        raw = request.schema_name.encode() + known[1]
        return raw.replace(request.nonce.encode(), BLANK.encode()) if request.nonce else raw

    async def find(self, key: str, request: ModelRequest) -> ModelReply | None:
        """A kept reply, answering this call: its nonce is put in, its timings are those of the first time."""
        reply = self._again(await self._store.get(key), request.nonce)
        if reply is None:
            self.misses += 1
        return reply

    async def recall(self, keys: Sequence[str], nonce: str) -> list[ModelReply | None]:
        """The kept replies to requests that carry these keys; one that is not kept is no miss until it is asked."""
        many = getattr(self._store, "get_many", None)
        names = [self._named(key) for key in keys]
        if many is None:
            return [self._again(await self._store.get(name), nonce) for name in names]
        found = await many(names)
        return [self._again(found.get(name), nonce) for name in names]

    def _again(self, raw: bytes | None, nonce: str) -> ModelReply | None:
        reply = None if raw is None else _read(raw)
        if reply is None:
            return None
        self.hits += 1
        usage = _HIT if reply.usage.cost_usd is None else _FREE_HIT
        return replace(reply, text=reply.text.replace(BLANK, nonce), usage=usage, cached=True)

    async def keep(self, key: str, request: ModelRequest, reply: ModelReply) -> None:
        """Keep a reply if it is an answer."""
        if not is_answer(request, reply):
            return
        fault("models.cache.keep")
        text = reply.text.replace(request.nonce, BLANK) if request.nonce else reply.text
        await self._store.put(key, to_json(replace(reply, text=text)), self._model)


def is_answer(request: ModelRequest, reply: ModelReply) -> bool:
    """Whether a reply may be replayed: complete, not refused, not empty, and of the asked form."""
    if reply.refused or reply.finish != "stop" or not reply.text.strip():
        return False
    if request.schema is not None:
        return _has_the_form(reply.text, request.schema)
    return _REFUSAL.match(reply.text.lstrip()[:200]) is None


def _has_the_form(text: str, schema: dict[str, Any]) -> bool:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return False
    if schema.get("type") == "object":
        return isinstance(found, dict) and all(name in found for name in schema.get("required", ()))
    return True


def _read(raw: bytes) -> ModelReply | None:
    """A stored reply; None when another version wrote it: that is a miss, not an error."""
    try:
        return _reply.decode(raw)
    except msgspec.DecodeError:
        return None
