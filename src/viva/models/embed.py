"""Embedding models: one that needs no network, and any OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from viva.core.data import Data
from viva.core.errors import ModelError, SetupError
from viva.models.failures import failure, unreachable, unreadable
from viva.models.http import endpoint_at
from viva.models.openai import OPENAI_URL, key_for
from viva.models.retry import MODEL_RETRY, PATIENCE_S, Tries
from viva.models.standing import standing_of
from viva.ports.kit import Kit
from viva.registry import need
from viva.wire.client import Wire, WireError, WireRequest

BATCH = 256


class EmbedderSettings(Data, frozen=True):
    """Which embedding model; '' is the usual one."""

    model: str = ""
    base_url: str = ""


class WordLlama:
    """Word vectors of 19 MB inside the `wordllama` wheel: offline, 0.3 ms a pair, good enough to tell topics apart."""

    Settings = EmbedderSettings

    def __init__(self, settings: EmbedderSettings, kit: Kit) -> None:
        self.name = "wordllama"
        self._package = need("wordllama")
        self._loading = asyncio.Lock()
        self._model: Any = None

    async def embed(self, texts: tuple[str, ...]) -> list[list[float]]:
        """One vector per text."""
        async with self._loading:
            if self._model is None:
                self._model = await asyncio.to_thread(self._load)
        if not texts:
            return []
        found: list[list[float]] = self._model.embed(list(texts), norm=True).tolist()
        return found

    def _load(self) -> Any:
        # The weights are in the wheel, but only found when its folder is named; nothing may be downloaded.
        folder = Path(self._package.__file__).parent
        try:
            return self._package.WordLlama.load(cache_dir=folder, disable_download=True)
        except FileNotFoundError as error:
            raise SetupError(f"wordllama: {error}", hint="pip install --force-reinstall wordllama") from error


class _Vector(msgspec.Struct):
    embedding: list[float]
    index: int | None = None


class _Vectors(msgspec.Struct):
    data: list[_Vector]


_vectors = msgspec.json.Decoder(_Vectors)


class OpenAIEmbedder:
    """`openai/NAME` (or `openai/NAME@URL`): the embeddings endpoint of OpenAI and compatible servers."""

    Settings = EmbedderSettings

    def __init__(self, settings: EmbedderSettings, kit: Kit) -> None:
        home = kit.env("OPENAI_BASE_URL") or OPENAI_URL
        url = settings.base_url or home
        self._model = settings.model or "text-embedding-3-small"
        self.name = f"openai/{self._model}"
        self._endpoint = endpoint_at(url, "/embeddings", key_for(url, home, kit))
        self._clock = kit.clock
        self._wire = Wire()

    async def embed(self, texts: tuple[str, ...]) -> list[list[float]]:
        """One vector per text, in order."""
        found: list[list[float]] = []
        for start in range(0, len(texts), BATCH):
            found += await self._tried(texts[start : start + BATCH])
        return found

    async def close(self) -> None:
        """Close the connections."""
        await self._wire.close()

    async def _tried(self, texts: tuple[str, ...]) -> list[list[float]]:
        standing = standing_of(self._endpoint.shown, self._clock)
        tries = Tries(MODEL_RETRY, standing, self._clock, PATIENCE_S, self._clock.monotonic())
        while True:
            try:
                found = await self._once(texts)
            except ModelError as error:
                wait_s = tries.next_wait_s(error)
                if wait_s is None:
                    raise tries.final(error, self._endpoint.shown) from error
                await self._clock.sleep(wait_s)
            else:
                standing.succeeded()
                return found

    async def _once(self, texts: tuple[str, ...]) -> list[list[float]]:
        body = msgspec.json.encode({"model": self._model, "input": texts, "encoding_format": "float"})
        request = WireRequest("POST", self._endpoint.url, self._endpoint.headers, body, 60.0, 100_000_000)
        try:
            response = await self._wire.call(request)
        except WireError as error:
            raise unreachable(error, self.name) from error
        if response.status != 200:
            raise failure(response.status, response.headers, response.body, self.name, self._clock.now())
        return self._ordered(response.body, len(texts))

    def _ordered(self, body: bytes, count: int) -> list[list[float]]:
        try:
            found = _vectors.decode(body).data
        except msgspec.DecodeError as error:
            raise unreadable(body, self.name, str(error)) from error
        if len(found) != count:
            raise unreadable(body, self.name, f"{len(found)} vectors for {count} texts")
        ordered = sorted(enumerate(found), key=lambda pair: pair[0] if pair[1].index is None else pair[1].index)
        return [vector.embedding for _, vector in ordered]
