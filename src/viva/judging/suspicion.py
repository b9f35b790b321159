"""A look for text that talks to the judge. It only raises a flag; it edits nothing and changes no number."""

from __future__ import annotations

import re

_PATTERNS: dict[str, str] = {
    "instruction": (
        r"\b(?:ignore|disregard|forget|override|bypass)\b[^.\n]{0,40}"
        r"\b(?:instructions?|rubric|criteri(?:on|a)|above|previous|prior|rules?|prompt|guidelines?)\b"
    ),
    "grading": (
        r"\b(?:mark|grade|score|rate|judge|evaluate|consider|treat|count|give)\b[^.\n]{0,40}"
        r"\b(?:all criteria|every criterion|the criterion|as (?:met|satisfied|passed|correct)"
        r"|full (?:marks?|credit|score)|perfect score|highest (?:score|grade|rating)|10/10|5/5|100%)"
    ),
    "verdict": (
        r"""["'](?:met|answer|verdict|satisfied|score|grade|passed?|rating|judge?ment)["']\s*:"""
        r"|\b(?:GRADE|VERDICT|SCORE|RATING|FINAL ANSWER|JUDGE?MENT)\s*:"
    ),
    "role": (
        r"<\|?(?:im_start|im_end|system|assistant|user|endoftext|eot_id)\|?>|\[/?(?:INST|SYS|SYSTEM)\]|<</?SYS>>"
        r"|(?:^|\n)\s*(?:#+\s*)?(?:system|assistant|developer)\s*(?:prompt|message|note|override)?\s*:"
    ),
    "fence": (
        r"</?(?:response|reply|submission|answer|data|transcript|document|output|evidence)>|\[/?(?:BEGIN|END)[ _]"
        r"|<<<|>>>|\bEND OF (?:DATA|TRANSCRIPT|RESPONSE|REPLY|SUBMISSION)\b"
    ),
    "judge": (
        r"\b(?:dear|attention|hey|hello|note (?:to|for)|message (?:to|for))\s+(?:the\s+)?"
        r"(?:judge|grader|evaluator|examiner|assessor|reviewer)\b"
        r"|\b(?:the|head|chief) (?:grader|evaluator|examiner|assessor)\b|\bthe rubric\b|\b(?:not_met|cannot_tell)\b"
        r"|\byou are (?:now|no longer)\b|\bnew (?:instructions?|task|rules?)\b|\bas the (?:judge|grader|evaluator)\b"
        r"|\bcriteri(?:on is|a are) (?:fully |clearly |all |hereby )*(?:met|satisfied)\b"
    ),
    "unseen": "[\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]",
}
_KEYWORDS: dict[str, tuple[str, ...]] = {
    "instruction": ("ignore", "disregard", "forget", "override", "bypass"),
    "grading": (
        "criteri",
        "as met",
        "as satis",
        "as pass",
        "as corr",
        "full ",
        "perfect",
        "highest",
        "/10",
        "/5",
        "100%",
    ),
    "verdict": ("grade", "verdict", "score", "rating", "answer", "judg", "met", "satisfied", "pass"),
    "role": ("<|", "im_start", "<sys", "<ass", "<user", "inst]", "sys]", "system", "assistant", "developer", "<<"),
    "fence": ("<", "[", "end of", ">>>"),
    "judge": (
        "judge",
        "grader",
        "evaluator",
        "examiner",
        "assessor",
        "reviewer",
        "you are n",
        "new ",
        "criteri",
        "rubric",
        "not_met",
        "cannot_tell",
    ),
}
"""Without one of these a pattern cannot match; looking for a word is far cheaper than trying a pattern."""
_COMPILED = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _PATTERNS.items()}


def suspicions(text: str) -> tuple[str, ...]:
    """Name what in a text looks like an attempt to steer the judge: instruction, grading, verdict, role, fence, …"""
    return tuple(name for name in _COMPILED if _matches(name, text, text.lower()))


def is_suspicious(text: str) -> bool:
    """Whether anything in a text looks like an attempt to steer the judge."""
    low = text.lower()
    return any(_matches(name, text, low) for name in _COMPILED)


def _matches(name: str, text: str, low: str) -> bool:
    if name == "unseen":
        return not text.isascii() and _COMPILED[name].search(text) is not None
    return any(word in low for word in _KEYWORDS[name]) and _COMPILED[name].search(text) is not None
