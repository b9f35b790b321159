"""An expression without a value is an error with a kind, a place and a hint; never false, never 0."""

from __future__ import annotations

import pytest

from viva.expressions import ExpressionError, compile_expression

DATA = {"state": {"resources": [{"id": "1", "name": "Milk", "labels": ["A"]}], "count": 2, "share": 0.5, "none": None}}


@pytest.mark.parametrize(
    ("source", "kind", "column"),
    [
        ("state.resorces", "no_such_field", 7),
        ("state.resources[0].type == 'A'", "no_such_field", 20),
        ("state['nope']", "no_such_field", 7),
        ("state.resources[3]", "index", 17),
        ("state.count.x", "type_mismatch", 13),
        ("state.count + 0.5", "type_mismatch", 13),
        ("state.count < 'a'", "type_mismatch", 13),
        ("state.none.x", "type_mismatch", 12),
        ("size(state.count) == 1", "type_mismatch", 1),
        ("state.count / 0", "divide_by_zero", 13),
        ("state.count % 0", "divide_by_zero", 13),
        ("9223372036854775807 + state.count", "overflow", 21),
        ("int('x')", "conversion", 1),
        ("state.count.exists(x, true)", "type_mismatch", 1),
        ("state.resources.all(r, r.name)", "type_mismatch", 24),
        ("'a'.matches(state.resources[0].name + '(')", "bad_pattern", 5),
    ],
)
def test_an_error_at_run_time_has_its_kind_and_column(source: str, kind: str, column: int) -> None:
    program = compile_expression(source, DATA)
    with pytest.raises(ExpressionError) as caught:
        program.evaluate(DATA)
    assert (caught.value.kind, caught.value.line, caught.value.column) == (kind, 1, column)


@pytest.mark.parametrize(
    ("source", "kind", "column"),
    [
        ("stat.count == 1", "no_such_name", 1),
        ("sizee(state)", "no_such_function", 1),
        ("state.resources.exist(r, true)", "no_such_function", 17),
        ("state.count == ", "syntax", 16),
        ("state.count = 1", "syntax", 13),
        ("state.name.matches('(')", "bad_pattern", 20),
        ("size(state", "syntax", 11),
        ("'open", "syntax", 1),
        ("state.\n  count ==\n  == 1", "syntax", 3),
    ],
)
def test_a_typo_is_found_before_any_data_is(source: str, kind: str, column: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source, DATA)
    assert (caught.value.kind, caught.value.column) == (kind, column)


def test_a_missing_field_names_the_fields_there_are_and_the_nearest() -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression("state.resources.exists(r, r.type == 'A')", DATA).evaluate(DATA)
    assert caught.value.detail == "no field 'type'; there are: id, name, labels; did you mean 'labels'?"
    with pytest.raises(ExpressionError, match="did you mean 'resources'"):
        compile_expression("state.resorces", DATA).evaluate(DATA)


def test_the_place_is_shown_with_a_caret() -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression("size(state.resources) == 1 &&\n  state.cuont == 2", DATA).evaluate(DATA)
    assert caught.value.line == 2
    shown = caught.value.display().splitlines()
    assert shown[0].startswith("2:9: no field 'cuont'")
    assert shown[1][shown[2].index("^")] == "c"


def test_hostile_field_names_cannot_write_to_the_terminal() -> None:
    data = {"state": {"\x1b[2J" + "x" * 500: 1, "\u202e": 2}}
    with pytest.raises(ExpressionError) as caught:
        compile_expression("state.a", data).evaluate(data)
    assert "\x1b" not in str(caught.value) and "\u202e" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_claim_must_be_exactly_true_or_false() -> None:
    for source in ("state.count", "state.resources", "null", "'true'"):
        with pytest.raises(ExpressionError) as caught:
            compile_expression(source, DATA).holds(DATA)
        assert caught.value.kind == "not_boolean"


def test_a_false_claim_says_which_part_and_why() -> None:
    program = compile_expression("state.count == 2 && size(state.resources) == 3", DATA)
    assert program.holds(DATA) is False
    assert program.explain(DATA) == "size(state.resources) == 3 is false: size(state.resources) is 1"


def test_integers_and_doubles_compare_but_do_not_add_up_silently() -> None:
    assert compile_expression("state.count > 1.5 && state.share < 1", DATA).holds(DATA)
    with pytest.raises(ExpressionError, match=r"write 1\.0 for 1"):
        compile_expression("state.share + 1 > 0.0", DATA).evaluate(DATA)


def test_a_list_contains_an_item_as_in_other_languages() -> None:
    assert compile_expression("state.resources[0].labels.contains('A')", DATA).holds(DATA)
    assert not compile_expression("state.resources[0].labels.contains('B')", DATA).holds(DATA)


def test_a_program_knows_which_names_it_looks_at() -> None:
    program = compile_expression(
        "state.resources.all(output, output.id != 'x') || text == ''", ["state", "output", "text"]
    )
    assert program.names == {"state", "text"}


def test_a_name_without_a_value_is_an_error() -> None:
    with pytest.raises(ExpressionError, match="nothing is bound to 'state'"):
        compile_expression("state.x", ["state"]).evaluate({})


def test_the_json_of_other_machines_may_hold_integers_that_do_not_fit() -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression("n > 1", ["n"]).evaluate({"n": 2**70})
    assert caught.value.kind == "overflow"
