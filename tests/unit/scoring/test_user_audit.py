"""The simulated user is examined too."""

import pytest

from viva.core.case import Case, Task
from viva.core.evidence import Ending, Evidence
from viva.core.transcript import Transcript, Turn
from viva.core.variant import Variant
from viva.scoring.checks.audit import audit
from viva.scoring.checks.user import User, UserSettings

CASE = Case(
    id="c",
    tasks=(
        Task(text="Ask the assistant to create a reminder for tomorrow at 9am to call the dentist"),
        Task(text="Ask what the capital of France is"),
    ),
    facts=("The user's timezone is Australia/Sydney", "The dentist is Doctor Plum"),
)
CLEAN = [
    ("user", "Hello"),
    ("assistant", "Hi! How can I help?"),
    ("user", "Please set a reminder for tomorrow at 9am, to call the dentist."),
    ("assistant", "Sure. Which timezone are you in?"),
    ("user", "My timezone is Australia/Sydney."),
    ("assistant", "Done, the reminder is set."),
    ("user", "Now, what is the capital of France?"),
    ("assistant", "It is Paris."),
    ("user", "So Long, and Thanks for All the Fish"),
]


def flags(lines, ending=None, case=CASE):
    turns = [Turn(role=role, text=text, metadata={"stop": True} if "Fish" in text else {}) for role, text in lines]
    return [finding.flag for finding in audit(case, turns, ending or Ending())]


def without(*dropped):
    return [line for number, line in enumerate(CLEAN) if number not in dropped]


def with_(number, text):
    return [(role, text if place == number else said) for place, (role, said) in enumerate(CLEAN)]


def test_a_user_who_behaves_is_left_alone():
    assert flags(CLEAN) == []


def test_a_fact_told_before_it_was_asked_for_is_flagged():
    lines = with_(3, "Sure, I am on it.")
    assert flags(lines) == ["volunteered_fact"]


def test_a_value_from_nowhere_is_flagged():
    assert flags(with_(4, "My timezone is Australia/Sydney and my number is 555-0199.")) == ["invented_value"]


def test_a_name_from_nowhere_is_flagged():
    assert flags(with_(4, "My timezone is Australia/Sydney, ask for Doctor Strange.")) == ["invented_value"]


def test_a_value_the_agent_mentioned_is_not_invented():
    lines = [*CLEAN[:5], ("assistant", "I can offer 10:30 instead?"), ("user", "Then 10:30 it is."), *CLEAN[5:]]
    assert flags(lines) == []


def test_a_task_never_put_is_flagged_unless_the_turns_ran_out():
    assert flags(without(6, 7)) == ["skipped_task"]
    assert flags(without(6, 7, 8), Ending(kind="turn_limit", by="limit")) == []


def test_two_tasks_in_one_message_are_flagged():
    lines = with_(2, "Set a reminder for tomorrow at 9am to call the dentist, and what is the capital of France?")
    assert "merged_tasks" in flags(lines)


def test_a_conversation_that_never_began_is_flagged():
    assert flags([*CLEAN[:2], CLEAN[-1]]) == ["ended_early"]


def test_stopping_while_the_agent_waits_for_a_word_is_flagged():
    lines = with_(7, "It is Paris. Shall I save that for you?")
    assert flags(lines) == ["stopped_before_acting"]


def test_empty_and_repeated_turns_are_flagged():
    lines = [*CLEAN[:4], ("user", "My timezone is Australia/Sydney."), *CLEAN[3:6], ("user", " "), *CLEAN[6:]]
    assert sorted(flags(lines)) == ["empty_turn", "repeated_turn"]


async def test_findings_are_shown_and_weigh_nothing():
    turns = tuple(Turn(role=role, text=text) for role, text in with_(3, "Sure, I am on it.")[:-1])
    seen = Evidence(trial="t", case=CASE, variant=Variant(), transcript=Transcript(turns=turns))
    (score,) = await User(UserSettings(), None).score(seen)
    assert score.weight == 0
    assert score.passed is None
    assert score.flags == ("user:volunteered_fact",)
    assert "Australia/Sydney" in score.reason
    (quiet,) = await User(UserSettings(ignore=("volunteered_fact",)), None).score(seen)
    assert quiet.flags == ()


@pytest.mark.parametrize("text", ["", "Hi"])
def test_no_tasks_no_facts_no_findings(text):
    assert flags([("user", text or "x"), ("assistant", "ok")], case=Case(id="c")) == []


@pytest.mark.parametrize("text", ["Well, I'm not sure", "Fine, I’ll wait", "Yes, OK", "At 9:00", "So, 9 AM then"])
def test_ordinary_words_and_other_spellings_of_a_time_are_not_invented(text):
    assert flags(with_(4, text)) == []


def test_a_task_in_the_users_own_words_counts_where_the_driver_says_which_one_it_is():
    task = Task(text="Ask the assistant to schedule a reminder about the quarterly dentist visit")
    case = Case(id="c", tasks=(task,))
    words, done = "Could you make sure I do not forget the dentist?", Turn(role="assistant", text="Done.")
    said, unsaid = Turn(role="user", text=words, metadata={"task": 1}), Turn(role="user", text=words)
    assert audit(case, (said, done), Ending()) == []
    assert [item.flag for item in audit(case, (unsaid, done), Ending())] == ["ended_early"]
