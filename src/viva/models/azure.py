"""Azure OpenAI deployments."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from viva.core.errors import SetupError
from viva.models.chat_wire import ChatWire
from viva.models.http import HttpModel, ModelSettings, endpoint_at, required_key
from viva.ports.kit import Kit

DEFAULT_API_VERSION = "2024-10-21"


class AzureModel(HttpModel):
    """`azure/DEPLOYMENT`, at AZURE_OPENAI_ENDPOINT with AZURE_OPENAI_KEY and AZURE_OPENAI_API_VERSION."""

    Settings = ModelSettings

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        deployment = settings.model or kit.env("AZURE_OPENAI_CHAT_DEPLOYMENT_ID") or ""
        place = kit.env("AZURE_OPENAI_ENDPOINT")
        if not place or not deployment:
            lacks = "AZURE_OPENAI_ENDPOINT" if not place else "AZURE_OPENAI_CHAT_DEPLOYMENT_ID"
            raise SetupError(f"azure: {lacks} is not set", kind="missing_setting", hint="set it, or name another model")
        key = required_key(kit, "azure", "AZURE_OPENAI_KEY", "AZURE_OPENAI_API_KEY")
        version = kit.env("AZURE_OPENAI_API_VERSION") or DEFAULT_API_VERSION
        path = f"/openai/deployments/{quote(deployment, safe='')}/chat/completions"
        endpoint = endpoint_at(place, path, key, key_header="api-key")
        query = urlencode({"api-version": version})
        joined = f"{endpoint.url}{'&' if '?' in endpoint.url else '?'}{query}"
        placed = type(endpoint)(joined, endpoint.headers, endpoint.key_id)
        super().__init__(f"azure/{deployment}", ChatWire(deployment), placed, kit.clock)
