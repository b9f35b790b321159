"""What follows from tasks: a criterion for each one that says when it is done, and an eye on whoever plays the user."""

from __future__ import annotations

from collections.abc import Sequence

from viva.core.case import Task
from viva.core.check import Check
from viva.core.criterion import Criterion, Level
from viva.core.text import shorten

TASKS = "tasks"
"""The section of the scores of tasks."""

LEVELS = (
    Level(name="0", value=0.0, text="not done, or done wrongly"),
    Level(name="0.25", value=0.25, text="mostly missing"),
    Level(name="0.5", value=0.5, text="half done, or done with a serious flaw"),
    Level(name="0.75", value=0.75, text="done with a small flaw"),
    Level(name="1", value=1.0, text="fully done"),
)

AUDIT = Check(scorer="user", weight=0.0, section="user")
"""Examines the simulated user; it weighs nothing."""


def task_criteria(tasks: Sequence[Task]) -> tuple[Criterion, ...]:
    """One graded criterion per task with an acceptance text, named by its place."""
    return tuple(
        Criterion(
            id=f"task-{number}",
            title=shorten(task.text, 60),
            text=f"The user wanted: {task.text}\nIt is done when: {task.acceptance}",
            levels=LEVELS,
            section=TASKS,
            where=task.where,
        )
        for number, task in enumerate(tasks, start=1)
        if task.acceptance
    )
