"""Replies of judges that must never be read as a verdict, each with the kind of error it is.

`ID` stands for the id of the call. The menu is met, not_met, cannot_tell.
"""

from __future__ import annotations

GOOD = '{"id": "ID", "reason": "so", "answer": "met"}'
BAD = '{"id": "ID", "reason": "so", "answer": "not_met"}'

_UNREADABLE_TEXTS = [
    "met", "Met.", "yes", "not_met", "The criterion is met.", "**met**", "1", "0.9", "true", "null", '"met"', "[]",
    "Answer: met", "GRADE: C", "The answer is: met\nReason: it says so", "met met met", "✓", "👍", "<answer>met</answer>",
    "<verdict id='ID'>met</verdict>", "id: ID\nanswer: met\nreason: so", "- id: ID\n- answer: met",
    "I think that the reply names Paris, so the criterion is met.", "```json\n```", "```\nmet\n```",
    "json", "{", "}", "{{}}", "{]", '{"id"}', "{'id': 'ID', 'reason': 'so', 'answer': 'met'}",
    "{id: 'ID', answer: 'met', reason: 'so'}", '{"id": "ID" "reason": "so" "answer": "met"}',
    '{"id"= "ID", "reason"= "so", "answer"= "met"}', '{"id": "ID", "reason": "so", "answer": met}',
    '{"id": "ID", "reason": "so", "answer": "met"', '{"id": "ID", "reason": "so", "answer": "me',
    '{"id": "ID", "reason": "a long story that never', '{"id": "ID", "reason": "so",', '{"id": "ID"',
    '{"id": "ID", "answer": "met", "reason": "say "hello" to it"}', '{"id": "ID", "reason": "so", "answer": "met"]',
    '{"id": "ID",, "reason": "so", "answer": "met"}', '{,"id": "ID", "reason": "so", "answer": "met"}',
    '{"id": "ID", "reason": "so", "answer": "met"}}{', '{"note": {"id": "ID", "reason": "so", "answer": "met"}',
    "// a comment\n{\"id\": \"ID\", // the id\n\"answer\": \"met\"}", '{"id": "ID", "reason": "line\nend", "answer": "met"}',
    '{"id": "ID", "reason": "tab\there", "answer": "met"}', '{"id": "ID", "reason": "\\x41", "answer": "met"}',
    '{"id": "ID", "reason": "\\u12", "answer": "met"}', '{"id": "ID", "reason": "so", "answer": 01}',
    '{"id": "ID", "reason": "so", "answer": +1}', '{"id": "ID", "reason": "so", "answer": .5}',
    '{"id": "ID", "reason": "so", "answer": 0x1}', '{"id": "ID", "reason": "so", "answer": undefined}',
    '{"id": "ID", "reason": "so", "answer": None}', '{"id": "ID", "reason": "so", "answer": True}',
    "print({'id': 'ID', 'answer': 'met'})", "function() { return 'met'; }", "{% if met %}{{ met }}{% endif %}",
    "SELECT 'met'", "id=ID&answer=met&reason=so", "ID,met,so", "ID met so", "<think>it is met",
    "<think>it is met</think>", "<think>{\"id\": \"ID\", \"reason\": \"so\", \"answer\": \"met\"}</think>",
    '[{"id": "ID", "reason": "so", "answer": "met"}]', '[[{"id": "ID", "reason": "so", "answer": "met"}]]',
    '"{\\"id\\": \\"ID\\", \\"reason\\": \\"so\\", \\"answer\\": \\"met\\"}"', "[" * 300, "{\"a\":" * 3000, "{" * 500 + "}" * 499,
    '{"id": "ID", "reason": "so"}', '{"id": "ID"}', '{"id": "ID", "answers": "met", "reason": "so"}',
    '{"id": "ID", "reason": "so", "verdict": "met"}', '{"id": "ID", "Answer": "met", "reason": "so"}',
    '{"id": "ID", "reason": {"text": "so"}, "answer": "met"}', '{"id": "ID", "reason": ["so"], "answer": "met"}',
    '{"id": "ID", "reason": 5, "answer": "met"}', '{"id": "ID", "reason": null, "answer": "met"}',
    '{"id": "ID", "reason": true, "answer": "met"}',
]  # fmt: skip

_EXTRA_FIELDS = [
    f'{{"id": "ID", "reason": "so", "answer": "met", {extra}}}'
    for extra in (
        '"weight": 100', '"score": 1.0', '"title": "t"', '"description": "d"', '"satisfied": true', '"confidence": 0.9',
        '"weights": {"c1": 99}', '"total": 1', '"met": "yes"', '"criterion": "c2"', '"note": ""', '"": ""', '"ID": 1',
        '"answer_2": "met"', '"threshold": 0', '"passed": true', '"__proto__": {}', '"verdicts": []',
    )
]  # fmt: skip

_OFF_MENU_VALUES = [
    '"MOSTLY"', '"yes"', '"no"', '"true"', '"pass"', '"high"', '"partially met"', '"met, mostly"', '"met/not_met"',
    '""', '" "', '"m e t"', '"not"', '"unmet"', '"n/a"', '"1"', '"11/10"', '"10/10"', '"100%"', '"met."', '"\\"met\\""', '"**met**"',
    '"met\\u200b"', '"мet"', '"met not_met"', '"cannot tell, but met"', "true", "false", "null", "1", "0", "1.0", "0.5", "1.7", "-3",
    "1e400", "-1e400", "99999999999999999999", "[]", "{}", '["met"]', '{"answer": "met"}', '["met", "not_met"]', '{"met": true}',
]  # fmt: skip

_WRONG_CALLS = [
    '{"reason": "so", "answer": "met"}', '{"id": "", "reason": "so", "answer": "met"}', '{"id": null, "reason": "so", "answer": "met"}',
    '{"id": 1, "reason": "so", "answer": "met"}', '{"id": true, "reason": "so", "answer": "met"}',
    '{"id": ["ID"], "reason": "so", "answer": "met"}', '{"id": {"id": "ID"}, "reason": "so", "answer": "met"}',
    '{"id": "id", "reason": "so", "answer": "met"}', '{"id": "ID ", "reason": "so", "answer": "met"}',
    '{"id": " ID", "reason": "so", "answer": "met"}', '{"id": "IDID", "reason": "so", "answer": "met"}',
    '{"id": "ID\\u200b", "reason": "so", "answer": "met"}', '{"id": "00000000000000000000000000000000", "reason": "so", "answer": "met"}',
    '{"ID": "id", "reason": "so", "answer": "met"}', '{"Id": "ID", "reason": "so", "answer": "met"}',
    '{"call": "ID", "reason": "so", "answer": "met"}', '{"met": "yes"}', '{"satisfied": true, "reasoning": "so"}', '{"answer": "met"}',
    '{"grade": "C"}', '{"score": 1}', "{}", "{}x", '{"verdict": {"id": "ID", "reason": "so", "answer": "met"}}',
    'The agent wrote {"answer": "met"} as its reply.', '```json\n{"reason": "so", "answer": "met"}\n```',
    '{"id": "ID\\n", "reason": "so", "answer": "met"}', '{"properties": {"id": "ID", "answer": "met"}}', '{"id": "{{ id }}", "answer": "met"}',
]  # fmt: skip

_CONTRADICTIONS = [
    f"{GOOD}\n{BAD}", f"{BAD}\n{GOOD}", f"{GOOD} {GOOD.replace('so', 'or not')}", f"First I thought {GOOD}, then {BAD}.",
    f"```json\n{GOOD}\n```\nOn second thought:\n```json\n{BAD}\n```", f'{{"met": "yes"}} {GOOD}', f'{GOOD} {{"answer": "not_met"}}',
    f'Quoting the reply: {{"answer": "met"}}. My verdict: {BAD}', f"{GOOD}{BAD}", f"{GOOD},{BAD}", f"{{}}{GOOD}",
    '{"id": "ID", "reason": "so", "answer": "met", "answer": "not_met"}', '{"id": "ID", "id": "ID", "reason": "so", "answer": "met"}',
    '{"id": "x", "id": "ID", "reason": "so", "answer": "met"}', '{"id": "ID", "reason": "a", "reason": "b", "answer": "met"}',
    f"{GOOD}\n{GOOD}\n{BAD}", f"{BAD}\n\n\nFINAL: {GOOD}", f"{GOOD}\nCorrection: {GOOD.replace('met', 'cannot_tell')}",
]  # fmt: skip

_REFUSALS = [
    "", " ", "\n\n", "\u00a0", "I can't help with that.", "I’m sorry, but I can’t assist with this request.", "I'm sorry, I cannot do that.",
    "I cannot judge this conversation.", "Sorry, I won't do this.", "As an AI language model, I must not grade people.",
    "I am unable to evaluate this.", "I won't answer.", "I must decline.", "Unfortunately, I can't rate this.", "I'm not able to help.",
    "I’m unable to comply.", "I will not take part.", "I refuse.", "This content violates our policy.", "The request was blocked.",
]  # fmt: skip

MALFORMED: list[tuple[str, str]] = [
    *((text, "judge_unreadable") for text in _UNREADABLE_TEXTS + _EXTRA_FIELDS),
    *((f'{{"id": "ID", "reason": "so", "answer": {value}}}', "judge_off_menu") for value in _OFF_MENU_VALUES),
    *(
        (f'{{"id": "ID", "reason": "so", "answer": {value}}}', "judge_off_menu")
        for value in ("NaN", "Infinity", "-Infinity")
    ),
    *((text, "judge_wrong_call") for text in _WRONG_CALLS),
    *((text, "judge_contradiction") for text in _CONTRADICTIONS),
    *((text, "judge_refused") for text in _REFUSALS),
]
