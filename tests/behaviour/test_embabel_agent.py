"""Embabel jobs and the agent behind REST: what is sent, what is read, what is retried, and what is an error."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import time

import pytest
from exam_rig import JOB, examine, scripted, viva_command
from stub_agent import EVENTS, StubAgent


@pytest.fixture
def agent(monkeypatch):
    with StubAgent() as stub:
        monkeypatch.setenv("VIVA_AGENT_URL", stub.url)
        yield stub


async def test_every_call_has_its_method_path_key_and_body(agent, tmp_path, monkeypatch):
    monkeypatch.setenv("VIVA_AGENT_KEY", "the-agents-own-key")
    agent.key = "the-agents-own-key"
    job = JOB + "assertions: [{expression: objectContext.resources.size == 0}]\nconditions: [supplied]\n"
    exam = await examine(tmp_path, job)
    assert exam["supplied"].outcome == "pass"
    session = next(iter(agent.chats))
    first, second = agent.calls[0], agent.calls[1]
    assert (first.method, first.path) == ("PUT", "/api/v1/chat/sessions")
    assert first.body == {"user": "test-user", "chatbot": "my-agent"}
    assert (second.method, second.path) == ("PUT", "/api/v1/chat/messages")
    assert second.body == {
        "sessionId": session,
        "message": {"content": "Hello", "role": "user"},
        "model": "agent-model",
    }
    assert (agent.calls[-1].method, agent.calls[-1].path) == ("GET", f"/api/v1/chat/objectContexts/{session}")
    assert {call.headers["x-api-key"] for call in agent.calls} == {"the-agents-own-key"}
    assert all(call.headers["content-type"] == "application/json" for call in agent.calls if call.method == "PUT")
    assert "the-agents-own-key" not in (tmp_path / "runs.db").read_bytes().decode("latin-1")


async def test_host_path_key_header_and_timeout_may_stand_in_the_job(agent, tmp_path, monkeypatch):
    monkeypatch.delenv("VIVA_AGENT_URL")
    monkeypatch.setenv("AGENT_KEY", "a-key-of-the-job")
    agent.root = "/v2/talk"
    settings = f"url: '{agent.url}', path: v2/talk, api_key: 'env:AGENT_KEY', api_key_header: X-Other, timeout_s: 9"
    job = JOB + f"subject: {{{settings}}}\nconditions: [supplied]\n"
    exam = await examine(tmp_path, job, allow_env=("AGENT_KEY",))
    assert exam["supplied"].outcome == "pass"
    assert {call.headers["x-other"] for call in agent.calls} == {"a-key-of-the-job"}
    assert all(call.path.startswith("/v2/talk/") for call in agent.calls)


async def test_a_hung_agent_is_a_timeout_within_its_limit(agent, tmp_path):
    agent.hangs = True
    began = time.monotonic()
    exam = await examine(tmp_path, JOB + f"subject: {{url: '{agent.url}', timeout_s: 0.3}}\nconditions: [supplied]\n")
    assert time.monotonic() - began < 20
    assert (exam["supplied"].outcome, exam["supplied"].result.error) == ("error", "timed_out")
    assert exam["supplied"].score is None


async def test_four_kinds_of_events_are_typed_and_an_unknown_one_is_kept_raw(agent, tmp_path):
    agent.events = EVENTS
    evidence = await (await examine(tmp_path, JOB + "conditions: [supplied]\n")).evidence("supplied")
    reply = evidence.transcript.replies[0]
    assert [event.kind for event in reply.events] == [
        "system_prompt",
        "graph_query",
        "function_call",
        "function_result",
        "unknown",
    ]
    assert reply.events[-1].data == {"somethingNew": {"n": 1}}
    assert [(call.name, call.arguments, call.result) for call in reply.tool_calls] == [
        ("create_reminder", {"title": "dentist"}, "created")
    ]


async def test_an_answer_without_events_and_history_is_an_answer(agent, tmp_path):
    agent.answer = lambda chat, text: {"sessionId": chat.id, "message": {"content": "Paris", "role": "assistant"}}
    exam = await examine(tmp_path, JOB + "conditions: [supplied]\n")
    assert exam["supplied"].outcome == "pass"


async def test_the_model_is_passed_on_with_every_message(agent, tmp_path):
    await examine(tmp_path)
    assert {call.body["model"] for call in agent.called("messages")} == {"agent-model"}


async def test_three_failures_then_an_answer_is_a_success_that_counts_three_failures(agent, tmp_path):
    agent.failures = [500, 503, 500]  # The greeting itself.
    exam = await examine(
        tmp_path, JOB + "conditions: [supplied]\nassertions: [{expression: evaluation.failureCount == 3}]\n"
    )
    trial = exam["supplied"]
    assert trial.outcome == "pass"
    assert trial.result.failures == 3
    assert trial.result.parts["penalty"] == 0.5
    assert agent.said(0)[0] == "Hello"
    turn = (await exam.evidence("supplied")).transcript.replies[0]
    assert [fault.status for fault in turn.faults] == [500, 503, 500]
    assert all(50 <= fault.waited_ms < 5000 for fault in turn.faults)


async def test_how_often_a_message_is_sent_again_is_a_setting(agent, tmp_path):
    agent.failures = [500]
    exam = await examine(tmp_path, JOB + "conditions: [supplied]\nretry: {attempts: 1}\n")
    assert (exam["supplied"].outcome, exam["supplied"].result.error) == ("error", "server_error")
    assert len(agent.called("messages")) == 1


async def test_an_agent_that_never_recovers_is_an_error_with_what_was_said_so_far_and_the_other_condition_goes_on(
    agent, tmp_path
):
    def breaks_for_good(chat, text):
        if "capital" in text and chat.id == next(iter(agent.chats)):
            agent.failures = [500] * 3
            return {"no": "message"}
        return "Paris"

    agent.answer = breaks_for_good
    exam = await examine(tmp_path, JOB, concurrency=1)
    broken, whole = exam["withheld"], exam["supplied"]
    assert (broken.outcome, broken.score) == ("error", None)
    assert whole.outcome == "pass"
    said = [turn.text for turn in (await exam.evidence("withheld")).transcript.turns]
    assert said[:2] == ["Hello", "Paris"]
    assert said[-1] == "And what is the capital of France?"


async def test_four_failures_in_a_row_end_the_trial_as_an_error_not_the_run(agent, tmp_path):
    agent.failures = [500] * 4
    exam = await examine(tmp_path, JOB, concurrency=1)
    assert (exam["withheld"].outcome, exam["withheld"].result.error) == ("error", "server_error")
    assert exam["withheld"].result.failures == 4
    assert exam["supplied"].outcome == "pass"


async def test_both_times_of_a_reply_are_kept_and_the_score_uses_the_successful_attempt(agent, tmp_path):
    agent.failures = [500, 500]
    job = JOB + "conditions: [supplied]\nretry: {backoff_s: 0.4}\n"
    exam = await examine(tmp_path, job)
    evidence = await exam.evidence("supplied")
    first = evidence.transcript.replies[0]
    assert first.total_ms >= 800
    assert first.latency_ms <= first.total_ms - 700
    assert evidence.timing.mean_ms < 700
    assert evidence.timing.retry_ms >= 700
    assert exam.score("supplied", "timing").value == 1.0


async def test_response_times_come_with_their_number_mean_median_p95_and_maximum(agent, tmp_path):
    timing = (await (await examine(tmp_path, JOB + "conditions: [supplied]\n")).evidence("supplied")).timing
    assert timing.responses == 3
    assert 0 < timing.p50_ms <= timing.p95_ms <= timing.max_ms
    assert timing.mean_ms <= timing.max_ms


async def test_the_object_context_is_fetched_once_for_all_assertions(agent, tmp_path):
    agent.resources = [{"id": "1", "name": "dentist", "labels": ["Reminder", "DomainNode"]}]
    job = JOB + (
        "conditions: [supplied]\n"
        "assertions:\n"
        "  - expression: objectContext.resources.size == 1\n"
        '  - expression: objectContext.entities.any { it.labels.contains("Reminder") }\n'
        "  - expression: objectContext != null && objectContext.entities.size == 1\n"
    )
    exam = await examine(tmp_path, job)
    assert exam["supplied"].outcome == "pass"
    assert len(agent.called("objectContexts")) == 1


async def test_an_object_context_that_cannot_be_fetched_is_an_error_never_a_fail(agent, tmp_path):
    agent.context_status = 500
    job = JOB + "conditions: [supplied]\nassertions: [{expression: objectContext.resources.size == 1}]\n"
    exam = await examine(tmp_path, job)
    assert (exam["supplied"].outcome, exam["supplied"].score) == ("error", None)
    (broken,) = [score for score in exam["supplied"].scores if score.section == "assertions"]
    assert (broken.outcome, broken.kind) == ("error", "observation_failed")
    assert "the agent answered 500" in broken.detail


async def test_a_function_is_examined_by_a_whole_job_without_http(tmp_path):
    heard = []

    def assistant(text: str) -> str:
        heard.append(text)
        return "The capital of France is Paris."

    exam = await examine(tmp_path, JOB, subject=assistant)
    assert [exam[name].outcome for name in ("withheld", "supplied")] == ["pass", "pass"]
    assert heard.count("Hello") == 2
    assert exam["supplied"].result.parts["tasks"] == 1.0


@pytest.mark.parametrize("spell", [str, lambda path: path.name], ids=["absolute", "relative"])
def test_a_job_is_found_by_absolute_and_relative_path(agent, tmp_path, spell):
    (tmp_path / "agent.yml").write_text(JOB)
    words = ["run", spell(tmp_path / "agent.yml"), "-q", *scripted(tmp_path)]
    ran = viva_command(tmp_path, *words, env={"VIVA_AGENT_URL": agent.url})
    assert ran.returncode == 0, ran.stderr
    assert "2 passed" in ran.stdout


def test_the_command_of_the_readme_runs_with_model_and_verbose(agent, tmp_path):
    agent.events = EVENTS
    (tmp_path / "agent.yml").write_text(JOB)
    words = ["run", "agent.yml", "--model", "gpt-4.1-mini", "--verbose", *scripted(tmp_path)]
    ran = viva_command(tmp_path, *words, env={"VIVA_AGENT_URL": agent.url})
    assert ran.returncode == 0, ran.stderr
    assert {call.body["model"] for call in agent.called("messages")} == {"gpt-4.1-mini"}
    for kind in ("system_prompt", "graph_query", "function_call", "function_result", "unknown"):
        assert kind in ran.stderr
    assert "user │ Please create a reminder for tomorrow at 9am." in ran.stderr
    assert "assistant │ You said: Hello" in ran.stderr
    assert "\x1b[" not in ran.stderr + ran.stdout
    assert "withheld" in ran.stdout
    assert "supplied" in ran.stdout


def test_events_have_their_colours_on_a_terminal(agent, tmp_path):
    agent.events = EVENTS
    (tmp_path / "agent.yml").write_text(JOB + "conditions: [supplied]\n")
    words = ["run", "agent.yml", "--verbose", *scripted(tmp_path)]
    inner, outer = pty.openpty()
    env = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "VIVA_STORE")}
    process = subprocess.Popen(
        [sys.executable, "-m", "viva", *words],
        cwd=tmp_path,
        env={**env, "VIVA_AGENT_URL": agent.url, "TERM": "xterm-256color"},
        stdout=outer,
        stderr=outer,
        stdin=subprocess.DEVNULL,
    )
    os.close(outer)
    shown = b""
    try:
        while piece := os.read(inner, 65536):
            shown += piece
    except OSError:  # The terminal is closed when the program has ended.
        pass
    os.close(inner)
    assert process.wait(30) == 0
    kinds = (b"function_call", b"function_result", b"system_prompt", b"graph_query")
    lines = {kind: next(line for line in shown.split(b"\n") if kind in line) for kind in kinds}
    colours = {kind: line[: line.index(kind)] for kind, line in lines.items()}
    assert b"31m" in colours[b"function_result"]
    assert b"33m" in colours[b"function_call"]
    assert b"32m" in colours[b"graph_query"]
    assert b"90m" in colours[b"system_prompt"]
