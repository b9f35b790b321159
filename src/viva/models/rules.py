"""Rules that answer prompts: the readable YAML behind `scripted:FILE` and the loopback model server.

The format is described in docs/reference/models.md. The first rule whose conditions all hold answers.
"""

from __future__ import annotations

import hashlib
import threading
from typing import Any, Literal

import msgspec
import yaml

from viva.core.data import Data, to_json
from viva.core.errors import SuiteError
from viva.core.text import shorten
from viva.core.usage import Usage
from viva.models.patterns import Captured, compile_pattern, fill

MAX_BYTES = 2_000_000

Fault = Literal["", "malformed", "empty", "reset", "hang", "drip", "truncated"]


class When(Data, frozen=True, forbid_unknown_fields=True):
    """Conditions on a prompt; all that are given must hold."""

    contains: str | tuple[str, ...] = ()
    """Texts that occur anywhere in the messages."""
    lacks: str | tuple[str, ...] = ()
    last: str | tuple[str, ...] = ()
    """Texts that occur in the last message."""
    regex: str = ""
    purpose: str = ""
    schema: str = ""
    """The name of the asked schema."""
    model: str = ""
    turn: int | None = None
    """How many replies of the assistant the prompt already holds."""


class ForEach(Data, frozen=True, forbid_unknown_fields=True):
    """One item for every match of a pattern in the messages; the list of items fills `$items`."""

    find: str
    item: Any


class Rule(Data, frozen=True, forbid_unknown_fields=True):
    """One rule: when it applies, and what it answers."""

    when: When = When()
    reply: Any = None
    """A text; a mapping, answered as JSON; or a list of these, answered one after the other, the last for ever."""
    refuse: bool | str = False
    finish: str = "stop"
    status: int = 200
    headers: dict[str, str | int | float] = {}
    body: Any = None
    """Of an error reply."""
    fault: Fault = ""
    latency_ms: float = 0.0
    capture: str | dict[str, str] = ""
    """Patterns looked for in the messages; their groups fill `$1`, `$2`, … and their names fill `$name`."""
    for_each: ForEach | None = None
    per: str = ""
    """A pattern: sequences and `times` are counted apart for each text it captures (one conversation, say)."""
    times: int | None = None
    """Answer so often, then let later rules answer."""
    usage: Usage | None = None


class Prompt(msgspec.Struct, frozen=True):
    """What a rule may look at."""

    messages: tuple[tuple[str, str], ...]
    """Role and text of each message."""
    model: str = ""
    schema_name: str = ""
    purpose: str = ""
    nonce: str = ""

    @property
    def text(self) -> str:
        """All messages, one after the other."""
        return "\n".join(text for _, text in self.messages)

    @property
    def last(self) -> str:
        """The last message."""
        return self.messages[-1][1] if self.messages else ""


class Answer(msgspec.Struct, frozen=True):
    """What a rule answered."""

    text: str = ""
    refused: bool = False
    finish: str = "stop"
    status: int = 200
    headers: dict[str, str] = {}
    body: bytes = b""
    fault: Fault = ""
    latency_s: float = 0.0
    usage: Usage | None = None


class Rules:
    """A list of rules, ready to answer from any thread."""

    def __init__(self, rules: tuple[Rule, ...], *, latency_ms: float = 0.0, where: str = "") -> None:
        self.where = where
        self.hash = hashlib.sha256(to_json((rules, latency_ms))).hexdigest()[:16]
        self._rules = [_Ready(rule, f"{where}: rule {number}", latency_ms) for number, rule in enumerate(rules, 1)]
        self._lock = threading.Lock()

    def answer(self, prompt: Prompt) -> Answer | None:
        """The answer of the first rule that applies, or None."""
        text = prompt.text
        for ready in self._rules:
            if ready.applies(prompt, text):
                with self._lock:
                    turn = ready.take(text)
                if turn is not None:
                    return ready.answer(prompt, text, turn)
        return None


class _Ready:
    """A rule with its patterns compiled and its uses counted."""

    def __init__(self, rule: Rule, where: str, latency_ms: float) -> None:
        when = rule.when
        self._rule = rule
        self._contains, self._lacks, self._last = (_texts(t) for t in (when.contains, when.lacks, when.last))
        self._regex = compile_pattern(when.regex, where) if when.regex else None
        captures = {"": rule.capture} if isinstance(rule.capture, str) else rule.capture
        self._captures = {name: compile_pattern(text, where) for name, text in captures.items() if text}
        self._each = compile_pattern(rule.for_each.find, where) if rule.for_each is not None else None
        self._per = compile_pattern(rule.per, where) if rule.per else None
        self._replies = rule.reply if isinstance(rule.reply, list) else [rule.reply]
        self._latency_s = (rule.latency_ms or latency_ms) / 1000
        self._used: dict[str, int] = {}
        if not self._replies or (rule.reply is None and not rule.refuse and not rule.fault and rule.status == 200):
            raise SuiteError("it answers nothing", where=where, hint="give it reply, refuse, status or fault")

    def applies(self, prompt: Prompt, text: str) -> bool:
        when = self._rule.when
        return (
            all(part in text for part in self._contains)
            and not any(part in text for part in self._lacks)
            and (not self._last or all(part in prompt.last for part in self._last))
            and (not when.purpose or when.purpose == prompt.purpose)
            and (not when.schema or when.schema == prompt.schema_name)
            and (not when.model or when.model == prompt.model)
            and (when.turn is None or when.turn == sum(role == "assistant" for role, _ in prompt.messages))
            and (self._regex is None or self._regex.search(text) is not None)
        )

    def take(self, text: str) -> int | None:
        """Count one use; None when the rule is used up."""
        found = self._per.search(text) if self._per is not None else None
        counted = found.group(1 if found.re.groups else 0) if found else ""
        used = self._used.get(counted, 0)
        if self._rule.times is not None and used >= self._rule.times:
            return None
        self._used[counted] = used + 1
        return used

    def answer(self, prompt: Prompt, text: str, turn: int) -> Answer:
        rule = self._rule
        captured = Captured(self._captures, text, prompt.nonce, prompt.last)
        if rule.refuse:
            said = rule.refuse if isinstance(rule.refuse, str) else "I can't help with that."
            return Answer(text=said, refused=True, finish="refusal", latency_s=self._latency_s, usage=rule.usage)
        if self._each is not None and rule.for_each is not None:
            captured.items = [fill(rule.for_each.item, captured.at(found)) for found in self._each.finditer(text)]
        reply = self._replies[min(turn, len(self._replies) - 1)]
        return Answer(
            text=_written(fill(reply, captured)),
            finish="length" if rule.fault == "truncated" else rule.finish,
            status=rule.status,
            headers={name.lower(): str(value) for name, value in rule.headers.items()},
            body=_error_body(rule),
            fault=rule.fault,
            latency_s=self._latency_s,
            usage=rule.usage,
        )


def read_rules(raw: bytes, where: str) -> Rules:
    """Read rules from YAML: a list of rules, or `{latency_ms, rules}`. Raises SuiteError."""
    if len(raw) > MAX_BYTES:
        raise SuiteError(f"larger than {MAX_BYTES:,} bytes", where=where)
    try:
        data = yaml.load(raw, Loader=_PlainLoader)  # noqa: S506  (a SafeLoader that allows less)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise SuiteError(f"not readable as YAML: {shorten(str(error), 300)}", where=where) from error
    whole = data if isinstance(data, dict) else {"rules": data}
    try:
        found = msgspec.convert(whole, _File, strict=True)
    except (msgspec.ValidationError, RecursionError) as error:
        raise SuiteError(f"not a list of rules: {error}", where=where, hint="see docs/reference/models.md") from error
    return Rules(found.rules, latency_ms=found.latency_ms, where=where)


class _File(Data, frozen=True, forbid_unknown_fields=True):
    rules: tuple[Rule, ...]
    latency_ms: float = 0.0


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases (they make bombs) and without repeated keys (the last would win silently)."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed here")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        repeated = next((key for key in keys if keys.count(key) > 1), None)
        if repeated is not None:
            raise yaml.YAMLError(f"line {node.start_mark.line + 1}: the key {repeated!r} occurs twice")
        return super().construct_mapping(node, deep)


def _texts(texts: str | tuple[str, ...]) -> tuple[str, ...]:
    return (texts,) if isinstance(texts, str) else texts


def _written(reply: Any) -> str:
    if reply is None:
        return ""
    return reply if isinstance(reply, str) else to_json(reply).decode()


def _error_body(rule: Rule) -> bytes:
    if rule.body is None:
        return to_json({"error": {"message": f"scripted status {rule.status}", "type": "scripted"}})
    return rule.body.encode() if isinstance(rule.body, str) else to_json(rule.body)
