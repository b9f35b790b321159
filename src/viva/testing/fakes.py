"""Subjects and models that do as they are told."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from viva.core.errors import SubjectError
from viva.core.evidence import Observation
from viva.core.transcript import Message, Reply
from viva.core.usage import Usage
from viva.ports.model import ModelReply, ModelRequest
from viva.ports.subject import Opening
from viva.testing.faults import Fault

Answer = str | Reply
SMALL_CALL = Usage(calls=1, input_tokens=10, output_tokens=5)
Answers = Sequence[Answer] | Callable[[Message, Opening], Answer]


class FakeSubject:
    """Answers from a list (the last one again and again) or with a function; fails as its fault says.

    A fault counts the messages of all sessions together, so `Status(503, times=2)` fails twice in all.
    """

    name = "fake"
    version = "1"

    def __init__(
        self,
        replies: Answers = ("ok",),
        *,
        fault: Fault | None = None,
        state: Any = None,
        endpoint: str = "fake",
        usage: Usage | None = None,
    ) -> None:
        self._replies = replies
        self._fault = fault
        self._usage = usage
        self._endpoint = endpoint
        self.state = state
        self.messages = 0
        """Messages received so far, over all sessions."""
        self.openings: Counter[str] = Counter()
        """How often each trial was opened."""
        self.live = 0
        self.most_live = 0
        """The most sessions open at once."""
        self.is_closed = False

    @property
    def endpoint(self) -> str:
        """What concurrency is counted against."""
        return self._endpoint

    async def open(self, opening: Opening) -> FakeSession:
        """Begin a session."""
        self.openings[opening.trial] += 1
        self.live += 1
        self.most_live = max(self.most_live, self.live)
        return FakeSession(self, opening)

    async def close(self) -> None:
        """Release nothing."""
        self.is_closed = True

    async def answer(self, message: Message, opening: Opening, turn: int) -> Reply:
        """Answer one message of one session."""
        count, self.messages = self.messages, self.messages + 1
        if self._fault is not None:
            await self._fault.strike(count)
        found = self._find(message, opening, turn)
        reply = Reply(text=found) if isinstance(found, str) else found
        if self._usage is None or reply.usage is not None:
            return reply
        return Reply(text=reply.text, data=reply.data, usage=self._usage)

    def _find(self, message: Message, opening: Opening, turn: int) -> Answer:
        if callable(self._replies):
            return self._replies(message, opening)
        if not self._replies:
            raise SubjectError("the fake has no replies", kind="subject_error")
        return self._replies[min(turn, len(self._replies) - 1)]


class FakeSession:
    """One conversation with a fake."""

    def __init__(self, subject: FakeSubject, opening: Opening) -> None:
        self._subject = subject
        self._opening = opening
        self._turns = 0
        self._is_closed = False

    @property
    def id(self) -> str:
        """The trial's key."""
        return self._opening.trial

    async def send(self, message: Message) -> Reply:
        """Answer as the fake was told."""
        reply = await self._subject.answer(message, self._opening, self._turns)
        self._turns += 1
        return reply

    async def observe(self, observation: Observation) -> Any:
        """Show the fake's state."""
        return self._subject.state

    async def close(self) -> None:
        """End the session; twice does no harm."""
        if not self._is_closed:
            self._is_closed = True
            self._subject.live -= 1


class FakeModel:
    """Answers from a list (the last one again and again) or with a function."""

    def __init__(
        self,
        replies: Sequence[str] | Callable[[ModelRequest], str] = ("ok",),
        *,
        name: str = "fake",
        usage: Usage = SMALL_CALL,
    ) -> None:
        self.name = name
        self._replies = replies
        self._usage = usage
        self.requests: list[ModelRequest] = []
        """Every request, in order."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Answer one request."""
        self.requests.append(request)
        if callable(self._replies):
            text = self._replies(request)
        else:
            text = self._replies[min(len(self.requests), len(self._replies)) - 1]
        return ModelReply(text=text, model=self.name, usage=self._usage)

    async def stream(self, request: ModelRequest) -> AsyncIterator[str]:
        """Answer word by word."""
        reply = await self.complete(request)
        for word in reply.text.split(" "):
            yield word

    async def close(self) -> None:
        """Release nothing."""
