"""An agent to examine, behind the REST contract of Embabel's chat API: real HTTP on a loopback port, scripted.

It keeps every request it got, and does what it is told: answers, fails so many times, hangs, reports events, shows
objects, remembers texts. Its handlers run in threads, so that a test may be async, plain, or start viva as a process.
"""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

EVENTS: list[Any] = [
    {"systemPrompt": "You keep reminders."},
    {"content": "MATCH (r:Reminder) RETURN r", "summaryDirection": None},
    {"request": {"function": {"name": "create_reminder"}, "arguments": {"title": "dentist"}, "context": "c"}},
    {"output": "created"},
    {"somethingNew": {"n": 1}},
]
"""One of each of the four kinds, and one nobody has seen before."""


@dataclass(frozen=True)
class Call:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Chat:
    """One session of the agent."""

    id: str
    user: str
    chatbot: str
    messages: list[str] = field(default_factory=list)


Answer = Callable[[Chat, str], str | dict[str, Any]]
"""From the chat and what the user said to a text, or to the whole body of the answer."""


class StubAgent:
    """The agent. Use it as a context manager; `url` is where it answers."""

    def __init__(self, answer: Answer | None = None, *, key: str = "", root: str = "/api/v1/chat") -> None:
        self.answer: Answer = answer or (lambda chat, text: f"You said: {text}")
        self.key = key
        self.root = root
        self.calls: list[Call] = []
        self.chats: dict[str, Chat] = {}
        self.texts: list[str] = []
        self.events: list[Any] = []
        self.resources: list[dict[str, Any]] = []
        self.failures: list[int] = []
        """Status codes of the next answers to messages; then it answers again."""
        self.context_status = 200
        self.hangs = False
        self.let_go = threading.Event()
        self._lock = threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        """The agent's address."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go.set()
        self._server.shutdown()
        self._server.server_close()

    def said(self, number: int | None = None) -> list[str]:
        """What users said: in one session by its number, or in all of them."""
        chats = list(self.chats.values())
        return [text for chat in (chats if number is None else [chats[number]]) for text in chat.messages]

    def called(self, place: str) -> list[Call]:
        """The requests to one place below the root."""
        return [call for call in self.calls if call.path.startswith(f"{self.root}/{place}")]

    def reply(self, method: str, path: str, headers: dict[str, str], body: Any) -> tuple[int, Any]:
        """Answer one request."""
        with self._lock:
            self.calls.append(Call(method, path, headers, body))
            status = self.failures.pop(0) if path.endswith("/messages") and self.failures else 0
        if self.key and headers.get("x-api-key") != self.key:
            return 401, {"error": "wrong or missing key"}
        if status:
            return status, {"error": f"told to answer {status}"}
        place = path.removeprefix(self.root)
        match method, place.split("/")[1:]:
            case "PUT", ["sessions"]:
                chat = Chat(uuid.uuid4().hex, body["user"], body["chatbot"])
                self.chats[chat.id] = chat
                return 200, {"sessionId": chat.id}
            case "PUT", ["messages"]:
                return self._message(self.chats[body["sessionId"]], body["message"]["content"])
            case "GET", ["objectContexts", session]:
                context = {"context": session, "resources": self.resources, "functions": []}
                return self.context_status, context
            case "PUT", ["memories"]:
                self.texts.append(body["text"])
                return 200, {"remembered": True}
        return 404, {"error": "no such path"}

    def _message(self, chat: Chat, text: str) -> tuple[int, Any]:
        if self.hangs:
            self.let_go.wait(60)
        chat.messages.append(text)
        answer = self.answer(chat, text)
        if isinstance(answer, dict):
            return 200, answer
        return 200, {
            "sessionId": chat.id,
            "chatbot": chat.chatbot,
            "message": {"content": answer, "role": "assistant"},
            "history": [{"content": line, "role": "user"} for line in chat.messages],
            "events": self.events,
        }

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        agent = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *args: object) -> None:
                pass

            def do_PUT(self) -> None:
                self._serve(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def do_GET(self) -> None:
                self._serve(None)

            def _serve(self, body: Any) -> None:
                headers = {name.lower(): value for name, value in self.headers.items()}
                status, answer = agent.reply(self.command, self.path, headers, body)
                raw = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

        return Handler
