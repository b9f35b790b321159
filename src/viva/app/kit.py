"""The services every implementation may ask for, made of the rooms below."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.config.env import Environment
from viva.config.files import resolve
from viva.core.clock import Clock, SystemClock
from viva.core.errors import ModelError, SetupError, StoreError
from viva.core.evidence import Evidence
from viva.core.secret import Secret
from viva.core.suite import Roles
from viva.ports.judge import Judge
from viva.ports.meter import Meter
from viva.ports.model import Embedder, Model, ModelReply, ModelRequest
from viva.ports.store import ResponseCache, Store
from viva.registry import Registry

ROLES = ("model", "user", "judge")


class RunKit:
    """The kit of one run. Models are built when first asked for, and shared by name."""

    def __init__(
        self,
        registry: Registry,
        environment: Environment,
        *,
        folder: Path | None = None,
        roles: Roles,
        trusted_roles: frozenset[str] = frozenset(ROLES),
        templates: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        cache: ResponseCache | None = None,
        meter: Meter | None = None,
        warn: Callable[[str], None] | None = None,
        on_fatal: Callable[[str], None] | None = None,
        store: Store | None = None,
    ) -> None:
        self._store = store
        self._registry = registry
        self._environment = environment
        self._folder = folder
        self._roles = roles
        self._trusted_roles = trusted_roles
        self._templates = dict(templates or {})
        self._clock = clock or SystemClock()
        self._cache = cache
        self._meter = meter
        self._warn = warn
        self._on_fatal = on_fatal
        self._models: dict[tuple[str, bool], WatchedModel] = {}
        self._judge: Judge | None = None

    @property
    def clock(self) -> Clock:
        """The run's clock."""
        return self._clock

    @property
    def folder(self) -> Path | None:
        """The suite's folder; None for suites built in Python."""
        return self._folder

    def file(self, name: str) -> Path:
        """Resolve a file named by the suite. Raises SuiteError."""
        return resolve(self._folder, name)

    def secret(self, text: str) -> Secret:
        """Resolve `env:NAME` where the name is allowed. Raises SuiteError or SetupError."""
        return self._environment.secret(text)

    def env(self, name: str) -> str | None:
        """A setting of viva's own from the environment."""
        return self._environment.get(name)

    def allow_program(self, program: str) -> None:
        """Let a program be started that the user allowed. Raises SuiteError otherwise."""
        self._registry.check_program(program)

    def load(self, target: str) -> Any:
        """Import `module:attr` where the user allowed its module. Raises SuiteError."""
        return self._registry.import_object(target)

    def model(self, role: str) -> Model:
        """The model that plays a role, or one named outright. Raises SetupError."""
        from viva.models.catalogue import build_model, resolve  # Model clients are loaded by runs that use them.

        is_role = role in ROLES
        name = resolve(getattr(self._roles, role), role, self.env) if is_role else role
        trusted = is_role and (role in self._trusted_roles or getattr(self._roles, role) is None)
        if (name, trusted) not in self._models:
            model = build_model(
                name,
                self,
                cache=self._cache,
                meter=self._meter,
                notice=self._warn,
                registry=self._registry,
                trusted=trusted,
            )
            self._models[name, trusted] = WatchedModel(model, self._on_fatal)
        return self._models[name, trusted]

    def judge(self) -> Judge:
        """The judge of this run."""
        from viva.judging.judge import build_judge
        from viva.models.catalogue import caveat

        if self._judge is None:
            self._judge = build_judge(self)
            if self._warn is not None and (warning := caveat(self._judge.name)):
                self._warn(warning)
        return self._judge

    def embedder(self, name: str = "") -> Embedder:
        """An embedding model by name; '' is the offline default."""
        from viva.models.catalogue import build_embedder

        return build_embedder(name, self, registry=self._registry)

    def recorded(self, run: str) -> Callable[[str], Awaitable[Evidence | None]]:
        """How to find the evidence of a stored run's trials by their keys."""
        store = self._store
        if store is None:
            raise SetupError("there is no store to replay a run from", kind="no_store")

        async def find(key: str) -> Evidence | None:
            try:
                return await store.evidence((await store.run(run)).id, key)
            except StoreError as error:
                if error.kind != "not_found":
                    raise
                return None

        return find

    def template_file(self, name: str) -> str:
        """The text of a template file of the suite's own, where the user allowed those. Raises SuiteError."""
        self._registry.check_templates()
        return self.file(name).read_text(encoding="utf-8")

    def template(self, name: str) -> str:
        """The text of a template the suite replaced, or ''."""
        return self._templates.get(name, "")

    async def close(self) -> None:
        """Release models and the cache."""
        for model in self._models.values():
            await model.close()
        if self._cache is not None:
            await self._cache.close()


class WatchedModel:
    """Passes calls on, and tells the run when no further call can succeed (a wrong key, no quota)."""

    def __init__(self, model: Model, on_fatal: Callable[[str], None] | None) -> None:
        self.name = model.name
        self._model = model
        self._on_fatal = on_fatal

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer one request."""
        try:
            return await self._model.complete(request)
        except ModelError as error:
            if error.fatal and self._on_fatal is not None:
                self._on_fatal(f"the model {self.name} cannot be used: {error}")
            raise

    def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Answer one request piece by piece."""
        return self._model.stream(request)

    async def close(self) -> None:
        """Release connections."""
        await self._model.close()


class LazyCache:
    """A cache of replies that is opened when the first model is asked; most runs never do."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._opened: ResponseCache | None = None
        self._lock = asyncio.Lock()

    async def get(self, key: str) -> bytes | None:
        """A stored reply, or None."""
        return await (await self._cache()).get(key)

    async def get_many(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The stored replies among these keys, in one look where the cache can."""
        cache = await self._cache()
        many = getattr(cache, "get_many", None)
        if many is not None:
            found: dict[str, bytes] = await many(keys)
            return found
        return {key: reply for key in keys if (reply := await cache.get(key)) is not None}

    async def put(self, key: str, reply: bytes, model: str) -> None:
        """Keep a reply."""
        await (await self._cache()).put(key, reply, model)

    async def close(self) -> None:
        """Write what is queued."""
        if self._opened is not None:
            await self._opened.close()

    async def _cache(self) -> ResponseCache:
        if self._opened is None:
            from viva.store.cache import SqliteCache

            async with self._lock:
                if self._opened is None:
                    self._opened = await SqliteCache.open(self._path)
        return self._opened
