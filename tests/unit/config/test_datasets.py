"""Cases from files: whole records are kept, bad ones named by their line."""

from __future__ import annotations

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from viva.config import records
from viva.config.load import load_suite
from viva.config.records import read_records
from viva.core.errors import SuiteError
from viva.core.suite import Suite
from viva.registry import Registry


@pytest.fixture
def draw(tmp_path: Path, registry: Registry) -> Any:
    """Write a data set and a suite that draws from it, and read the suite."""

    def read(name: str, content: str | bytes, keys: str = "", warn: Any = None, rest: str = "") -> Suite:
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        (tmp_path / "suite.yml").write_text(f"suite: x\n{rest}dataset:\n  file: {name}\n{keys}")
        return load_suite(tmp_path / "suite.yml", registry=registry, warn=warn)

    return read


def inputs(suite: Suite) -> list[Any]:
    return [case.input for case in suite.cases]


def test_jsonl_columns_are_mapped_by_dotted_paths(draw: Any) -> None:
    rows = [
        {"key": "a", "q": {"text": ["one", "two"]}, "answer": {"value": 5}, "a.b": "dotted", "topic": "t"},
        {"key": "b", "q": {"text": ["three", "four"]}, "a.b": "dotted too", "topic": None},
    ]
    keys = "  map: {id: key, input: q.text.1, expected: answer.value?, context: a.b, metadata.topic: topic}\n"
    suite = draw("cases.jsonl", "".join(json.dumps(row) + "\n" for row in rows), keys)
    assert [(c.id, c.input, c.expected, c.context, c.metadata) for c in suite.cases] == [
        ("a", "two", 5, "dotted", {"topic": "t"}),
        ("b", "four", None, "dotted too", {"topic": None}),
    ]
    assert [case.where for case in suite.cases] == ["cases.jsonl:1", "cases.jsonl:2"]


def test_without_a_map_keys_of_a_case_are_taken_and_the_rest_is_metadata(draw: Any) -> None:
    row = {"id": "a", "input": "hi", "expected": "ho", "source": "web", "tags": ["t"], "facts": ["f"]}
    case = draw("cases.jsonl", json.dumps(row)).cases[0]
    assert (case.id, case.input, case.expected, case.tags, case.facts) == ("a", "hi", "ho", ("t",), ("f",))
    assert case.metadata == {"source": "web"}


def test_several_columns_make_one_structured_input(draw: Any) -> None:
    suite = draw("cases.csv", "q,img\nwhat,x.png\n", "  map: {input: {question: q, image: img}}\n")
    assert inputs(suite) == [{"question": "what", "image": "x.png"}]


def test_rows_share_the_suite_s_defaults(draw: Any) -> None:
    suite = draw("cases.jsonl", '{"input": 1}\n' * 100, rest="checks: [{contains: a}]\ncriteria: [c]\n")
    assert [case.id for case in suite.cases][:2] == ["case-1", "case-2"]
    assert all(
        case.checks is suite.cases[0].checks and case.criteria is suite.cases[0].criteria for case in suite.cases
    )


def test_a_row_may_carry_the_data_of_a_case(draw: Any) -> None:
    row = {
        "input": "a",
        "criteria": ["plain", {"text": "c", "weight": 2, "pitfall": True}],
        "turns": ["x"],
        "tasks": [{"text": "t", "acceptance": "done"}],
    }
    case = draw("cases.jsonl", json.dumps(row)).cases[0]
    assert [(one.text, one.weight) for one in case.criteria[:2]] == [("plain", 1), ("c", 2)]
    assert case.driver.name == "script"
    assert case.driver.settings == {"turns": ["x"]}
    assert case.tasks[0].acceptance == "done"
    with pytest.raises(SuiteError, match="unknown key 'wieght'") as error:
        draw("cases.jsonl", "\n" + json.dumps({"criteria": [{"text": "c", "wieght": 2}]}))
    assert error.value.where == "cases.jsonl:2"


def test_a_row_may_bring_checks_where_the_suite_maps_a_column_to_them(draw: Any) -> None:
    row = {"q": "a", "wanted": [{"contains": "b", "weight": 2}, "fuzzy"], "ignored": 1, "driver": "ignored"}
    keys = "  map: {input: q, checks: wanted}\n"
    case = draw("cases.jsonl", json.dumps(row), keys, rest="checks: [{contains: of the suite}]\n").cases[0]
    assert [(one.scorer, one.settings, one.weight) for one in case.checks] == [
        ("contains", {"text": "of the suite"}, 1),
        ("contains", {"text": "b"}, 2),
        ("fuzzy", {}, 1),
    ]
    assert (case.driver.name, case.metadata) == ("once", {})


def test_a_column_without_a_value_sets_nothing(draw: Any) -> None:
    case = draw("cases.jsonl", '{"input": "a", "driver": null, "checks": null, "stage": null}\n').cases[0]
    assert (case.input, case.checks, case.driver.name, case.metadata) == ("a", (), "once", {})


def test_a_refused_record_is_skipped_with_its_line_where_bad_ones_are(draw: Any) -> None:
    said: list[str] = []
    content = '{"input": 1}\n{"input": 2, "driver": "once"}\n'
    assert inputs(draw("a.jsonl", content, "  skip_bad: true\n", warn=said.append)) == [1]
    assert said == ["a.jsonl:2: a record cannot set 'driver': a data set is data; skipped"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_of_a_csv_is_found_out(draw: Any, delimiter: str) -> None:
    table = [
        ["id", "input", "expected"],
        ["a", 'say "hi", now; or | never', "x"],
        ["b", "two\nlines\n\nof text", "y;z"],
    ]
    quoted = "\r\n".join(delimiter.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in table)
    suite = draw("cases.csv", "\ufeff" + quoted)
    assert [(c.id, c.input, c.expected) for c in suite.cases] == [
        tuple(table[1]),
        ("b", "two\nlines\n\nof text", "y;z"),
    ]
    assert [case.where for case in suite.cases] == ["cases.csv:2", "cases.csv:3"]


def test_the_line_of_a_csv_record_is_where_it_begins(draw: Any) -> None:
    suite = draw("cases.csv", 'input\n"a\nb\nc"\n\n"d"\n')
    assert [case.where for case in suite.cases] == ["cases.csv:2", "cases.csv:6"]


def test_a_delimiter_may_be_given(draw: Any) -> None:
    assert inputs(draw("cases.txt", "input:expected\na:b\n", '  format: csv\n  delimiter: ":"\n')) == ["a"]


def test_cells_may_be_longer_than_the_csv_module_expects(draw: Any) -> None:
    assert inputs(draw("cases.csv", f"input,x\n{'a' * 500_000},y\n", "  map: {input: input}\n")) == ["a" * 500_000]


def test_a_yaml_list_is_a_data_set(draw: Any) -> None:
    suite = draw("cases.yml", "- question: no\n  n: 1\n- question: 12:30\n", "  map: {input: question}\n")
    assert inputs(suite) == ["no", "12:30"]
    assert suite.cases[1].where == "cases.yml:3"


def test_several_data_sets_and_cases_of_its_own(tmp_path: Path, registry: Registry) -> None:
    (tmp_path / "a.jsonl").write_text('{"input": "a"}\n{"input": "b"}\n{"input": "c"}\n')
    (tmp_path / "b.csv").write_text("input\nd\n")
    (tmp_path / "s.yml").write_text(
        "suite: x\ntags: all\ncases: [{input: z}]\n"
        "dataset:\n- {file: a.jsonl, limit: 2, tags: [first]}\n- {file: b.csv}\n"
    )
    suite = load_suite(tmp_path / "s.yml", registry=registry)
    assert inputs(suite) == ["z", "a", "b", "d"]
    assert [case.tags for case in suite.cases] == [("all",), ("all", "first"), ("all", "first"), ("all",)]


@pytest.mark.parametrize(
    ("name", "content", "line", "words"),
    [
        ("a.jsonl", b'{"input": 1}\n{"input": \n{"input": 3}\n', 2, "not JSON"),
        ("a.jsonl", b'{"input": 1}\n{"inp', 2, "not JSON"),
        ("a.jsonl", b'{"input": "a"}\n{"input": "\0"}\n', 2, "not JSON"),
        ("a.jsonl", b'{"input": "a"}\n{"input": "\xff"}\n', 2, "not UTF-8"),
        ("a.jsonl", b'{"input": "a"}\n{"input": "\\ud800"}\n', 2, "not JSON"),
        ("a.jsonl", b"[1]\n", 1, "not a JSON object"),
        ("a.jsonl", b"\n\n" + b"[" * 5000 + b"\n", 3, "not JSON"),
        ("a.jsonl", b'{"input": ' + b"[" * 100 + b"]" * 100 + b"}\n", 1, "64 levels"),
        ("a.jsonl", b'{"input": NaN}\n', 1, "not JSON"),
        ("a.jsonl", '{"a": 1}'.encode("utf-16"), 1, "UTF-16"),
        ("a.csv", b"input,b\n1,2\n1,2,3\n", 3, "3 cells; the header has 2"),
        ("a.csv", b"input,b\n1\n", 2, "1 cells; the header has 2"),
        ("a.csv", b'input,b\n1,2\n"a', 3, "unexpected end"),
        ("a.csv", b"input,b\n1,\xff\n", 2, "not UTF-8"),
        ("a.csv", b"input,b\n1,\0\n", 2, "NUL"),
        ("a.csv", b"input,input\n1,2\n", 1, "'input' is there twice"),
        ("a.yml", b"a: 1\n", 1, "a list of records"),
        ("a.yml", b"- {input: a}\n- b\n", 2, "not a mapping"),
        ("a.yml", b"- {input: a}\n- {input: !!python/name:os.system x}\n", 2, "tag"),
    ],
)
def test_a_bad_record_is_named_by_its_line(draw: Any, name: str, content: bytes, line: int, words: str) -> None:
    with pytest.raises(SuiteError, match=words) as error:
        draw(name, content)
    assert error.value.where == f"{name}:{line}"


def test_a_jsonl_cut_at_any_byte_gives_all_whole_records_and_names_the_torn_line(tmp_path: Path) -> None:
    lines = [json.dumps({"input": text}, ensure_ascii=False).encode() for text in ("a", "zwei 😀", "x\\y", "d")]
    whole = b"\n".join(lines) + b"\n"
    path = tmp_path / "cut.jsonl"
    for cut in range(len(whole) + 1):
        path.write_bytes(whole[:cut])
        found = list(read_records(path, "cut.jsonl", "jsonl"))
        complete = whole[:cut].count(b"\n")
        rest = whole[:cut].rpartition(b"\n")[2]
        is_whole_without_its_newline = rest in lines
        good = [record for record in found if not record.problem]
        assert len(good) == complete + is_whole_without_its_newline
        bad = [record.line for record in found if record.problem]
        assert bad == ([complete + 1] if rest and not is_whole_without_its_newline else [])


def test_whole_records_around_garbage_are_accepted_when_asked(draw: Any) -> None:
    said: list[str] = []
    garbage = b'{"input": 1}\n\0\0\0\n{"input": 2}\n\xff\xfe\n{"inp\n[]\n{"input": 3}\n{"inpu'
    suite = draw("a.jsonl", garbage, "  skip_bad: true\n", warn=said.append)
    assert inputs(suite) == [1, 2, 3]
    assert [line.split(": ")[0] for line in said] == [f"a.jsonl:{n}" for n in (2, 4, 5, 6, 8)]
    assert all(line.endswith("; skipped") for line in said)
    rows = b"input,b\n1,2\n\xff,2\n1\n2,3\n\0,1\n3,4\n"
    assert inputs(draw("a.csv", rows, "  skip_bad: true\n", warn=said.append)) == ["1", "2", "3"]


def test_a_line_of_100_megabytes_is_read_past_and_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_LINE_BYTES", 1_000_000)
    path = tmp_path / "long.jsonl"
    with path.open("wb") as file:
        file.write(b'{"input": 1}\n{"input": "')
        for _ in range(100):
            file.write(b"a" * 1_000_000)
        file.write(b'"}\n{"input": 2}\n')
    tracemalloc.start()
    try:
        found = list(read_records(path, "long.jsonl", "jsonl"))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [(record.line, bool(record.problem)) for record in found] == [(1, False), (2, True), (3, False)]
    assert "1,000,000 bytes" in found[1].problem
    assert peak < 20_000_000
    text = path.rename(tmp_path / "long.csv")
    assert any("1,000,000 bytes" in record.problem for record in read_records(text, "long.csv", "csv", ","))


def test_a_record_without_a_mapped_column_is_bad_and_names_the_nearest(draw: Any) -> None:
    content = '{"question": "a"}\n{"qestion": "b"}\n'
    with pytest.raises(SuiteError, match="no 'question' in this record") as error:
        draw("a.jsonl", content, "  map: {input: question}\n")
    assert error.value.where == "a.jsonl:2"
    assert "did you mean 'qestion'?" in str(error.value)
    said: list[str] = []
    assert inputs(draw("a.jsonl", content, "  map: {input: question}\n  skip_bad: true\n", warn=said.append)) == ["a"]
    assert len(said) == 1


@pytest.mark.parametrize(
    ("keys", "words", "line"),
    [
        ("  map: {inptu: q}\n", "did you mean 'input'", 4),
        ("  map: {input: 5}\n", "named by text", 4),
        ("  format: xml\n", "'xml' is not one of its values", 4),
        ("  limit: 0\n", "at least 1", 4),
    ],
)
def test_a_wrong_description_of_a_data_set_is_told_in_the_suite(draw: Any, keys: str, words: str, line: int) -> None:
    with pytest.raises(SuiteError, match=words) as error:
        draw("a.jsonl", '{"q": "a"}\n', keys)
    assert error.value.where.endswith(f"suite.yml:{line}")


def test_a_file_that_is_empty_or_of_no_known_kind_is_refused(draw: Any) -> None:
    with pytest.raises(SuiteError, match="no usable record"):
        draw("a.jsonl", "\n\n")
    with pytest.raises(SuiteError, match="no usable record"):
        draw("a.csv", "input,b\n")
    with pytest.raises(SuiteError, match="does not say what it is"):
        draw("a.parquet", "x")


def test_ids_are_unique_across_files(draw: Any) -> None:
    with pytest.raises(SuiteError, match=r"used twice, first at a\.jsonl:1") as error:
        draw("a.jsonl", '{"id": "a"}\n{"id": "a"}\n')
    assert error.value.where == "a.jsonl:2"


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    content=st.one_of(st.binary(max_size=200), st.text(alphabet='{}[]",:\n\r;|a\0é\\', max_size=100).map(str.encode))
)
@pytest.mark.parametrize("format", ["jsonl", "csv", "yaml"])
def test_no_file_raises_anything_but_a_suite_error(tmp_path: Path, format: str, content: bytes) -> None:
    path = tmp_path / "any"
    path.write_bytes(content)
    try:
        for record in read_records(path, "any", format):
            assert record.line >= 1
    except SuiteError as error:
        assert error.where.startswith("any:")


def test_a_data_set_that_vanishes_is_a_suite_error(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="cannot be read"):
        list(read_records(tmp_path / "gone.jsonl", "gone.jsonl", "jsonl"))
    if os.geteuid() != 0:
        (tmp_path / "locked.jsonl").write_text("{}")
        (tmp_path / "locked.jsonl").chmod(0)
        with pytest.raises(SuiteError, match="cannot be read"):
            list(read_records(tmp_path / "locked.jsonl", "locked.jsonl", "jsonl"))
