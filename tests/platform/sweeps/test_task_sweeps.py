"""A whole sweep over each generated task: search, retraining, board."""

from __future__ import annotations

import io
import math
from collections.abc import Callable

import pytest
from rich.console import Console

from longwave.platform.registry import all_tasks
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import driver
from longwave.tasks.base.spec import TaskSpec

GENERATED = {name: task for name, task in all_tasks().items() if task.files is None}


@pytest.mark.integration
@pytest.mark.parametrize("task", GENERATED.values(), ids=GENERATED)
def test_a_sweep_over_a_generated_task_ends_with_a_row_beside_the_trivial_ones(
    task: TaskSpec, tiny: Callable[..., SweepFile], store: Store, here: Workers
) -> None:
    steps, model = 2 if task.recipe("").steps else None, "gcn" if task.family == "graph" else "lstm"
    file = tiny(
        task=task.name, variant="N=20" if task.name == "adding" else "", models=[model], trials=2, retrain=1,
        hidden=4, epochs=1, steps=steps, batch=64,
    )  # fmt: skip
    driver.start_sweep(file, store, here, None, Console(file=io.StringIO()))
    trials = store.trials("tiny")
    assert [(t.config.phase, t.status) for t in trials] == [("search", "ok"), ("search", "ok"), ("retrain", "ok")]
    rows = read_board(store, task.name)
    assert {row.model for row in rows if row.trivial} == set(task.baselines) - set(task.lacking())
    row = next(row for row in rows if row.kind == "retrained")
    assert row.n == 1 and row.mean is not None and math.isfinite(row.mean)
    assert row.metric == task.metric.name and row.searched == 2
