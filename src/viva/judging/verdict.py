"""Reading what a judge wrote, strictly: a verdict on the menu that answers this very call, or an error with a name.

What is accepted, and nothing else:

* one JSON object, alone, in a code fence, or with prose around it; a leading `<think>…</think>` is dropped;
* a comma before a closing bracket is forgiven;
* the object has exactly the keys asked for, and `id` repeats the id of the call;
* the answer is on the menu. Case does not matter, and a space or a hyphen may stand for the underscore; where the
  menu holds numbers, a JSON number of the same value is the same answer.

Several objects that say the same are one verdict; two that differ are a contradiction, whichever came last.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from viva.core.data import Data
from viva.core.errors import JudgeError
from viva.core.text import storable
from viva.ports.model import ModelReply

LONGEST_REPLY = 200_000
LONGEST_REASON = 4_000
MOST_CLAIMS = 200
MET, NOT_MET, CANNOT_TELL = "met", "not_met", "cannot_tell"
MENU = (MET, NOT_MET, CANNOT_TELL)

_THOUGHTS = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_CODE = re.compile(r"\A```[a-zA-Z]*\s*\n(.*?)\n?\s*```\Z", re.DOTALL)
_REFUSAL = re.compile(
    r"\A\W*(?:i(?:'|’)?m (?:really |very )?(?:sorry|unable|not able)|i am (?:sorry|unable|not able)|sorry\b|"
    r"i (?:can(?:no|')?t|can’t|won(?:'|’)t|will not|must decline|refuse)|as an ai\b|unfortunately, i\b|"
    r"(?:this|the) (?:content|request) (?:violates|was (?:blocked|filtered)))",
    re.IGNORECASE,
)
_SAYS_NOT = re.compile(
    r"\b(?:is|was|are|were|has|have)(?: clearly| therefore| simply)?(?: not|n't)(?: been)? "
    r"(?:met|satisfied|fulfilled|present)\b"
    r"|\b(?:does|did)(?: not|n't) (?:meet|satisfy|fulfil)|\bfail(?:s|ed)? to (?:meet|satisfy|fulfil)|\bnot[_ ]met\b",
    re.IGNORECASE,
)
_SAYS_MET = re.compile(
    r"\b(?:is|was|are|has been)(?: clearly| fully| therefore| thus)* (?:met|satisfied|fulfilled)\b"
    r"|\b(?:fully|clearly) (?:meets|satisfies|fulfils)\b",
    re.IGNORECASE,
)


class Finding(Data, frozen=True):
    """One answer as it was read."""

    answer: str
    reason: str = ""
    extra: dict[str, Any] = {}


def read_finding(reply: ModelReply, call: str, menu: Sequence[str], extra: Sequence[str] = ()) -> Finding:
    """Read the answer to a question about one thing. Raises JudgeError."""
    plain = None if extra else _plainly(reply)
    if plain is not None and plain.id == call:
        return _answered(plain.answer, plain.reason or "", menu)
    found = read_object(reply, call, ("answer", "reason", *extra), optional=("reason",))
    return _finding(found, menu, extra)


def read_findings(
    reply: ModelReply, call: str, menus: Mapping[str, Sequence[str]]
) -> dict[str, Finding | JudgeError | None]:
    """Read the answers to a question about several things: None for one that is missing. Raises JudgeError."""
    found = read_object(reply, call, ("verdicts",))
    items = found["verdicts"]
    if not isinstance(items, list):
        _unreadable("'verdicts' is not a list")
    results: dict[str, Finding | JudgeError | None] = dict.fromkeys(menus)
    for item in items:
        name = _criterion_of(item, menus)
        if results[name] is not None:
            results[name] = JudgeError(f"two verdicts on {name}", kind="judge_contradiction")
            continue
        try:
            results[name] = _finding(item, menus[name], ())
        except JudgeError as error:
            results[name] = error
    return results


def read_claims(reply: ModelReply, call: str) -> tuple[str, ...]:
    """Read a list of claims. Raises JudgeError."""
    items = read_object(reply, call, ("claims",))["claims"]
    if not isinstance(items, list) or not all(isinstance(item, str) and item.strip() for item in items):
        _unreadable("'claims' is not a list of texts")
    if len(items) > MOST_CLAIMS:
        _unreadable(f"{len(items)} claims; at most {MOST_CLAIMS} are read")
    return tuple(storable(item) for item in items)


def read_confident(reply: ModelReply, call: str, menu: Sequence[str]) -> Finding:
    """Read an answer with the confidence in it, a whole number from 0 to 100. Raises JudgeError."""
    found = read_finding(reply, call, menu, ("confidence",))
    confidence = found.extra["confidence"]
    if isinstance(confidence, bool) or not isinstance(confidence, int) or not 0 <= confidence <= 100:
        shown = json.dumps(confidence, default=str)[:80]
        raise JudgeError(f"the confidence {shown} is not a whole number from 0 to 100", kind="judge_off_menu")
    return found


def read_object(reply: ModelReply, call: str, keys: Sequence[str], *, optional: Sequence[str] = ()) -> dict[str, Any]:
    """Find the one object of a reply that answers this call and holds only what was asked. Raises JudgeError."""
    _check_ending(reply)
    text = _THOUGHTS.sub("", reply.text, count=1).strip()
    found = _one_object(text)
    _check_call(found, call)
    _check_keys(found, ("id", *keys), optional)
    return found


def reason_flags(answer: str, reason: str) -> tuple[str, ...]:
    """What is odd about a reason: empty, or saying the opposite of the answer. A flag changes no number."""
    if not reason.strip():
        return ("reason_empty",)
    if answer == MET and _SAYS_NOT.search(reason) and not _SAYS_MET.search(reason):
        return ("reason_contradicts",)
    if answer == NOT_MET and _SAYS_MET.search(reason) and not _SAYS_NOT.search(reason):
        return ("reason_contradicts",)
    return ()


def on_menu(answer: Any, menu: Sequence[str]) -> str:
    """The entry of the menu that an answer names. Raises JudgeError when there is none, or when it is no answer."""
    if isinstance(answer, str):
        if answer in menu:
            return answer
        plain = _plain(answer)
        same = [entry for entry in menu if _plain(entry) == plain]
    elif isinstance(answer, int | float) and not isinstance(answer, bool):
        same = [entry for entry in menu if _number(entry) == answer]
    else:
        same = []
    if len(same) == 1:
        return same[0]
    shown = json.dumps(answer, default=str)[:80]
    raise JudgeError(f"the answer {shown} is not one of {', '.join(menu)}", kind="judge_off_menu")


class _Plain(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: str
    answer: str
    reason: str | msgspec.UnsetType = msgspec.UNSET


_plain_decoder = msgspec.json.Decoder(_Plain)
_QUOTES_PER_ENTRY = 4


def _plainly(reply: ModelReply) -> _Plain | None:
    """Read the common case fast: one flat object, each key once, nothing around it. None is no verdict on the rest."""
    text = reply.text
    if reply.refused or reply.finish != "stop" or len(text) > LONGEST_REPLY or "\\" in text:
        return None
    try:
        found = _plain_decoder.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    # The decoder keeps the last of two equal keys; where nothing is escaped, quotes tell how many were written.
    entries = 2 if found.reason is msgspec.UNSET else 3
    return found if text.count('"') == entries * _QUOTES_PER_ENTRY else None


def _check_ending(reply: ModelReply) -> None:
    if reply.refused or reply.finish in ("refusal", "content_filter"):
        raise JudgeError(f"the judge did not answer ({reply.finish}): {reply.text[:200]}", kind="judge_refused")
    if not reply.text.strip():
        raise JudgeError("the judge's reply is empty", kind="judge_refused")
    if reply.finish == "length":
        _unreadable("the reply was cut off at the token limit")
    if len(reply.text) > LONGEST_REPLY:
        _unreadable(f"the reply has {len(reply.text)} characters")


def _one_object(text: str) -> dict[str, Any]:
    whole = _CODE.match(text)
    body = whole.group(1) if whole and "```" not in whole.group(1) else text
    if body.startswith("{") and body.endswith("}"):
        try:
            return _load(body)
        except ValueError:
            pass  # Forgiven commas, or several objects in a row: read them one by one below.
    elif body[:1] in ("[", '"') and _is_json(body):
        _unreadable("the reply is JSON, but not an object")
    return _the_verdict([_load_forgiving(piece) for piece in _objects_in(body)], text)


def _the_verdict(found: list[dict[str, Any]], text: str) -> dict[str, Any]:
    if not found:
        if _REFUSAL.match(text):
            raise JudgeError(f"the judge refused: {text[:200]}", kind="judge_refused")
        _unreadable(f"no JSON object in the reply: {text[:200]}")
    first = found[0]
    if any(other != first for other in found[1:]):
        raise JudgeError(f"the reply holds {len(found)} objects that differ", kind="judge_contradiction")
    return first


def _objects_in(text: str) -> list[str]:
    """The outermost `{…}` pieces of a text, found with an eye for strings. Raises JudgeError for one left open."""
    pieces: list[str] = []
    start = text.find("{")
    while start >= 0:
        end = _end_of_object(text, start)
        if end < 0:
            _unreadable("a JSON object is not closed")
        pieces.append(text[start:end])
        if len(pieces) > 20:
            _unreadable("more than 20 JSON objects in the reply")
        start = text.find("{", end)
    return pieces


_SIGNS = re.compile(r'["\\{}]')


def _end_of_object(text: str, start: int) -> int:
    depth, in_string, skip = 0, False, -1
    for sign in _SIGNS.finditer(text, start):
        place, mark = sign.start(), sign.group()
        if place == skip:
            continue
        if mark == "\\":
            skip = place + 1 if in_string else -1
        elif mark == '"':
            in_string = not in_string
        elif not in_string:
            depth += 1 if mark == "{" else -1
            if depth == 0:
                return place + 1
    return -1


def _load_forgiving(piece: str) -> dict[str, Any]:
    try:
        return _load(piece)
    except ValueError:
        pass
    try:
        return _load(_without_last_commas(piece))
    except ValueError as error:
        _unreadable(f"not JSON: {error}")


_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"|,(?=\s*[}\]])', re.DOTALL)


def _without_last_commas(piece: str) -> str:
    return _COMMA.sub(lambda match: match.group() if match.group() != "," else "", piece)


def _load(text: str) -> dict[str, Any]:
    try:
        found = _decoder.decode(text)
    except RecursionError:
        _unreadable("the reply is nested too deeply")
    if not isinstance(found, dict):
        raise ValueError("not an object")
    return found


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JudgeError("the reply's object says a key twice", kind="judge_contradiction")
    return found


def _no_constant(text: str) -> NoReturn:
    raise JudgeError(f"{text} is not an answer", kind="judge_off_menu")


_decoder = json.JSONDecoder(object_pairs_hook=_each_key_once, parse_constant=_no_constant)


def _check_call(found: Mapping[str, Any], call: str) -> None:
    if found.get("id") != call:
        said = "no id" if "id" not in found else "another id"
        raise JudgeError(f"the reply carries {said}: it does not answer this call", kind="judge_wrong_call")


def _check_keys(found: Mapping[str, Any], keys: Sequence[str], optional: Sequence[str]) -> None:
    extra = [key for key in found if key not in keys]
    if extra:
        _unreadable(f"the reply holds what was not asked for: {', '.join(extra)[:200]}")
    missing = [key for key in keys if key not in found and key not in optional]
    if missing:
        _unreadable(f"the reply lacks {', '.join(missing)}")


def _finding(found: Mapping[str, Any], menu: Sequence[str], extra: Sequence[str]) -> Finding:
    reason = found.get("reason", "")
    if not isinstance(reason, str):
        _unreadable("'reason' is not a text")
    more = {key: found[key] for key in extra}
    return _answered(found["answer"], reason, menu, more)


def _answered(answer: Any, reason: str, menu: Sequence[str], more: dict[str, Any] | None = None) -> Finding:
    return Finding(answer=on_menu(answer, menu), reason=storable(reason[:LONGEST_REASON]), extra=more or {})


def _criterion_of(item: Any, menus: Mapping[str, Sequence[str]]) -> str:
    if not isinstance(item, dict):
        _unreadable("a verdict is not an object")
    _check_keys(item, ("criterion", "answer", "reason"), ("reason",))
    name = item["criterion"]
    if not isinstance(name, str) or name not in menus:
        raise JudgeError(f"a verdict on {json.dumps(name)[:80]}, which was not asked", kind="judge_wrong_call")
    return name


def _plain(answer: str) -> str:
    return answer.strip().lower().replace(" ", "_").replace("-", "_")


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _unreadable(detail: str) -> NoReturn:
    raise JudgeError(storable(detail), kind="judge_unreadable")
