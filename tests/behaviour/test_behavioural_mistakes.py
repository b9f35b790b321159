"""What people get wrong in a job: each is one line that says what, where and what to do, before money is spent."""

from __future__ import annotations

import pytest
from exam_rig import JOB, scripted, viva_command
from stub_agent import StubAgent


@pytest.fixture
def agent():
    with StubAgent() as stub:
        yield stub


MISTAKES = {
    "wrong key": (
        "aspirationalAverage: 3000",
        "aspirationalAvrage: 3000",
        ("agent.yml:4", "did you mean 'aspirationalAverage'"),
    ),
    "missing key": ("facts:", "fcts:", ("agent.yml:", "did you mean 'facts'")),
    "expression typo": (
        "",
        "assertions: [{expression: 'objectContext.resources.size =='}]\n",
        ("agent.yml:15", "expression"),
    ),
    "unknown name": (
        "",
        "assertions: [{expression: 'objectContxt.resources.size == 1'}]\n",
        ("agent.yml:15", "objectContext"),
    ),
    "writing query": (
        "",
        "assertions: [{cypher: 'MATCH (n) DETACH DELETE n', expected: 1}]\n",
        ("agent.yml:15", "read-only"),
    ),
    "two kinds at once": (
        "",
        "assertions: [{cypher: RETURN 1, expected: 1, expression: x}]\n",
        ("agent.yml:15", "is one of"),
    ),
    "unknown prompt": ("name: Socrates", "prompt: mine", ("agent.yml:2", "prompts/mine.jinja")),
    "aspiration of nothing": ("aspirationalAverage: 3000", "aspirationalAverage: 0", ("agent.yml:4", "more than 0")),
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("command", ["run", "validate"])
def test_a_mistake_in_a_job_is_one_line_with_its_place_and_nothing_is_sent(agent, tmp_path, mistake, command):
    old, new, said = MISTAKES[mistake]
    (tmp_path / "agent.yml").write_text(JOB.replace(old, new, 1) if old else JOB + new)
    words = [command, "agent.yml", *(scripted(tmp_path) if command == "run" else [])]
    ran = viva_command(tmp_path, *words, env={"VIVA_AGENT_URL": agent.url})
    assert ran.returncode == 2, ran.stdout + ran.stderr
    told = (ran.stderr + ran.stdout).strip()
    assert all(part in told for part in said), told
    if command == "run":
        assert told.count("\n") == 0
    assert agent.calls == []


def test_an_agent_that_is_not_there_is_named_with_its_address_and_no_model_is_asked(tmp_path):
    (tmp_path / "agent.yml").write_text(JOB)
    ran = viva_command(tmp_path, "run", "agent.yml", *scripted(tmp_path), env={"VIVA_AGENT_URL": "http://127.0.0.1:9"})
    assert ran.returncode == 3
    assert "127.0.0.1:9" in ran.stderr + ran.stdout
    assert "user:" not in ran.stdout  # Nobody's tokens were spent.
    assert "Traceback" not in ran.stderr


def test_a_wrong_agent_key_says_where_to_set_it(agent, tmp_path):
    agent.key = "the-right-one"
    (tmp_path / "agent.yml").write_text(JOB)
    env = {"VIVA_AGENT_URL": agent.url, "VIVA_AGENT_KEY": "the-wrong-one"}
    ran = viva_command(tmp_path, "run", "agent.yml", *scripted(tmp_path), env=env)
    assert ran.returncode == 3
    assert "401" in ran.stdout + ran.stderr
    assert "check the key" in " ".join((ran.stdout + ran.stderr).split())
    assert "the-wrong-one" not in ran.stdout + ran.stderr
    assert len(agent.calls) <= 2


@pytest.mark.parametrize("role", ["user", "judge"])
def test_a_run_with_nobody_in_a_part_says_how_to_name_one_before_the_agent_hears_a_word(agent, tmp_path, role):
    (tmp_path / "agent.yml").write_text(JOB)
    words = scripted(tmp_path)
    del words[words.index(f"--{role}") : words.index(f"--{role}") + 2]
    ran = viva_command(tmp_path, "run", "agent.yml", *words, env={"VIVA_AGENT_URL": agent.url})
    assert ran.returncode == 2
    assert f"no model to play the {role} (use --{role} NAME" in ran.stderr
    assert agent.calls == []


def test_a_cypher_syntax_error_is_shown_with_the_query(agent, bolt, tmp_path):
    (tmp_path / "agent.yml").write_text(
        JOB + "assertions: [{cypher: 'MATCH (r:Reminder RETURN count(r)', expected: 1}]\n"
    )
    env = {
        "NEO_URI": bolt.uri,
        "NEO_USERNAME": bolt.username,
        "NEO_PASSWORD": bolt.password,
        "NEO_DATABASE": "neo4j",
        "VIVA_AGENT_URL": agent.url,
    }
    ran = viva_command(tmp_path, "run", "agent.yml", *scripted(tmp_path), env=env)
    assert ran.returncode in (2, 3)
    shown = viva_command(tmp_path, "show", "latest", "--trials", "--json", env=env)
    told = " ".join((ran.stdout + ran.stderr + shown.stdout).split())
    assert "cypher_syntax" in told
    assert "Traceback" not in ran.stderr


def test_the_lenient_reader_only_mentions_unknown_keys(tmp_path):
    (tmp_path / "agent.yml").write_text(JOB + "colour: red\n")
    ran = viva_command(tmp_path, "validate", "agent.yml", "--lenient")
    assert ran.returncode == 0, ran.stderr
    assert "colour" in ran.stderr + ran.stdout
