"""Gemini, through the chat completions that Google offers beside its own format."""

from __future__ import annotations

from viva.models.chat_wire import ChatWire
from viva.models.http import HttpModel, ModelSettings, endpoint_at, required_key
from viva.ports.kit import Kit

GOOGLE_URL = "https://generativelanguage.googleapis.com/v1beta/openai"


class GoogleModel(HttpModel):
    """`google/NAME` with GEMINI_API_KEY or GOOGLE_API_KEY."""

    Settings = ModelSettings

    def __init__(self, settings: ModelSettings, kit: Kit) -> None:
        key = required_key(kit, "google", "GEMINI_API_KEY", "GOOGLE_API_KEY")
        endpoint = endpoint_at(kit.env("GEMINI_BASE_URL") or GOOGLE_URL, "/chat/completions", key)
        super().__init__(f"google/{settings.model}", ChatWire(settings.model), endpoint, kit.clock)
