"""Seeds: what the agent should know beforehand reaches it first, is waited for, and what fails is an error."""

from __future__ import annotations

import json

import pytest
from exam_rig import JOB, examine
from stub_agent import StubAgent

ONE = JOB + "conditions: [supplied]\n"
CONVERSATION = """\
seeds:
  - conversation:
      - content: My name is Alice
      - {role: assistant, content: Hello Alice}
      - {role: user, content: I live in Sydney}
"""


@pytest.fixture
def agent(monkeypatch):
    with StubAgent() as stub:
        monkeypatch.setenv("VIVA_AGENT_URL", stub.url)
        yield stub


async def test_a_conversation_is_held_in_a_session_of_its_own_before_the_greeting(agent, tmp_path):
    exam = await examine(tmp_path, ONE + CONVERSATION)
    seeding, talking = agent.chats.values()
    assert seeding.messages == ["My name is Alice", "I live in Sydney"]
    assert talking.messages[0] == "Hello"
    said = [call.body["message"]["content"] for call in agent.called("messages")]
    assert said[:3] == ["My name is Alice", "I live in Sydney", "Hello"]
    assert exam["supplied"].outcome == "pass"
    assert "I live in Sydney" not in [turn.text for turn in (await exam.evidence("supplied")).transcript.turns]


async def test_every_condition_is_seeded_anew(agent, tmp_path):
    await examine(tmp_path, JOB + CONVERSATION)
    assert sum(chat.messages[0] == "My name is Alice" for chat in agent.chats.values()) == 2


async def test_a_failing_answer_while_seeding_is_tried_again(agent, tmp_path):
    agent.failures = [500, 503]
    exam = await examine(tmp_path, ONE + CONVERSATION)
    assert exam["supplied"].outcome == "pass"
    assert exam["supplied"].result.failures == 0  # The agent's conversation itself had none.


async def test_an_agent_that_cannot_be_seeded_is_an_error_and_no_conversation_begins(agent, tmp_path):
    agent.failures = [500] * 4
    exam = await examine(tmp_path, ONE + CONVERSATION)
    assert (exam["supplied"].outcome, exam["supplied"].result.error) == ("error", "seed_failed")
    assert "seed 1" in exam["supplied"].result.reason
    assert "line 1 of 2" in exam["supplied"].result.reason
    assert exam.asked == []


async def test_a_text_goes_through_the_agents_ingest_call(agent, tmp_path):
    where = "subject: {ingest: {path: memories, method: PUT, body: {user: test-user, text: '{text}'}}}\n"
    exam = await examine(tmp_path, ONE + "seeds: [{text: Alice lives in Sydney}]\n" + where)
    assert agent.texts == ["Alice lives in Sydney"]
    (call,) = agent.called("memories")
    assert call.body == {"user": "test-user", "text": "Alice lives in Sydney"}
    assert exam["supplied"].outcome == "pass"


async def test_a_text_for_an_agent_that_takes_none_is_an_error_or_skipped_as_the_job_says(agent, tmp_path):
    exam = await examine(tmp_path, ONE + "seeds: [{text: Alice lives in Sydney}]\n")
    assert (exam["supplied"].outcome, exam["supplied"].result.error) == ("error", "seed_unsupported")
    assert "ingest" in exam["supplied"].result.reason
    exam = await examine(tmp_path, ONE + "seeds: [{text: Alice lives in Sydney, ifUnsupported: skip}]\n")
    assert exam["supplied"].outcome == "pass"


TWO_SEEDS = CONVERSATION + "  - conversation: [{content: I have a dog}]\n"


def settle(agent, until, **settings):
    probe = {"http": {"url": f"{agent.url}/api/v1/chat/objectContexts/any", "until": until}}
    return f"settle: {json.dumps({'probe': probe, **settings})}\n"


async def test_the_conversation_waits_until_the_agent_has_digested_its_seeds(agent, tmp_path):
    looks = 0
    answer = agent.reply

    def digesting(method, path, headers, body):
        nonlocal looks
        if "objectContexts/any" in path:
            looks += 1
            if looks == 3:
                agent.resources = [{"id": "1", "name": "memory"}]
        return answer(method, path, headers, body)

    agent.reply = digesting
    job = ONE + CONVERSATION + settle(agent, "size(value.resources) >= 1", every_s=0.05, timeout_s=20)
    exam = await examine(tmp_path, job)
    assert exam["supplied"].outcome == "pass"
    assert looks == 3
    order = [call.path for call in agent.calls]
    greeting = next(n for n, call in enumerate(agent.calls) if call.body and "Hello" in str(call.body))
    assert order[greeting - 2].endswith("/any")  # Then the session, then the greeting.


async def test_an_agent_that_never_settles_is_found_out_after_the_first_seed(agent, tmp_path):
    job = ONE + TWO_SEEDS + settle(agent, "size(value.resources) >= 1", every_s=0.05, timeout_s=0.2)
    exam = await examine(tmp_path, job)
    assert (exam["supplied"].outcome, exam["supplied"].result.error) == ("error", "not_settled")
    assert "after the first seed within 0.2 s" in exam["supplied"].result.reason
    assert agent.said() == ["My name is Alice", "I live in Sydney"]


async def test_without_fail_fast_all_seeds_are_planted_first(agent, tmp_path):
    job = ONE + TWO_SEEDS + settle(agent, "false", every_s=0.05, timeout_s=0.1, fail_fast=False)
    exam = await examine(tmp_path, job)
    assert "after all seeds" in exam["supplied"].result.reason
    assert agent.said() == ["My name is Alice", "I live in Sydney", "I have a dog"]
