"""Kotlin assertions of Embabel jobs become CEL; what has no translation is refused with its column."""

from __future__ import annotations

from typing import Any

import pytest

from viva.expressions import ExpressionError, compile_expression, kotlin_to_cel

CONTEXT: dict[str, Any] = {
    "context": "user-1",
    "empty": None,
    "resources": [
        {"id": "1", "name": "Milk", "labels": ["Reminder", "DomainNode"], "score": 3, "properties": {"due": "today"}},
        {"id": "2", "name": "Bread", "labels": ["Note"], "score": 5, "properties": {}},
    ],
    "functions": [],
}

TRUE = [
    "objectContext.resources.size == 2",
    "objectContext.resources.size > 1 && objectContext.functions.size == 0",
    "objectContext.functions.isEmpty()",
    "objectContext.resources.isNotEmpty()",
    "!objectContext.resources.isEmpty()",
    'objectContext.resources.any { it.name == "Milk" }',
    'objectContext.resources.any { r -> r.labels.contains("Reminder") }',
    "objectContext.resources.all { it.name.length > 2 }",
    'objectContext.resources.none { it.name == "Eggs" }',
    "objectContext.resources.count { it.score > 1 } == 2",
    "objectContext.resources.count() == 2",
    "objectContext.resources.filter { it.score > 4 }.size == 1",
    'objectContext.resources.filterNot { it.score > 4 }.first().name == "Milk"',
    'objectContext.resources.map { it.name }.contains("Bread")',
    'objectContext.resources.first().name == "Milk"',
    'objectContext.resources.last().name == "Bread"',
    'objectContext.resources.first { it.score == 5 }.name == "Bread"',
    "objectContext.resources.find { it.score == 9 } == null",
    "objectContext.resources.find { it.score == 5 } != null",
    'objectContext.resources[0].name == "Milk"',
    'objectContext.resources.get(1).name == "Bread"',
    'objectContext.context != null && objectContext.context.contains("user")',
    "objectContext != null && objectContext.resources.size == 2",
    "objectContext.empty == null",
    "objectContext.notThere == null",
    "null == objectContext.notThere",
    "(objectContext.notThere != null) == false",
    "objectContext.notThere?.name == null",
    "objectContext.notThere?.a?.b?.c == null",
    "objectContext.context?.length == 6",
    "objectContext.context!!.length == 6",
    '(objectContext.notThere ?: "x") == "x"',
    'objectContext.resources.any { it.properties["due"] == "today" }',
    "objectContext.resources.any { a -> objectContext.resources.any { b -> a.id != b.id } }",
    'objectContext.resources.any { it.labels.any { it == "Note" } }',
    'objectContext.resources.first().name.startsWith("Mi") || false',
    'objectContext.resources.first().name.endsWith("lk")',
    'objectContext.resources.first().name.lowercase() == "milk"',
    'objectContext.resources.first().name.equals("MILK", ignoreCase = true)',
    'objectContext.resources.first().name.contains("ILK", ignoreCase = true)',
    'objectContext.resources.first().name.matches(Regex("M.lk"))',
    '!objectContext.resources.first().name.matches(Regex("M.l"))',
    "objectContext.resources.first().score in 1..3",
    "objectContext.resources.first().score !in listOf(1, 2)",
    '"Reminder" in objectContext.resources.first().labels',
    'objectContext.resources.first().labels.containsAll(listOf("Reminder", "DomainNode"))',
    "objectContext.resources.first().score + 2L == 5",
    'val found = objectContext.resources.filter { it.score > 4 }\nfound.size == 1 && found.first().name == "Bread"',
    "objectContext.resources.size == 2 // a comment",
    'objectContext.context == """user-1"""',
]
REFUSED = [
    ("if (true) 1 else 2", 1),
    ("objectContext.resources.fold(0) { a -> 1 }", 25),
    ('"$name" == "x"', 2),
    ('"${1 + 1}" == "2"', 2),
    ("java.lang.Runtime.getRuntime()", 19),
    ('objectContext.javaClass.forName("x")', 25),
    ("objectContext is String", 15),
    ("objectContext as String", 15),
    ("objectContext === objectContext", 15),
    ("fun x() = 1", 1),
    ("import java.io.File", 1),
    ("System.exit(0)", 8),
    ("println(1)", 1),
    ("objectContext.resources.keys", 25),
    ("x = 1", 3),
    ("objectContext.resources.size ==", 32),
    ("objectContext.resources.any { it.name", 38),
    ("'open", 1),
    ("objectContext::class", 14),
    ("return true", 1),
]


@pytest.mark.parametrize("source", TRUE)
def test_a_kotlin_form_means_the_same_in_cel(source: str) -> None:
    program = compile_expression(kotlin_to_cel(source), ["objectContext"])
    assert program.evaluate({"objectContext": CONTEXT}) is True, kotlin_to_cel(source)


@pytest.mark.parametrize(("source", "column"), REFUSED)
def test_what_has_no_translation_is_refused_at_its_column(source: str, column: int) -> None:
    with pytest.raises(ExpressionError) as caught:
        kotlin_to_cel(source)
    assert caught.value.column == column


def test_a_misspelt_field_is_an_error_and_not_a_null() -> None:
    program = compile_expression(kotlin_to_cel('objectContext.resources.any { it.type == "X" }'), ["objectContext"])
    with pytest.raises(ExpressionError, match=r"no field 'type'; there are: id, name, labels.*did you mean 'labels'"):
        program.evaluate({"objectContext": CONTEXT})


def test_a_translation_that_grows_without_end_is_refused() -> None:
    for source in ("a" + "?.b" * 200, "val a = x + x\n" + "val b = a + a\nval a = b + b\n" * 30 + "a == 1"):
        with pytest.raises(ExpressionError, match="too long"):
            kotlin_to_cel(source)


def test_deep_brackets_are_refused() -> None:
    with pytest.raises(ExpressionError, match="nested"):
        kotlin_to_cel("(" * 500 + "true" + ")" * 500)
