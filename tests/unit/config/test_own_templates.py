"""A suite may bring prompts of its own, where the user allows it."""

import pytest

import viva
from viva.config.load import load_suite
from viva.core.errors import SuiteError
from viva.registry import Registry

SUITE = """
suite: own
subject: {openai: {base_url: "http://127.0.0.1:1/v1", model: m}}
templates: {each: judge.jinja}
criteria: [Says hello]
cases: [{id: a, input: Hi}]
"""
OWN = "Is this so: {{ criterion }}?\n=== user ===\n{{ transcript }}\n{{ polarity }}"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "suite.yml").write_text(SUITE)
    (tmp_path / "judge.jinja").write_text(OWN)
    return tmp_path


def load(folder, allow=("templates",)):
    return load_suite(folder / "suite.yml", registry=Registry(allow=allow))


def test_a_template_is_read_and_counts_as_a_source_of_the_suite(folder):
    suite = load(folder)
    assert suite.templates == {"each": OWN}
    assert [source.path for source in suite.sources] == ["suite.yml", "judge.jinja"]


def test_without_permission_it_is_refused_with_its_line_and_the_flag(folder):
    with pytest.raises(SuiteError) as refused:
        load(folder, allow=())
    assert "suite.yml:4" in str(refused.value)
    assert "--allow templates" in str(refused.value)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("each:", "eech:", "did you mean 'each'"),
        ("judge.jinja", "../judge.jinja", "suite.yml:4"),
        ("judge.jinja", "missing.jinja", "suite.yml:4"),
    ],
)
def test_what_cannot_be_used_is_refused_when_the_suite_is_loaded(folder, before, after, said):
    (folder / "suite.yml").write_text(SUITE.replace(before, after))
    with pytest.raises(SuiteError) as refused:
        load(folder)
    assert said in str(refused.value)


def test_a_template_that_could_grow_is_refused(folder):
    (folder / "judge.jinja").write_text("{{ 'a' * 10 ** 9 }}")
    with pytest.raises(SuiteError, match=r"suite\.yml:4"):
        load(folder)


def test_the_judge_asks_in_the_suites_own_words_and_the_hash_tells(folder, monkeypatch):
    rules = "- when: {contains: 'Is this so: \"Says hello\"?'}\n  reply: {id: $nonce, reason: It does., answer: met}\n"
    (folder / "rules.yml").write_text(rules)
    monkeypatch.chdir(folder)
    own = viva.load_suite(folder / "suite.yml", registry=Registry(allow=("templates",)))
    options = {"subject": lambda text: "hello", "store": folder / "s.db", "allow": ("templates",)}
    run = viva.run(own, roles=viva.Roles(judge="scripted:rules.yml"), **options)
    (trial,) = run.trials
    assert trial.result.outcome == "pass"
    assert trial.scores[0].hash
    assert run.run.templates == {"each": OWN}
