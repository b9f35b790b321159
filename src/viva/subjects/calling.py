"""How an agent written in Python wants to be called: decided once, by the names of its parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from viva.core.data import to_plain
from viva.core.errors import SuiteError
from viva.core.transcript import Message
from viva.ports.subject import Opening
from viva.registry import suggest

TEXT_NAMES = frozenset({"text", "message", "prompt", "question", "query", "content"})
OTHER_NAMES = frozenset({"input", "data", "history", "messages", "session", "session_id", "model", "case", "opening"})


NOTHING: Mapping[str, Any] = {}


class CallState:
    """What a call may ask for: the message, and what the session knows."""

    __slots__ = ("history", "memory", "message", "opening", "session_id")

    def __init__(self, opening: Opening, session_id: str) -> None:
        self.opening = opening
        self.session_id = session_id
        self.message = Message(text="")
        self.history: list[tuple[str, str]] = []
        self.memory: dict[str, Any] = {}
        """A dict of the session's own, for agents written as a function."""


Pick = Callable[[CallState], Any]


class Calling:
    """The values a function takes, in its own order."""

    def __init__(
        self, function: Callable[..., Any], name: str, *, skip_self: bool = False, given: Collection[str] = ()
    ) -> None:
        self._positional: list[Pick] = []
        self._named: dict[str, Pick] = {}
        parameters = _parameters(function, name)[1 if skip_self else 0 :]
        for index, parameter in enumerate(parameters):
            if parameter.name in given:
                continue
            pick = _pick(parameter, index == 0)
            if pick is None:
                if parameter.default is inspect.Parameter.empty:
                    raise _unknown(parameter, name)
            elif parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                self._named[parameter.name] = pick
            else:
                self._positional.append(pick)
        if not self._positional and not self._named:
            raise SuiteError(f"{name} takes no message", hint="give it a parameter called text")
        self._is_text_alone = self._positional == [_text] and not self._named and not given

    def bind(
        self, function: Callable[..., Any], state: CallState, given: Mapping[str, Any] = NOTHING
    ) -> Callable[[], Any]:
        """The call, ready to be made; every value is a fresh copy."""
        if self._is_text_alone:
            text = state.message.text
            return lambda: function(text)
        values = [pick(state) for pick in self._positional]
        named = {key: pick(state) for key, pick in self._named.items()}
        return lambda: function(*values, **named, **copy(given))


def method_of(target: Any, label: str) -> tuple[Any, bool]:
    """The callable that takes messages, and whether its first parameter is the instance that does not exist yet."""
    if not inspect.isclass(target):
        return (target.send if hasattr(target, "send") else target), False
    for name in ("send", "__call__"):
        for home in target.__mro__:
            if home is not object and name in vars(home):
                raw = vars(home)[name]
                return getattr(target, name), not isinstance(raw, staticmethod | classmethod)
    raise SuiteError(f"{label} is no agent: its class has neither send() nor __call__()")


def is_async(function: Any) -> bool:
    """Whether calling it gives a coroutine, wrappers and callable objects included."""
    function = inspect.unwrap(function)
    while hasattr(function, "func") and not inspect.isroutine(function):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _parameters(function: Callable[..., Any], name: str) -> list[inspect.Parameter]:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return [inspect.Parameter("text", inspect.Parameter.POSITIONAL_ONLY)]
    skipped = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = [parameter for parameter in signature.parameters.values() if parameter.kind not in skipped]
    if found:
        return found
    if any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in signature.parameters.values()):
        return [inspect.Parameter("text", inspect.Parameter.POSITIONAL_ONLY)]
    raise SuiteError(f"{name} takes no message", hint="give it a parameter called text")


def _pick(parameter: inspect.Parameter, is_first: bool) -> Pick | None:
    if parameter.annotation is Message or str(parameter.annotation).rpartition(".")[2] == "Message":
        return _message
    if parameter.name in PICKS:
        return PICKS[parameter.name]
    return _text if is_first else None


def _unknown(parameter: inspect.Parameter, name: str) -> SuiteError:
    known = sorted(TEXT_NAMES | OTHER_NAMES)
    return SuiteError(f"{name}: viva has nothing to give for {parameter.name!r}", hint=suggest(parameter.name, known))


def copy(value: Any) -> Any:
    """A fresh copy of plain data, so that an agent that changes its input changes nothing of ours."""
    return value if value is None or isinstance(value, str) else to_plain(value)


def _text(state: CallState) -> str:
    return state.message.text


def _message(state: CallState) -> Message:
    message = state.message
    return message if message.data is None else Message(text=message.text, data=copy(message.data), role=message.role)


def _input(state: CallState) -> Any:
    return state.message.text if state.message.data is None else copy(state.message.data)


def _data(state: CallState) -> Any:
    return copy(state.message.data)


def _history(state: CallState) -> list[dict[str, str]]:
    return [{"role": role, "content": text} for role, text in state.history]


def _messages(state: CallState) -> list[dict[str, str]]:
    return [*_history(state), {"role": "user", "content": state.message.text}]


def _opening(state: CallState) -> Opening:
    return msgspec.convert(to_plain(state.opening), Opening)


PICKS: dict[str, Pick] = {
    **dict.fromkeys(TEXT_NAMES, _text),
    "input": _input,
    "data": _data,
    "history": _history,
    "messages": _messages,
    "session": lambda state: state.memory,
    "session_id": lambda state: state.session_id,
    "model": lambda state: state.opening.model,
    "case": lambda state: to_plain(state.opening.case),
    "opening": _opening,
}
