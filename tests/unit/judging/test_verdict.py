"""What a judge wrote is a verdict on the menu that answers this call, or an error with a name."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from malformed_replies import GOOD, MALFORMED

from viva.core.errors import JudgeError
from viva.judging.verdict import (
    MENU,
    on_menu,
    read_claims,
    read_confident,
    read_finding,
    read_findings,
    read_object,
    reason_flags,
)
from viva.ports.model import ModelReply

ID = "5f0c2a9be1d34c77aa10ffee00112233"


def read(text: str, menu: tuple[str, ...] = MENU, **reply: object) -> str:
    return read_finding(ModelReply(text=text.replace("ID", ID), **reply), ID, menu).answer  # type: ignore[arg-type]


def kind_of(text: str, menu: tuple[str, ...] = MENU, **reply: object) -> str:
    with pytest.raises(JudgeError) as caught:
        read(text, menu, **reply)
    return caught.value.kind


def test_the_corpus_holds_at_least_200_replies() -> None:
    assert len({text for text, _ in MALFORMED}) >= 200


@pytest.mark.parametrize(("text", "kind"), MALFORMED)
def test_a_malformed_reply_is_never_a_verdict(text: str, kind: str) -> None:
    assert kind_of(text) == kind


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"  {GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}\n```",
        f"Here is my verdict:\n{GOOD}\nI hope that helps.",
        f"Here it is:\n```json\n{GOOD}\n```",
        f"<think>maybe {{not_met}} or met</think>\n{GOOD}",
        f"{GOOD}\n{GOOD}",
        '{"id": "ID", "reason": "so", "answer": "met",}',
        '{\n "answer": "met",\n "reason": "it says \\"{met}\\", so",\n "id": "ID",\n}',
        '{"id": "ID", "answer": "met"}',
        '{"id": "ID", "reason": "so", "answer": "Met"}',
        '{"id": "ID", "reason": "so", "answer": " MET "}',
    ],
)
def test_a_readable_verdict_is_read(text: str) -> None:
    assert read(text) == "met"


@pytest.mark.parametrize("said", ["not_met", "Not met", "not-met", "NOT_MET"])
def test_the_menu_forgives_case_and_spaces(said: str) -> None:
    assert read(json.dumps({"id": "ID", "reason": "", "answer": said})) == "not_met"


def test_a_reply_cut_off_at_the_token_limit_is_not_read_even_when_it_parses() -> None:
    assert kind_of(GOOD, finish="length") == "judge_unreadable"


@pytest.mark.parametrize("reply", [{"finish": "content_filter"}, {"finish": "refusal"}, {"refused": True}])
def test_a_reply_the_provider_marks_as_refused_is_not_read_even_when_it_parses(reply: dict[str, object]) -> None:
    assert kind_of(GOOD, **reply) == "judge_refused"


def test_numbers_are_answers_only_where_the_menu_has_them() -> None:
    levels = ("1", "2", "3", "4", "5")
    assert on_menu(4, levels) == "4"
    assert on_menu("4", levels) == "4"
    assert on_menu(0.5, ("0", "0.5", "1")) == "0.5"
    for wrong in (0, 6, 4.5, -1, True, "6", "4/5", "4.0 of 5", None, [4], "high"):
        with pytest.raises(JudgeError):
            on_menu(wrong, levels)


@given(st.text(max_size=400))
def test_no_text_is_anything_but_a_verdict_or_a_judge_error(text: str) -> None:
    try:
        read(text)
    except JudgeError as error:
        assert error.kind.startswith("judge_")
    else:
        raise AssertionError("a text without the id of the call was read as a verdict")


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=10) | st.sampled_from(["ID", "met"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["id", "answer", "reason", "weight", "verdicts"]), inner, max_size=5)
        ),
        max_leaves=10,
    ),
    st.text(max_size=20),
)
def test_any_json_is_read_by_the_rules_or_refused(value: object, around: str) -> None:
    text = f"{around}{json.dumps(value)}{around}"
    try:
        answer = read(text)
    except JudgeError as error:
        assert error.kind.startswith("judge_")
    else:
        assert answer in MENU
        assert isinstance(value, dict | list)


class TestBatches:
    MENUS = {"1": MENU, "2": MENU}

    def read(self, verdicts: object) -> dict[str, object]:
        reply = ModelReply(text=json.dumps({"id": ID, "verdicts": verdicts}))
        return dict(read_findings(reply, ID, self.MENUS))

    def test_a_missing_verdict_is_none(self) -> None:
        found = self.read([{"criterion": "1", "reason": "", "answer": "met"}])
        assert found["1"].answer == "met"  # type: ignore[attr-defined]
        assert found["2"] is None

    def test_a_repeated_verdict_is_a_contradiction_even_when_it_agrees(self) -> None:
        one = {"criterion": "1", "reason": "", "answer": "met"}
        assert self.read([one, one])["1"].kind == "judge_contradiction"  # type: ignore[attr-defined]

    def test_a_verdict_off_the_menu_is_an_error_of_that_criterion_alone(self) -> None:
        found = self.read([{"criterion": "1", "answer": "MOSTLY"}, {"criterion": "2", "answer": "met"}])
        assert found["1"].kind == "judge_off_menu"  # type: ignore[attr-defined]
        assert found["2"].answer == "met"  # type: ignore[attr-defined]

    @pytest.mark.parametrize(
        "verdicts",
        [
            {},
            "met",
            [1],
            [{"criterion": "3", "answer": "met"}],
            [{"criterion": 1, "answer": "met"}],
            [{"criterion": "1", "answer": "met", "weight": 9}],
            [{"answer": "met"}],
        ],
    )
    def test_a_reply_about_something_else_is_refused_whole(self, verdicts: object) -> None:
        with pytest.raises(JudgeError):
            self.read(verdicts)


@pytest.mark.parametrize("claims", ["x", [1], [""], ["a", None], {}, ["x"] * 201])
def test_claims_are_a_short_list_of_texts(claims: object) -> None:
    with pytest.raises(JudgeError):
        read_claims(ModelReply(text=json.dumps({"id": ID, "claims": claims})), ID)


@pytest.mark.parametrize("confidence", [-1, 101, 0.5, "90", True, None, [90]])
def test_a_confidence_out_of_range_is_an_error(confidence: object) -> None:
    reply = {"id": ID, "reason": "so", "answer": "yes", "confidence": confidence}
    with pytest.raises(JudgeError):
        read_confident(ModelReply(text=json.dumps(reply)), ID, ("yes", "no"))


@pytest.mark.parametrize(
    ("answer", "reason", "flags"),
    [
        ("met", "", ("reason_empty",)),
        ("met", "The agent names Paris.", ()),
        ("met", "The criterion is not met because Paris is missing.", ("reason_contradicts",)),
        ("not_met", "The criterion is clearly met.", ("reason_contradicts",)),
        ("not_met", "The criterion is not met.", ()),
        ("met", "The requirement is met; nothing is not met.", ()),
    ],
)
def test_an_odd_reason_is_flagged(answer: str, reason: str, flags: tuple[str, ...]) -> None:
    assert reason_flags(answer, reason) == flags


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "ID", "reason": "\\ud800", "answer": "met"}',
        '{"id": "ID", "reason": "so", "answer": "\\udfff"}',
        '{"id": "ID", "reason": "so", "answer": "met", "\\ud83d": 1}',
        '{"id": "\\ud800", "reason": "so", "answer": "met"}',
        '{"id": "ID", "reason": "so", "answer": ' + "9" * 6000 + "}",
    ],
)
def test_whatever_is_kept_of_a_reply_can_be_stored(text: str) -> None:
    try:
        found = read_finding(ModelReply(text=text.replace("ID", ID)), ID, MENU)
    except JudgeError as error:
        error.message.encode("utf-8")
    else:
        found.reason.encode("utf-8")


def outcome(read_it: object, text: str) -> tuple[str, str]:
    try:
        found = read_it(text)  # type: ignore[operator]
    except JudgeError as error:
        return "error", error.kind
    return found["answer"], found.get("reason", "")


def fast(text: str) -> dict[str, str]:
    found = read_finding(ModelReply(text=text), ID, MENU)
    return {"answer": found.answer, "reason": found.reason}


def careful(text: str) -> dict[str, str]:
    found = read_object(ModelReply(text=text), ID, ("answer", "reason"), optional=("reason",))
    return {**found, "answer": on_menu(found["answer"], MENU)}


_PIECES = st.sampled_from(
    [
        f'"id": "{ID}"',
        '"id": "other"',
        '"answer": "met"',
        '"answer": "not_met"',
        '"answer": "perhaps"',
        '"\\u0061nswer": "met"',
        '"answer": null',
        '"reason": "so"',
        '"reason": ""',
        '"reason": "say \\"met\\""',
        '"reason": "a\x01b"',
        '"reason": "ключ \u200b"',
        '"weight": "5"',
    ]
)


@given(st.lists(_PIECES, max_size=5), st.sampled_from(["{%s}", " {%s}\n", "{%s,}", "{%s} {%s}", "\ufeff{%s}", "[%s]"]))
def test_a_plain_reply_is_read_fast_and_exactly_as_with_care(pieces: list[str], around: str) -> None:
    text = around.replace("%s", ", ".join(pieces))
    assert outcome(fast, text) == outcome(careful, text)


@pytest.mark.parametrize("key", ["id", "answer", "reason"])
def test_a_key_said_twice_is_a_contradiction_in_a_plain_reply_too(key: str) -> None:
    entries = {"id": f'"id": "{ID}"', "reason": '"reason": "so"', "answer": '"answer": "met"'}
    assert kind_of("{" + ", ".join([*entries.values(), entries[key]]) + "}") == "judge_contradiction"
    without_reason = [entries["id"], entries["answer"], entries["answer"]]
    assert kind_of("{" + ", ".join(without_reason) + "}") == "judge_contradiction"
