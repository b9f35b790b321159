"""What a simulated user did wrong, read off the transcript alone.

Every rule is deterministic and words-only, so that a finding can be checked by eye: it names the turn and the words.
The rules are cautious: they flag what is plainly there, and stay silent where a reader could argue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from viva.core.case import Case
from viva.core.data import Data
from viva.core.evidence import Ending
from viva.core.transcript import Turn

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")
_VALUE = re.compile(
    r"[\w.+-]+@[\w-]+\.[\w.]+"  # an e-mail address
    r"|\d[\d.,:/-]*\d|\d"  # a number, date or time
    r"|(?<=[a-z,;:] )[A-Z][\w’'-]+(?: [A-Z][\w’'-]+)*"  # a name within a sentence
)
_QUESTION = re.compile(
    r"\?|\b(?:please (?:tell|give|provide|share|confirm|specify|let me know)|could you|can you|would you|let me know"
    r"|i(?:'|’)?(?:ll| will)? need (?:to know|your|the|more))\b",
    re.IGNORECASE,
)
_ACTING = re.compile(
    r"\b(?:shall i|should i|do you want me to|would you like me to|are you sure|please confirm|can you confirm"
    r"|ready to proceed|want me to proceed)\b",
    re.IGNORECASE,
)
_COMMON = frozenset(
    (
        "a an the and or of to in on at for from by with as is are was were be been am i you he she it we they me my "
        "your his her its our their this that these those do does did have has had will would can could should may "
        "might must not no yes please ask asks asking tell tells user user's users assistant what which who whom whose "
        "when where why how there here if then than so but about into over under up down out very just also s t "
        "create make need needs want wants like likes prefers prefer"
    ).split()
)


_NO_NAMES = frozenset("i ok okay am pm asap btw fyi tv thanks thank please hi hello hey dear mr mrs ms dr".split())
_DIGITS = re.compile(r"\d+")


class Finding(Data, frozen=True):
    """One thing the simulated user should not have done."""

    flag: str
    turn: int
    """Counted from 1 over all turns of the transcript; 0 where it concerns no single turn."""
    words: str


def audit(case: Case, turns: Sequence[Turn], ending: Ending) -> list[Finding]:
    """Everything the rules find in one conversation."""
    return [
        *_volunteered(case, turns),
        *_invented(case, turns),
        *_tasks(case, turns, ending),
        *_stopping(turns, ending),
        *_turns(turns),
    ]


def _volunteered(case: Case, turns: Sequence[Turn]) -> Iterable[Finding]:
    known = _words(task.text for task in case.tasks)
    for fact in case.facts:
        telling = [word for word in _content(fact) if word not in known]
        if not telling:
            continue
        for number, turn in _user_turns(turns):
            said = _words([turn.text])
            if sum(word in said for word in telling) < max(1, round(0.75 * len(telling))):
                continue
            if not _asked(turns, number):
                yield Finding(flag="volunteered_fact", turn=number, words=fact)
            break


def _invented(case: Case, turns: Sequence[Turn]) -> Iterable[Finding]:
    sources = [task.text for task in case.tasks] + list(case.facts)
    known = _plain(" ".join(sources))
    for number, turn in _user_turns(turns):
        if turn.metadata.get("stop") or turn.metadata.get("greeting"):
            continue  # Words the author chose: the sign-off and the greeting.
        heard = _plain(" ".join(other.text for other in turns[: number - 1]))
        for value in _VALUE.findall(turn.text):
            if not _is_known(value, f"{known} {heard}"):
                yield Finding(flag="invented_value", turn=number, words=value)


def _is_known(value: str, texts: str) -> bool:
    """Whether a value occurs in the texts, in these words or, for a number (9:00 for 9am), in one of its parts."""
    wanted = _plain(value)
    first = wanted.partition(" ")[0].replace("’", "'")
    if not wanted or wanted in texts or first in _NO_NAMES or first.startswith("i'"):
        return True
    parts = [int(part) for part in _DIGITS.findall(value)] if value[0].isdigit() else []
    return any(part and part in map(int, _DIGITS.findall(texts)) for part in parts)


def _tasks(case: Case, turns: Sequence[Turn], ending: Ending) -> Iterable[Finding]:
    if not case.tasks:
        return
    put = [_put_at(number, task.text, turns) for number, task in enumerate(case.tasks, start=1)]
    if not any(put):
        yield Finding(flag="ended_early", turn=0, words="no task was put to the agent")
        return
    for task, number in zip(case.tasks, put, strict=True):
        if not number and ending.kind != "turn_limit":
            yield Finding(flag="skipped_task", turn=0, words=task.text)
    for number in sorted({n for n in put if n and put.count(n) > 1}):
        together = [task.text for task, n in zip(case.tasks, put, strict=True) if n == number]
        yield Finding(flag="merged_tasks", turn=number, words=" + ".join(together))


def _put_at(number: int, task: str, turns: Sequence[Turn]) -> int:
    """The first user turn that carries half of a task's words; one of them is enough where the driver says so too."""
    wanted = _content(task)
    for place, turn in _user_turns(turns):
        said = _words([turn.text])
        needed = 1 if turn.metadata.get("task") == number else max(1, round(0.5 * len(wanted)))
        if wanted and sum(word in said for word in wanted) >= needed:
            return place
    return 0


def _stopping(turns: Sequence[Turn], ending: Ending) -> Iterable[Finding]:
    if ending.kind != "completed" or ending.by != "driver":
        return
    last = next((n for n in range(len(turns), 0, -1) if turns[n - 1].role == "assistant"), 0)
    if last and _ACTING.search(turns[last - 1].text):
        yield Finding(flag="stopped_before_acting", turn=last, words=turns[last - 1].text[-120:])


def _turns(turns: Sequence[Turn]) -> Iterable[Finding]:
    seen: dict[str, int] = {}
    for number, turn in _user_turns(turns):
        text = _plain(turn.text)
        if not text:
            yield Finding(flag="empty_turn", turn=number, words="")
        elif text in seen:
            yield Finding(flag="repeated_turn", turn=number, words=turn.text[:120])
        seen.setdefault(text, number)


def _asked(turns: Sequence[Turn], number: int) -> bool:
    """Whether the agent's turn just before asked for anything."""
    before = next((turn for turn in reversed(turns[: number - 1]) if turn.role == "assistant"), None)
    return before is not None and bool(_QUESTION.search(before.text))


def _user_turns(turns: Sequence[Turn]) -> list[tuple[int, Turn]]:
    return [(number, turn) for number, turn in enumerate(turns, start=1) if turn.role == "user"]


def _content(text: str) -> list[str]:
    return list(dict.fromkeys(w for w in map(str.lower, _WORD.findall(text)) if w not in _COMMON))


def _words(texts: Iterable[str]) -> set[str]:
    return {word.lower() for text in texts for word in _WORD.findall(text)}


def _plain(text: str) -> str:
    return " ".join(word.lower() for word in _WORD.findall(text))
