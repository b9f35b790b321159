"""A prompt put together from pieces is the prompt that would have been rendered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge_room import always, criteria, criterion, evidence, judge_of
from viva.core.criterion import Level
from viva.core.data import replace
from viva.core.evidence import Observed
from viva.judging.exhibits import EXHIBITS, Exhibits
from viva.judging.judge import ModelJudge
from viva.judging.outline import MOST_KEPT, Outlines
from viva.judging.template import SHIPPED, Shelf, Template, shipped
from viva.judging.wording import wording

RATED = sorted(
    path.stem for path in SHIPPED.glob("*.jinja") if not path.stem.startswith("reply") and path.stem != "repair"
)
ODD = "\x00 {{ id }} \x02transcript\x03 %s {transcript} \\1 \u202e"


def full() -> Any:
    case = replace(evidence().case, expected="Paris", facts=(ODD,), context=["A page."])
    return replace(evidence(ODD, case=case), state={"state": Observed(value={ODD: 1})})


@pytest.mark.parametrize("seen", [evidence(), evidence(None), full()], ids=["short", "silent", "full"])
@pytest.mark.parametrize(
    "asked",
    [
        criterion(),
        criterion(ODD, pitfall=True),
        criterion("Graded.", levels=(Level(name="none", value=0.0, text=ODD), Level(name="all", value=1.0))),
    ],
    ids=["plain", "odd", "graded"],
)
def test_every_criterion_reads_the_same_put_together_or_rendered(seen: Any, asked: Any) -> None:
    each, outlines = shipped(SHIPPED, "each"), Outlines()
    one = wording(asked)
    for nonce in ("a" * 32, "b" * 32):
        late = Exhibits(seen, each.names).fenced(nonce)
        drawn = outlines.parts(each, one.told, one.values(), late)
        assert drawn == each.parts({**one.values(), **late})


@pytest.mark.parametrize("name", RATED)
def test_every_shipped_template_reads_the_same(name: str) -> None:
    template, outlines = shipped(SHIPPED, name), Outlines()
    same = {"menu": wording(criterion()).entries, "criteria": [one.item("1") for one in map(wording, criteria(2))]}
    values = {key: value for key, value in same.items() if key in template.names - EXHIBITS.keys()}
    late = {key: f"<<<{key} n\n1\n{key} n>>>" for key in template.names - values.keys()}
    for empty in ("", *late):
        shown = {**late, empty: ""} if empty else late
        assert outlines.parts(template, "same", values, shown) == template.parts({**values, **shown})


def test_what_a_template_works_with_is_rendered_anew() -> None:
    template = Template("t", "{{ text | upper }} {{ name }}{% if other == 'x' %} x{% endif %}")
    assert template.worked == {"text", "other"}
    drawn = Outlines()
    for text in ("a", "b"):
        late = {"text": text, "name": "n", "other": "x"}
        assert drawn.parts(template, 0, {}, late) == [("user", f"{text.upper()} n x")]


def test_a_name_that_is_placed_here_and_worked_with_there_is_worked_with() -> None:
    template = Template("t", "{{ text }}\n=== user ===\n{% for sign in text %}{{ sign }}-{% endfor %}")
    assert "text" in template.worked
    assert Outlines().parts(template, 0, {}, {"text": "ab"}) == [("system", "ab"), ("user", "a-b-")]


def test_a_suites_own_template_is_always_rendered_under_its_bound() -> None:
    assert Template("t", "{{ transcript }} {{ id }}", trusted=False).worked == {"transcript", "id"}


async def test_a_form_of_reply_in_several_parts_is_kept_whole(tmp_path: Path) -> None:
    form = 'Reply.\n=== user ===\n{"id": "{{ id }}"} {{ answers | join(" or ") }}'
    model = always("met")
    judge = ModelJudge(model, Shelf(replaced=lambda name: form if name == "reply" else ""))
    await judge.judge(evidence(), [criterion()])
    [request] = model.requests
    assert request.messages[-1].text.endswith(f'Reply.\n\n{{"id": "{request.nonce}"}} met or not_met or cannot_tell')


async def test_every_call_still_has_its_own_nonce() -> None:
    model = always("met")
    await judge_of(model).judge(evidence(), criteria(3))
    await judge_of(model).judge(evidence(), criteria(3))
    for request in model.requests:
        others = {other.nonce for other in model.requests} - {request.nonce}
        assert request.messages[-1].text.count(request.nonce) == 3
        assert not any(other in request.messages[-1].text for other in others)


def test_outlines_do_not_grow_without_end() -> None:
    template, outlines = Template("t", "{{ name }}"), Outlines()
    for number in range(MOST_KEPT + 10):
        outlines.parts(template, number, {}, {"name": "n"})
    assert len(outlines._known) <= MOST_KEPT
