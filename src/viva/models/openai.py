"""OpenAI, and everything that speaks its chat completions: routers, Ollama, vLLM, llama.cpp, LM Studio."""

from __future__ import annotations

from urllib.parse import urlsplit

from viva.core.secret import Secret
from viva.models.chat_wire import ChatWire
from viva.models.http import HttpModel, ModelSettings, endpoint_at, key_of, required_key
from viva.ports.kit import Kit

OPENAI_URL = "https://api.openai.com/v1"
CHAT = "/chat/completions"


class OpenAIModel(HttpModel):
    """`openai/NAME` at OPENAI_BASE_URL or OpenAI; `openai/NAME@URL` at any compatible server."""

    Settings = ModelSettings

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        home = kit.env("OPENAI_BASE_URL") or OPENAI_URL
        url = settings.base_url or home
        name = f"openai/{settings.model}" + (f"@{settings.base_url}" if settings.base_url else "")
        key = key_for(url, home, kit)
        tokens_key = "max_completion_tokens" if urlsplit(url).hostname == "api.openai.com" else "max_tokens"
        endpoint = endpoint_at(url, CHAT, key)
        super().__init__(_shown(name), ChatWire(settings.model, tokens_key=tokens_key), endpoint, kit.clock)


class OpenRouterModel(HttpModel):
    """`openrouter/VENDOR/NAME`."""

    Settings = ModelSettings

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        key = required_key(kit, "openrouter", "OPENROUTER_API_KEY")
        endpoint = endpoint_at(kit.env("OPENROUTER_BASE_URL") or "https://openrouter.ai/api/v1", CHAT, key)
        super().__init__(f"openrouter/{settings.model}", ChatWire(settings.model), endpoint, kit.clock)


class HuggingFaceModel(HttpModel):
    """`huggingface/OWNER/NAME` through the Hugging Face router."""

    Settings = ModelSettings

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        key = required_key(kit, "huggingface", "HF_TOKEN", "HUGGINGFACE_API_KEY")
        endpoint = endpoint_at(kit.env("HF_BASE_URL") or "https://router.huggingface.co/v1", CHAT, key)
        super().__init__(f"huggingface/{settings.model}", ChatWire(settings.model), endpoint, kit.clock)


class OllamaModel(HttpModel):
    """`ollama/NAME` at OLLAMA_HOST, by default on this machine."""

    Settings = ModelSettings

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        host = kit.env("OLLAMA_HOST") or "127.0.0.1:11434"
        url = host if "://" in host else f"http://{host}"
        endpoint = endpoint_at(url.rstrip("/") + "/v1", CHAT, key_of(kit, "OLLAMA_API_KEY"))
        super().__init__(f"ollama/{settings.model}", ChatWire(settings.model), endpoint, kit.clock)


def key_for(url: str, home: str, kit: Kit) -> Secret | None:
    """The user's key goes to the place the user configured, and to no other: suites can name addresses too."""
    if not _same_origin(url, home):
        return None
    if urlsplit(home).hostname == "api.openai.com":
        return required_key(kit, "openai", "OPENAI_API_KEY")
    return key_of(kit, "OPENAI_API_KEY")


def _same_origin(one: str, other: str) -> bool:
    first, second = urlsplit(one), urlsplit(other)
    return (first.scheme, first.hostname, first.port) == (second.scheme, second.hostname, second.port)


def _shown(name: str) -> str:
    """The name without credentials in its address; it ends up in reports."""
    model, at, url = name.partition("@")
    if not at:
        return name
    parts = urlsplit(url)
    return f"{model}@{parts._replace(netloc=parts.netloc.rpartition('@')[2], query='', fragment='').geturl()}"
