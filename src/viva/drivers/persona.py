"""A model plays the user: it puts the tasks in order, tells a fact only when asked, and decides when to stop."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from viva.core.data import Data
from viva.core.errors import DriverError, LimitError, ModelError
from viva.core.text import shorten, visible
from viva.core.transcript import Turn
from viva.drivers.decision import SCHEMA, Decision, read_decision
from viva.judging.fence import fence, fresh_nonce
from viva.judging.template import Shelf, Template
from viva.ports.driver import Conversation, Stop
from viva.ports.kit import Kit
from viva.ports.model import ChatMessage, ModelReply, ModelRequest

TEMPLATES = Path(__file__).with_name("templates")
GREETINGS = ("Hello", "Hi", "Greetings", "Yo", "Hey")
NAMES = ("name", "voice", "signoff", "tasks", "facts", "conversation", "reminder")
EMPTY = "Your last answer had no message in it. Say something to the assistant, or stop."
UNREADABLE = "Your last answer could not be read. Answer with the JSON object only."
WANTED = 'wanted is {"message": "…", "task": 1, "stop": false, "because": "…"}, or plain words'
QUOTED_CHARS = 200


class PersonaSettings(Data, frozen=True):
    """Who the simulated user is."""

    name: str = "Socrates"
    voice: str = "You speak like a friendly, relaxed human"
    temperature: float = 0.5
    signoff: str = "So Long, and Thanks for All the Fish"
    greetings: tuple[str, ...] = GREETINGS
    """The first message, one of these by a seeded choice; an empty list begins with the first task."""
    template: str = ""
    """A template file of the suite's own instead of the built-in one."""
    max_tokens: int = 500


class Persona:
    """Drives a conversation with a model in the user's part."""

    Settings = PersonaSettings
    name = "persona"
    version = "1"

    def __init__(self, settings: PersonaSettings, kit: Kit) -> None:
        self._settings = settings
        # Found now, so that a model that is missing is missing before anything is said.
        self._model = kit.model("user")
        self._template = _template(settings, kit)

    @property
    def hash(self) -> str:
        """Of the prompt."""
        return self._template.hash

    async def drive(self, conversation: Conversation) -> Stop:
        """Greet, then ask the model for the next message until it stops."""
        notes: dict[str, Any] = {"persona": self._settings.name, "prompt": self._template.hash}
        if self._settings.greetings:
            # Seeded by the trial, so that a repeat of the run greets alike and variants of a case are paired.
            greeting = random.Random(conversation.seed).choice(self._settings.greetings)  # noqa: S311
            notes["greeting"] = greeting
            await conversation.say(greeting, metadata={"greeting": True})
        while True:
            decision, reply = await self._decide(conversation)
            about = {"task": decision.task} if decision.task else {}
            if self._ends(decision):
                conversation.remark(decision.message, latency_ms=reply.latency_ms, metadata={**about, "stop": True})
                return Stop(because=decision.because or "signed off", notes=notes)
            await conversation.say(decision.message, latency_ms=reply.latency_ms, metadata=about)

    def _ends(self, decision: Decision) -> bool:
        # Only the user's own words are looked at: an agent that says the phrase ends nothing.
        return decision.stop or self._settings.signoff.lower() in decision.message.lower()

    async def _decide(self, conversation: Conversation) -> tuple[Decision, ModelReply]:
        """Ask for the next message, and once more with a reminder when there is none to be read."""
        reminder = ""
        problem: DriverError | None = None
        for _ in range(2):
            reply = await self._ask(conversation, reminder)
            try:
                decision = read_decision(reply.text)
            except DriverError as error:
                reminder, problem = UNREADABLE, error
                continue
            if decision.message or decision.stop:
                return decision, reply
            reminder = EMPTY
        if reminder == EMPTY or problem is None:
            raise DriverError("the simulated user had nothing to say, twice", kind="driver_error")
        raise DriverError(
            f"{self._model.name} could not be read as the user, twice: {problem.message}; {WANTED}. "
            f"It said: {_quoted(reply.text)}",
            kind="user_unreadable",
        ) from problem

    async def _ask(self, conversation: Conversation, reminder: str) -> ModelReply:
        nonce = fresh_nonce()
        parts = self._template.parts(self._values(conversation, reminder, nonce))
        request = ModelRequest(
            messages=tuple(ChatMessage(role=role, text=text) for role, text in parts),  # type: ignore[arg-type]
            schema=SCHEMA,
            schema_name="next_message",
            temperature=self._settings.temperature,
            max_tokens=self._settings.max_tokens,
            purpose="user",
            nonce=nonce,
            # Repeats of a trial are meant to differ, so they must not share cached replies.
            salt=str(conversation.seed),
        )
        try:
            reply = await self._model.complete(request)
        except LimitError:
            raise
        except ModelError as error:
            raise DriverError(f"the simulated user's model failed: {error}", kind=f"user_{error.kind}") from error
        conversation.charge(reply.usage)
        if reply.refused or reply.finish == "content_filter":
            raise DriverError("the model refused to play the user", kind="user_refused")
        return reply

    def _values(self, conversation: Conversation, reminder: str, nonce: str) -> dict[str, Any]:
        case = conversation.case
        supplied = conversation.variant.facts == "supplied"
        return {
            "name": self._settings.name,
            "voice": self._settings.voice,
            "signoff": self._settings.signoff,
            "tasks": [
                {"number": number, "kind": task.kind, "text": task.text}
                for number, task in enumerate(case.tasks, start=1)
            ],
            # Withheld facts are not in the prompt at all; a model cannot leak what it was never told.
            "facts": list(case.facts) if supplied else [],
            "conversation": fence("conversation", [_line(turn) for turn in conversation.turns], nonce),
            "reminder": reminder,
        }


def _quoted(text: str) -> str:
    """The beginning of a reply on one line, with what cannot be seen made visible."""
    return f"“{shorten(' '.join(visible(text).split()), QUOTED_CHARS)}”"


def _line(turn: Turn) -> dict[str, str]:
    return {"you" if turn.role == "user" else turn.role: turn.text}


def _template(settings: PersonaSettings, kit: Kit) -> Template:
    if settings.template:
        source = kit.template_file(settings.template)
        return Template(settings.template, source, trusted=False, names=NAMES)
    return Shelf(TEMPLATES, kit.template).get("persona")
