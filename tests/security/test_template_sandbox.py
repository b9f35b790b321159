"""Templates are rendered once, in a sandbox; a suite's own templates cannot grow, call or reach anything."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_room import FakeKit, always, criterion, evidence
from viva.core.errors import SetupError, SuiteError
from viva.judging.judge import build_judge
from viva.judging.template import RENDERED_CHARS, SHIPPED, SOURCE_CHARS, Shelf, Template, render

OWN = """Be an examiner.
=== user ===
Criterion: {{ criterion }}
{% for entry in menu %}{{ loop.index }}. {{ entry.name }}{% endfor %}
{% if question is defined %}{{ question | default('none') | trim }}{% endif %}
{{ transcript }}
"""


@given(st.text(max_size=100))
def test_a_value_is_never_a_template(text: str) -> None:
    shown = Template("t", "[{{ value }}]").render({"value": text})
    assert shown == f"[{text}]"


@pytest.mark.parametrize(
    "text", ["{{ 7 * 7 }}", "{% include 'each' %}", "{criterion}", "{# x #}", "%(a)s", "{{ secret }}"]
)
def test_placeholders_in_a_value_appear_literally(text: str) -> None:
    assert Template("t", "{{ a }}-{{ b }}").render({"a": text, "b": "{{ a }}"}) == f"{text}-{{{{ a }}}}"


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 10**9 }}",
        "{{ 10 ** 9 ** 9 }}",
        "{{ 'a' ~ 'b' }}",
        "{% for i in range(10**9) %}x{% endfor %}",
        "{% for a in x %}{% for b in x %}{% endfor %}{% endfor %}",
        "{% set x = x ~ x %}",
        "{% macro m() %}{{ m() }}{% endmacro %}",
        "{{ x.__class__.__mro__ }}",
        "{{ ''.__class__ }}",
        "{{ x.format(y) }}",
        "{{ x() }}",
        "{{ x | attr('__class__') }}",
        "{{ x | center(1000000000) }}",
        "{{ x | indent(1000000000) }}",
        "{{ x | join('" + "y" * 100 + "') }}",
        "{{ x | join(',') | join(',') }}",
        "{{ x | map('upper') | list }}",
        "{{ '%s' | format(x) }}",
        "{{ [x, x] }}",
        "{{ x[0:5] }}",
        "{% include 'each' %}",
        "{% import 'each' as e %}",
        "{% extends 'each' %}",
        "{% block b %}{% endblock %}",
        "{% call x() %}{% endcall %}",
        "{% filter upper %}x{% endfilter %}",
        "{% for i in x recursive %}{{ loop(i) }}{% endfor %}",
        "{{ lipsum(1000) }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ self }}{{ self._TemplateReference__context }}",
        "{% with a = x %}{{ a }}{% endwith %}",
        "{% autoescape true %}{% endautoescape %}",
        "{% for i in x %}{% endfor %}" * 21,
        "{{ " + "not " * 200 + "x }}",
        "x" * (SOURCE_CHARS + 1),
    ],
)
def test_a_suites_template_that_could_grow_or_reach_out_is_refused(source: str) -> None:
    with pytest.raises(SuiteError) as caught:
        Template("each", source, trusted=False)
    assert "each" in str(caught.value)


def test_a_suites_template_cannot_render_without_end() -> None:
    template = Template("each", "{% for a in x %}" + "y" * 1000 + "{% endfor %}", trusted=False)
    with pytest.raises(SuiteError, match="renders more than"):
        template.render({"x": "z" * (RENDERED_CHARS // 500)})


@pytest.mark.parametrize("source", ["{{ x", "{% if %}", "{% nonsense %}", "{{ x | nonsense }}"])
def test_a_broken_template_is_refused_when_it_is_read(source: str) -> None:
    with pytest.raises(SuiteError):
        Template("each", source, trusted=False)


def test_shipped_templates_have_no_way_to_python_either() -> None:
    template = Template("t", "{{ x.__class__ }}")
    with pytest.raises(SuiteError):
        template.render({"x": "y"})


def test_an_undefined_name_is_an_error_not_a_gap() -> None:
    with pytest.raises(SuiteError, match="cannot be rendered"):
        Template("t", "{{ nobody }}").render({})


async def test_a_suite_may_replace_a_template_and_its_hash_changes() -> None:
    model = always("met")
    own = build_judge(FakeKit(model, templates={"each": OWN}))
    [found] = await own.judge(evidence(), [criterion()])
    [usual] = await build_judge(FakeKit(model)).judge(evidence(), [criterion()])
    assert found.template != usual.template
    assert own.hash != build_judge(FakeKit(model)).hash
    assert model.requests[0].messages[0].text == "Be an examiner."
    assert "1. met2. not_met" in model.requests[0].messages[1].text
    assert model.requests[0].nonce in model.requests[0].messages[1].text


def test_a_replaced_template_that_uses_an_unknown_name_is_refused_at_once() -> None:
    with pytest.raises(SuiteError, match="'reply', which it is not given"):
        build_judge(FakeKit(always("met"), templates={"each": "{{ criterion }} {{ reply }}"}))


async def test_a_replaced_template_gets_evidence_only_behind_the_fence() -> None:
    model = always("met")
    await build_judge(FakeKit(model, templates={"each": "{{ transcript }}"})).judge(evidence("}} {{ x"), [criterion()])
    shown = model.requests[0].messages[0].text
    assert shown.startswith(f"<<<transcript {model.requests[0].nonce}\n")


def test_every_shipped_template_compiles_and_an_unknown_one_is_named() -> None:
    shelf = Shelf()
    for path in SHIPPED.glob("*.jinja"):
        assert len(shelf.get(path.stem).hash) == 16
    with pytest.raises(SetupError, match="no template called 'eech'"):
        shelf.get("eech")


def test_a_template_name_is_no_way_out_of_the_folder() -> None:
    with pytest.raises(SetupError):
        render("../fence", {})
