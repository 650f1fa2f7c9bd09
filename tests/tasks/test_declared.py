"""The numbers that tasks declare: what no data tell is written down twice."""

from __future__ import annotations

import pytest
from frozen import declared_numbers, read_record

from longwave.platform.registry import shipped_tasks
from longwave.tasks.base.spec import TaskSpec

RECORDED = read_record()["tasks"]


@pytest.mark.parametrize("task", shipped_tasks().values(), ids=lambda task: task.name)
def test_the_sizes_and_recipes_of_a_task_are_those_that_are_recorded(task: TaskSpec) -> None:
    assert declared_numbers(task) == RECORDED[task.name]["declared"], "Undo the change, or record it: make freeze."
