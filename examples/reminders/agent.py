"""A small reminder agent behind a REST interface: it talks, it calls tools, and its tools write a graph.

    python agent.py --port 8081 --model scripted:brain.yml --graph bolt://127.0.0.1:7687

It is the thing under examination in this folder, and a real one: sessions, tool calls, a knowledge graph, and a model
that decides what to do next. The model is named like any model of viva: `scripted:FILE`, `local/…`, `openai/…`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import neo4j
from aiohttp import web

from viva.app.models import open_model
from viva.ports.model import ChatMessage, Model, ModelRequest

MOST_STEPS = 4

INSTRUCTIONS = """You are a reminder assistant. In each step you either call one tool or talk to the user.
Answer with one JSON object: {"tool": NAME or "none", "arguments": {...}, "say": TEXT}.
Tools:
- create_reminder(title, when, timezone): keep a reminder. Ask for the time zone when you do not know it.
- list_reminders(): the user's reminders.
- remember(fact): keep something about the user.
When you have nothing more to do, use "none" and tell the user in "say" what you did."""

STEP = {
    "type": "object",
    "properties": {
        "tool": {"enum": ["create_reminder", "list_reminders", "remember", "none"]},
        "arguments": {"type": "object"},
        "say": {"type": "string"},
    },
    "required": ["tool", "arguments", "say"],
}


@dataclass
class Chat:
    """One conversation."""

    id: str
    user: str
    chatbot: str
    history: list[dict[str, str]] = field(default_factory=list)


class Memory:
    """The knowledge graph."""

    def __init__(self, uri: str, username: str, password: str) -> None:
        self._driver = neo4j.AsyncGraphDatabase.driver(uri, auth=(username, password))

    async def run(self, cypher: str, **parameters: Any) -> list[dict[str, Any]]:
        """Run one statement."""
        async with self._driver.session(database="neo4j") as session:
            result = await session.run(cypher, parameters)
            return [dict(record) async for record in result]

    async def close(self) -> None:
        """Hang up."""
        await self._driver.close()


class Agent:
    """Decides with a model, acts with tools, answers over REST."""

    def __init__(self, memory: Memory, default_model: str) -> None:
        self._memory = memory
        self._default_model = default_model
        self._models: dict[str, Model] = {}
        self._chats: dict[str, Chat] = {}

    async def open(self, request: web.Request) -> web.Response:
        """PUT /api/v1/chat/sessions."""
        body = await request.json()
        chat = Chat(id=uuid.uuid4().hex, user=body["user"], chatbot=body["chatbot"])
        self._chats[chat.id] = chat
        return web.json_response({"sessionId": chat.id})

    async def message(self, request: web.Request) -> web.Response:
        """PUT /api/v1/chat/messages."""
        body = await request.json()
        chat = self._chats[body["sessionId"]]
        chat.history.append({"role": "user", "content": body["message"]["content"]})
        events: list[dict[str, Any]] = [{"systemPrompt": INSTRUCTIONS}]
        text = await self._answer(chat, self._model(body.get("model")), events)
        chat.history.append({"role": "assistant", "content": text})
        return web.json_response(
            {
                "sessionId": chat.id,
                "chatbot": chat.chatbot,
                "message": {"content": text, "role": "assistant"},
                "history": chat.history,
                "events": events,
            }
        )

    async def context(self, request: web.Request) -> web.Response:
        """GET /api/v1/chat/objectContexts/{id}: what the agent knows."""
        chat = self._chats[request.match_info["id"]]
        rows = await self._memory.run(
            "MATCH (u:User {id: $user})-[:HAS]->(n) RETURN elementId(n) AS id, labels(n) AS labels, properties(n) AS p",
            user=chat.user,
        )
        resources = [
            {
                "id": row["id"],
                "name": row["p"].get("title") or row["p"].get("text", ""),
                "labels": [*row["labels"], "DomainNode"],
                "properties": row["p"],
            }
            for row in rows
        ]
        functions = [{"name": name, "description": name, "label": None} for name in STEP["properties"]["tool"]["enum"]]
        return web.json_response({"context": chat.id, "resources": resources, "functions": functions})

    async def ingest(self, request: web.Request) -> web.Response:
        """PUT /api/v1/memories: remember a text."""
        body = await request.json()
        await self._remember(body["user"], body["text"])
        return web.json_response({"remembered": True})

    def _model(self, wanted: str | None) -> Model:
        """The model the caller asked for, where it names one of ours; else the one this agent was started with."""
        name = wanted if wanted and ("/" in wanted or ":" in wanted) else self._default_model
        if name not in self._models:
            self._models[name] = open_model(name, folder=Path(__file__).parent)
        return self._models[name]

    async def _answer(self, chat: Chat, model: Model, events: list[dict[str, Any]]) -> str:
        results: list[str] = []
        for _ in range(MOST_STEPS):
            step = await self._decide(chat, model, results)
            if step["tool"] == "none":
                return str(step["say"])
            events.append(
                {"request": {"function": {"name": step["tool"]}, "arguments": step["arguments"], "context": ""}}
            )
            result = await self._act(chat.user, step["tool"], step["arguments"])
            events.append({"output": result})
            results.append(f"{step['tool']} -> {result}")
        return "I am going round in circles; could you put that differently?"

    async def _decide(self, chat: Chat, model: Model, results: list[str]) -> dict[str, Any]:
        lines = [f"{line['role']}: {line['content']}" for line in chat.history]
        known = await self._memory.run(
            "MATCH (:User {id: $user})-[:HAS]->(f:Fact) RETURN f.text AS text", user=chat.user
        )
        facts = ["Known about the user:", *(row["text"] for row in known)]
        prompt = "\n".join([*facts, "Conversation:", *lines, "Tool results:", *results, "Next step?"])
        reply = await model.complete(
            ModelRequest(
                messages=(ChatMessage(role="system", text=INSTRUCTIONS), ChatMessage(role="user", text=prompt)),
                schema=STEP,
                schema_name="step",
                temperature=0.0,
                purpose="agent",
                cache=False,
            )
        )
        step: dict[str, Any] = json.loads(reply.text)
        return step

    async def _act(self, user: str, tool: str, arguments: dict[str, Any]) -> str:
        if tool == "create_reminder":
            await self._memory.run(
                "MERGE (u:User {id: $user}) "
                "CREATE (u)-[:HAS]->(:Reminder {title: $title, when: $when, timezone: $timezone})",
                user=user,
                title=arguments.get("title", ""),
                when=arguments.get("when", ""),
                timezone=arguments.get("timezone", ""),
            )
            return f"created {arguments.get('title', '')!r}"
        if tool == "list_reminders":
            rows = await self._memory.run(
                "MATCH (:User {id: $user})-[:HAS]->(r:Reminder) RETURN r.title AS title, r.when AS when", user=user
            )
            return json.dumps(rows)
        await self._remember(user, str(arguments.get("fact", "")))
        return "remembered"

    async def _remember(self, user: str, text: str) -> None:
        await self._memory.run(
            "MERGE (u:User {id: $user}) CREATE (u)-[:HAS]->(:Fact {text: $text})", user=user, text=text
        )


@web.middleware
async def key_required(request: web.Request, handler: Any) -> web.StreamResponse:
    """Let in only those who have the key, where there is one."""
    wanted = os.environ.get("REMINDERS_API_KEY")
    if wanted and request.headers.get("X-API-KEY") != wanted:
        raise web.HTTPUnauthorized(text="wrong or missing X-API-KEY")
    response: web.StreamResponse = await handler(request)
    return response


async def serve(options: argparse.Namespace) -> None:
    """Answer until stopped."""
    memory = Memory(options.graph, os.environ.get("NEO_USERNAME", "neo4j"), os.environ.get("NEO_PASSWORD", ""))
    agent = Agent(memory, options.model)
    app = web.Application(middlewares=[key_required])
    app.router.add_put("/api/v1/chat/sessions", agent.open)
    app.router.add_put("/api/v1/chat/messages", agent.message)
    app.router.add_get("/api/v1/chat/objectContexts/{id}", agent.context)
    app.router.add_put("/api/v1/memories", agent.ingest)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", options.port).start()
    print(f"listening on http://127.0.0.1:{options.port}", flush=True)
    await asyncio.Event().wait()


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8081)
    parser.add_argument("--model", default="scripted:brain.yml")
    parser.add_argument("--graph", default=os.environ.get("NEO_URI", "bolt://127.0.0.1:7687"))
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
