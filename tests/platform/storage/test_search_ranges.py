"""A row knows the ranges that its search drew from: those of the plan, and which of them the task's time scale gave."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from small_sweeps import small

from longwave.platform.about import known_model, known_task
from longwave.platform.boards.board import rows
from longwave.platform.registry import get_model, get_task, shipped_models
from longwave.platform.search.space import Dimension, join_dimensions
from longwave.platform.storage.search_ranges import list_ranges
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import store_plan, stored_settings
from longwave.platform.sweeps.plan.trials import first_trials
from longwave.tasks.base.sequences import Sequences

SPACE = {"lem": {"lr": {"low": 0.002, "high": 0.3}}, "cornn": {"dt": 0.05, "gamma": [1.0, 2.0]}}
WIDER = {"trials": 2, "space": {"cornn": {"lr": {"low": 1e-5, "high": 0.2, "log": True}}}}
MODELS = [n for n in shipped_models() if issubclass(Sequences, get_model(n).layer.READS) and not get_model(n).lacks()]


def ranges_by_name(file: SweepFile, model: str) -> dict[str, tuple[Any, ...]]:
    [(task, variant)] = file.variant_by_task.items()
    facts = (
        known_model(get_model(model)).facts,
        known_task(get_task(task), variant or get_task(task).variant, "").facts,
    )
    ranges = list_ranges(model, task, [stored_settings(file)], *facts)
    return {r.name: (r.low, r.high, r.log) for r in ranges}


def first_and_second(first: Dimension, second: Dimension) -> tuple[Any, ...]:
    return min(first.low, second.low), max(first.high, second.high), first.log


@pytest.mark.parametrize(
    "changes",
    [
        {"task": "adding", "variant": "N=20"},
        {"task": "fitzhugh_nagumo", "variant": "", "steps": None},
        {"task": "fitzhugh_nagumo", "variant": "", "steps": None, "rule": 2},
        {"task": "fitzhugh_nagumo", "variant": "", "steps": None, "rule": 2, "space": SPACE},
        {"task": "adding", "variant": "N=20", "space": SPACE, "wider": WIDER},
    ],
    ids=["adding", "rule 1", "rule 2", "ranges of its own", "wider"],
)
def test_the_ranges_of_a_row_are_those_that_its_plan_draws_from(changes: dict[str, Any]) -> None:
    file = small(models=MODELS, **changes)
    for cell in resolve(file).cells:
        known = ranges_by_name(file, cell.base.model)
        pairs = list(zip(cell.space, cell.wider or cell.space, strict=True))
        assert {a.name: known.get(a.name) for a, _ in pairs if not a.choices} == {
            a.name: first_and_second(a, b) for a, b in pairs if not a.choices
        }, cell.label
        assert not {a.name for a, _ in pairs if a.choices} & known.keys() and not cell.base.params.keys() & known.keys()


def test_the_hull_of_a_linear_range_from_0_and_a_logarithmic_one_is_linear() -> None:
    gamma = {"low": 0.0, "high": 1.0, "log": False}
    wider = {"trials": 2, "space": {"cornn": {"gamma": {"low": 0.01, "high": 2.0, "log": True}}}}
    space = {"cornn": {"gamma": gamma}}
    file = small(models=["cornn"], task="adding", variant="N=20", rule=2, race=False, space=space, wider=wider)
    assert ranges_by_name(file, "cornn")["gamma"] == (0.0, 2.0, False)
    [cell] = resolve(file).cells
    [first], [second] = ([d for d in dimensions or () if d.name == "gamma"] for dimensions in (cell.space, cell.wider))
    hull = join_dimensions(first, second)
    assert (hull.low, hull.high, hull.log) == (0.0, 2.0, False) and second.log


def test_a_row_says_that_a_range_is_of_the_tasks_time_scale_and_which_number_of_it_is_at_an_edge(store: Store) -> None:
    file = small(
        task="fitzhugh_nagumo", variant="", steps=None, models=["cornn"], trials=1, retrain=1, rule=2, race=False
    )
    sweep = store_plan(resolve(file), store)
    [search] = first_trials(sweep)[0]
    [dt] = [d for d in sweep.cells[0].space if d.name == "dt"]
    winner = replace(search, phase="retrain", params={"lr": 0.003, "dt": dt.high, "gamma": 1.0, "epsilon": 1.0}, seed=1)
    assert sweep.cells[0].about
    store.add_trials("tiny", [search, winner], [sweep.cells[0].about] * 2, [0, 0])
    [row] = [row for row in rows(store.groups(), []) if row.kind == "retrained"]
    steps = get_task("fitzhugh_nagumo").time_scale("")
    assert list(row.ways) == ["random search", f"range of dt from the task's time scale, {steps} steps"]
    assert row.at_edge == [f"dt at the high end of {dt.low:g} to {dt.high:g}"]
