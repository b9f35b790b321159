"""Exotic endpoints through the optional package LiteLLM, its own retries switched off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from viva.core.clock import Clock
from viva.core.data import to_json
from viva.core.errors import ModelError
from viva.core.secret import redactor
from viva.core.usage import Usage
from viva.models.chat_wire import ChatWire, as_chat
from viva.models.failures import failure
from viva.models.http import ModelSettings
from viva.ports.kit import Kit
from viva.ports.model import ModelReply, ModelRequest
from viva.registry import need


class LiteLLMModel:
    """`litellm/PROVIDER/NAME`, for what has no client of its own here."""

    Settings = ModelSettings

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        self.name = f"litellm/{settings.model}"
        self.endpoint = self.account = self.name
        self._model = settings.model
        self._clock: Clock = kit.clock
        self._wire = ChatWire(settings.model)
        self._litellm = need("litellm")

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Try once."""
        started = self._clock.monotonic()
        reply = await self._ask(request, stream=False)
        took_ms = (self._clock.monotonic() - started) * 1000
        found = self._wire.decode(to_json(reply.model_dump()), took_ms)
        cost = (getattr(reply, "_hidden_params", None) or {}).get("response_cost")
        usage = found.usage
        counted = Usage(
            calls=1,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            cached_tokens=usage.cached_tokens,
            cost_usd=cost,
        )
        return ModelReply(
            text=found.text,
            model=found.model,
            usage=counted,
            finish=found.finish,
            refused=found.refused,
            latency_ms=took_ms,
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Try once, piece by piece."""
        async for chunk in await self._ask(request, stream=True):
            text = chunk.choices[0].delta.content if chunk.choices else None
            if text:
                yield text

    async def close(self) -> None:
        """LiteLLM keeps its own connections."""

    async def _ask(self, request: ModelRequest, stream: bool) -> Any:
        try:
            async with asyncio.timeout(request.timeout_s):
                return await self._litellm.acompletion(**self._arguments(request), stream=stream)
        except TimeoutError as error:
            raise ModelError(
                f"{self.name} took longer than {request.timeout_s:g} s", kind="timed_out", retryable=True
            ) from error
        except Exception as error:
            raise self._failure(error) from error

    def _arguments(self, request: ModelRequest) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "model": self._model,
            "messages": as_chat(request.messages),
            "timeout": request.timeout_s,
            # One policy, ours: retries inside retries multiply.
            "num_retries": 0,
            "max_retries": 0,
            "drop_params": True,
            **request.parameters,
        }
        given = {"temperature": request.temperature, "max_tokens": request.max_tokens, "seed": request.seed}
        arguments |= {name: value for name, value in given.items() if value is not None}
        if request.stop:
            arguments["stop"] = list(request.stop)
        if request.schema is not None:
            described = {"name": request.schema_name, "schema": request.schema, "strict": True}
            arguments["response_format"] = {"type": "json_schema", "json_schema": described}
        return arguments

    def _failure(self, error: Exception) -> ModelError:
        status = getattr(error, "status_code", None)
        if not isinstance(status, int) or status == 200:
            told = redactor.text(f"{type(error).__name__}: {error}")
            return ModelError(f"{self.name}: {told}", kind="provider_error", retryable=True)
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        body = to_json({"error": {"message": str(error), "code": str(getattr(error, "code", "") or "")}})
        return failure(status, dict(headers), body, self.name, self._clock.now())
