"""The fence: the one way by which text that is not ours enters a prompt.

A fenced value is written as JSON (one line per element of a list) between two lines that carry a nonce:

    <<<reply 5f0c…
    "what the agent said, as a JSON string"
    reply 5f0c…>>>

The nonce is 128 random bits made after the text was written, so no text can hold it; inside JSON strings a line end
is `\\n`, so no text can begin a line of its own. Control, zero-width and direction-changing characters become JSON
escapes: the model sees them, and `unfence` gives back exactly what went in.
"""

from __future__ import annotations

import json
import re
import secrets
from typing import Any

import msgspec

TEXT_CHARS = 40_000
"""The longest single text shown to a judge; the rest is cut, and said to be cut."""
BLOCK_CHARS = 400_000
"""The longest block; the longest texts in it are cut harder until it fits."""
_SHORTEST_CUT = 200

_UNSEEN = re.compile(
    "[\x7f-\x9f\u00ad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff9-\uffff\ud800-\udfff\U000e0000-\U000e01ef]"
)
_encode = msgspec.json.Encoder().encode


def fresh_nonce() -> str:
    """128 random bits, as 32 hexadecimal digits: the name of one call and the key of its fences."""
    return secrets.token_hex(16)


def encode(value: Any, *, text_chars: int = TEXT_CHARS, block_chars: int = BLOCK_CHARS) -> str:
    """Write a value as JSON that holds no unseen character, cutting what is too long and saying so.

    Encoding does not depend on the nonce: a value that many calls show is encoded once.
    """
    encoded = _write(cut(value, text_chars))
    while len(encoded) > block_chars and text_chars > _SHORTEST_CUT:
        text_chars = max(_SHORTEST_CUT, text_chars // 2)
        encoded = _write(cut(value, text_chars))
    if len(encoded) > block_chars:
        return _write(_cut_text(encoded, block_chars))
    return encoded


def enclose(label: str, encoded: str, nonce: str) -> str:
    """Put an encoded value between the two lines of its fence."""
    return f"<<<{label} {nonce}\n{encoded}\n{label} {nonce}>>>"


def fence(label: str, value: Any, nonce: str) -> str:
    """Fence any plain value: encode it, then enclose it."""
    return enclose(label, encode(value), nonce)


def unfence(prompt: str, nonce: str) -> list[tuple[str, Any]]:
    """Read the fenced values of a prompt back, in order: what a careful reader of the prompt would take as data."""
    found: list[tuple[str, Any]] = []
    lines = iter(prompt.split("\n"))
    for line in lines:
        if not (line.startswith("<<<") and line.endswith(f" {nonce}")):
            continue
        label = line[3 : -len(nonce) - 1]
        closing = f"{label} {nonce}>>>"
        body: list[str] = []
        for inner in lines:
            if inner == closing:
                break
            body.append(inner)
        else:
            raise ValueError(f"the fence {label!r} is never closed")
        found.append((label, json.loads("\n".join(body))))
    return found


def cut(value: Any, chars: int) -> Any:
    """Cut every text in plain data to a length, saying how much was cut."""
    if isinstance(value, str):
        return value if len(value) <= chars else _cut_text(value, chars)
    if isinstance(value, dict):
        return {cut(str(key), chars): cut(item, chars) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [cut(item, chars) for item in value]
    return value


def was_cut(encoded: str) -> bool:
    """Whether an encoded value says that something was cut."""
    return "[truncated " in encoded


def _cut_text(text: str, chars: int) -> str:
    return f"{text[:chars]}[truncated {len(text) - chars} characters]"


def _write(value: Any) -> str:
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(_write_one(item) for item in value) + "\n]"
    return _write_one(value)


def _write_one(value: Any) -> str:
    try:
        encoded = _encode(value).decode()
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError):
        # Lone surrogates, and values of an in-process agent that JSON does not know.
        encoded = _write_anything(value)
    return encoded if encoded.isascii() and "\x7f" not in encoded else _UNSEEN.sub(_escape, encoded)


def _write_anything(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, default=repr)
    except (ValueError, RecursionError):
        return json.dumps(repr(type(value)) + " that cannot be shown")


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
