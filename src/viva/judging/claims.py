"""Taking texts apart into claims, and checking claims against a text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.core.errors import JudgeError
from viva.judging.ask import Asked
from viva.judging.fence import fence, fresh_nonce
from viva.judging.judge import ModelJudge
from viva.judging.schema import answers_schema, claims_schema, confident_schema
from viva.judging.verdict import Finding, read_claims, read_confident, read_findings

SUPPORT = ("supported", "not_supported")
YES_NO = ("yes", "no")


async def take_apart(judge: ModelJudge, text: Any, query: Any = None) -> Asked[tuple[str, ...]]:
    """The claims that a text makes."""
    nonce = fresh_nonce()
    return await judge.ask(
        _parts(judge, "claims", {"text": text, "query": query}, nonce),
        reply=judge.templates.get("reply_claims").render({"id": nonce}),
        nonce=nonce,
        schema=claims_schema(),
        read=lambda said: read_claims(said, nonce),
    )


async def support(judge: ModelJudge, claims: Sequence[str], text: Any) -> Asked[tuple[bool, ...]]:
    """Whether a text supports each of several claims, in their order."""
    if not claims:
        return Asked(())
    nonce = fresh_nonce()
    numbered = {str(number): claim for number, claim in enumerate(claims, start=1)}
    menus = dict.fromkeys(numbered, SUPPORT)
    return await judge.ask(
        _parts(judge, "support", {"claims": numbered, "text": text}, nonce),
        reply=judge.templates.get("reply_batch").render({"id": nonce, "first": "1"}),
        nonce=nonce,
        schema=answers_schema(menus),
        read=lambda said: _all_of(read_findings(said, nonce, menus)),
    )


async def compare(judge: ModelJudge, query: Any, expected: Any, response: Any) -> Asked[Finding]:
    """Whether a reply gives the same answer as a correct one, and how sure the judge is."""
    nonce = fresh_nonce()
    return await judge.ask(
        _parts(judge, "equivalence", {"query": query, "expected": expected, "response": response}, nonce),
        reply=judge.templates.get("reply_confident").render({"id": nonce, "answers": YES_NO}),
        nonce=nonce,
        schema=confident_schema(YES_NO),
        read=lambda said: read_confident(said, nonce, YES_NO),
    )


def _parts(judge: ModelJudge, name: str, values: dict[str, Any], nonce: str) -> list[tuple[str, str]]:
    template = judge.templates.get(name)
    template.expect(values)
    return template.parts({key: "" if value is None else fence(key, value, nonce) for key, value in values.items()})


def _all_of(found: dict[str, Any]) -> tuple[bool, ...]:
    for number, one in found.items():
        if isinstance(one, JudgeError):
            raise one
        if one is None:
            raise JudgeError(f"the reply says nothing about claim {number}")
    return tuple(one.answer == "supported" for one in found.values())
