"""Anthropic's own endpoint."""

from __future__ import annotations

from viva.models.http import Endpoint, HttpModel, ModelSettings, endpoint_at, required_key
from viva.models.messages_wire import MessagesWire
from viva.ports.kit import Kit

ANTHROPIC_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"


class AnthropicModel(HttpModel):
    """`anthropic/NAME` with ANTHROPIC_API_KEY, at ANTHROPIC_BASE_URL where that is set."""

    Settings = ModelSettings

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        key = required_key(kit, "anthropic", "ANTHROPIC_API_KEY")
        home = (kit.env("ANTHROPIC_BASE_URL") or ANTHROPIC_URL).rstrip("/").removesuffix("/v1")
        found = endpoint_at(home, "/v1/messages", key, key_header="x-api-key")
        endpoint = Endpoint(found.url, found.headers | {"anthropic-version": VERSION}, found.key_id)
        super().__init__(f"anthropic/{settings.model}", MessagesWire(settings.model), endpoint, kit.clock)
