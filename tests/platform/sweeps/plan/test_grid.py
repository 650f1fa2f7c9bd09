"""Sweeps of several tasks and over grids: one cell is a sweep of its own, and earlier plans stay what they were."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_sweeps import small, to_the_end

from longwave.platform.errors import ConfigError
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Run
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.cell_numbers import cell_key
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import all_trials, following_trials, search_trials

BEFORE: dict[str, tuple[dict[str, Any], int, str]] = {
    "tiny": ({}, 12, "1b8e318ebb52d1a5"),
    "options": (
        {
            "models": ["tau_gru", "unicornn", "cornn"],
            "model": {
                "unicornn": {"layers": 2, "multiscale": False},
                "cornn": {"hidden": 5, "damping": "implicit"},
            },
            "space": {
                "unicornn": {"dropout": {"low": 0.1, "high": 0.2}, "dt_2": 0.5},
                "cornn": {"gamma": 2, "dt": {"low": 0.2, "high": 0.3, "log": False}},
            },
        },
        18,
        "4644e3e5120b82de",
    ),
    "tpe": ({"sampler": "tpe", "rounds": 2, "trials": 6}, 16, "115eb930148f5ebb"),
    "qmc": ({"sampler": "qmc"}, 12, "4dc5d8b2968f7f40"),
    "halving": ({"trials": 6, "pack": 3, "halving": {"eta": 2, "first": 1}}, 16, "12dc9af5b63265c4"),
}
"""What differs from ``SMALL``, and number and hash of the trials that were asked for before there were cells."""


def ids(file: SweepFile) -> list[str]:
    return [c.id for c in to_the_end(resolve(file))]


@pytest.mark.parametrize("name", BEFORE)
def test_a_sweep_without_a_grid_asks_for_the_trials_it_asked_for_before_there_were_grids(name: str) -> None:
    changes, count, message = BEFORE[name]
    actual = ids(small(**changes))
    assert (len(actual), digest(actual)) == (count, message)


def test_a_sweep_of_five_models_asks_for_the_trials_it_asked_for_before_there_were_grids() -> None:
    models = ["lem", "cornn", "chrono_lstm", "lstm", "gru"]
    file = {"name": "demo", "task": "fitzhugh_nagumo", "models": models, "trials": 8, "retrain": 5, "epochs": 30}
    actual = ids(check_sweep({**file, "seed": 0}, "demo.toml"))
    assert (len(actual), digest(actual)) == (65, "1a3edfcb3974d094")


@pytest.mark.integration
@given(
    st.lists(st.integers(1, 40), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(1, 9), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(1, 4), min_size=1, max_size=2, unique=True),
)
@settings(max_examples=15)
def test_a_grid_is_the_product_of_its_lists_and_each_cell_the_same_sweep_without_it(
    hidden: list[int], batch: list[int], layers: list[int]
) -> None:
    file = small(
        models=["unicornn"], hidden=None, batch=None, trials=2,
        grid={"hidden": hidden, "batch": batch}, model={"unicornn": {"grid": {"layers": layers}}},
    )  # fmt: skip
    sweep = resolve(file)
    actual = [(e.base.hidden, e.base.batch, e.base.options.get("layers", 3)) for e in sweep.cells]
    assert actual == list(product(hidden, batch, layers))
    for (h, b, many), mine in zip(actual, search_trials(sweep, {}), strict=True):
        alone = small(models=["unicornn"], hidden=h, batch=b, trials=2, model={"unicornn": {"layers": many}})
        assert [c.id for c in mine] == [c.id for c in all_trials(resolve(alone), {})]
    assert len({c.id for c in to_the_end(sweep)}) == len(actual) * (2 + 2)


def test_one_task_of_several_is_the_sweep_of_that_task_alone() -> None:
    file = small(task=None, variant=None, tasks=["adding", "digits"], variants={"adding": "N=20"}, models=["lem"])
    sweep = resolve(file)
    assert [(e.label, e.goal, e.metric, e.positions) for e in sweep.cells] == [
        ("adding lem", "min", "mse", 20),
        ("digits lem", "max", "accuracy", 64),
    ]
    both = to_the_end(sweep)
    adding, digits = small(models=["lem"]), small(task="digits", variant=None, steps=None, models=["lem"])
    assert {c.id for c in both} == {*ids(adding), *ids(digits)} and len(both) == 12


def test_a_drop_may_lie_behind_the_last_epoch_of_some_cells() -> None:
    sweep = resolve(small(models=["lem"], drops=[3, 9], epochs=None, grid={"epochs": [3, 6, 12]}))
    assert [cell.base.drops for cell in sweep.cells] == [(), (3,), (3, 9)]


def test_words_and_numbers_of_a_grid_make_cells_and_defaults_are_not_said() -> None:
    file = small(
        models=["lem"], grid={"optimiser": ["adam", "sgd"], "weight_decay": [0.0, 0.1], "schedule": ["cosine"]}
    )
    sweep = resolve(file)
    assert [(e.base.optimiser, e.base.schedule, dict(e.base.params)) for e in sweep.cells] == [
        ("adam", "cosine", {}),
        ("adam", "cosine", {"weight_decay": 0.1}),
        ("sgd", "cosine", {}),
        ("sgd", "cosine", {"weight_decay": 0.1}),
    ]
    assert [e.label for e in sweep.cells][1] == "lem (optimiser adam, weight_decay 0.1, schedule cosine)"


def test_a_fixed_number_holds_in_the_cells_where_it_has_a_meaning() -> None:
    sweep = resolve(small(models=["lem"], recipe={"momentum": 0.9}, grid={"optimiser": ["adam", "sgd"]}))
    assert [dict(e.base.params) for e in sweep.cells] == [{}, {"momentum": 0.9}]


def test_a_models_own_grid_and_recipe_win_over_the_sweeps() -> None:
    file = small(
        hidden=None, grid={"hidden": [4, 6]}, recipe={"optimiser": "sgd", "momentum": 0.9, "warmup": 1},
        model={"gru": {"grid": {"hidden": [8]}, "recipe": {"momentum": 0.5}}},
    )  # fmt: skip
    actual = [(e.label, e.base.hidden, dict(e.base.params)) for e in resolve(file).cells]
    assert actual == [
        ("lem (hidden 4)", 4, {"momentum": 0.9, "warmup": 1.0}),
        ("lem (hidden 6)", 6, {"momentum": 0.9, "warmup": 1.0}),
        ("gru (hidden 8)", 8, {"momentum": 0.5, "warmup": 1.0}),
    ]


def test_trials_tell_their_cell() -> None:
    file = small(
        models=["unicornn"], hidden=None, grid={"hidden": [4, 8], "weight_decay": [0, 0.1]},
        model={"unicornn": {"grid": {"layers": [1, 3]}}},
    )  # fmt: skip
    sweep = resolve(file)
    cells = [{cell_key(file, c) for c in mine} for mine in search_trials(sweep, {})]
    assert all(len(keys) == 1 for keys in cells) and len(set().union(*cells)) == 8


def test_what_follows_in_a_cell_is_decided_by_that_cell_alone() -> None:
    sweep = resolve(small(models=["lem"], hidden=None, grid={"hidden": [4, 8]}))
    actual = list(enumerate(search_trials(sweep, {})))
    ends = {c.id: Run(c.id, "ok", valid=c.params["lr"]) for _, mine in actual for c in mine}
    open_ones = {c.id for c in actual[0][1][1:]}

    states = {c.id: "planned" if c.id in open_ones else "ok" for _, mine in actual for c in mine}
    planned = [
        PlannedTrial(c.id, "lem", "search", states[c.id], None, c.params["lr"], k) for k, mine in actual for c in mine
    ]
    configs = {c.id: c for _, mine in actual for c in mine}
    more = list(following_trials(sweep, planned, lambda ids: {i: (configs[i], ends[i]) for i in ids}))
    assert [cell for cell, _ in more] == [1, 1] and {c.hidden for _, c in more} == {8}
    assert min(actual[1][1], key=lambda c: c.params["lr"]).params == more[0][1].params


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a size fixed and in the grid": ({"grid": {"hidden": [4]}}, "lem: hidden is both fixed and in the grid. Keep one."),
    "a size in the grid and drawn": (
        {"hidden": None, "grid": {"hidden": [4]}, "space": {"lem": {"hidden": [4, 8]}}},
        "lem: hidden is both in the grid and in [space.lem]. Keep one.",
    ),
    "a size fixed and drawn": ({"space": {"lem": {"hidden": [4, 8]}}}, "lem: hidden is both fixed and in [space.lem]."),
    "an option fixed and in the grid": (
        {"models": ["unicornn"], "model": {"unicornn": {"layers": 2, "grid": {"layers": [1, 2]}}}},
        "unicornn: layers is both fixed and in the grid. Keep one.",
    ),
    "a number fixed and in the grid": (
        {"recipe": {"warmup": 1}, "grid": {"warmup": [1, 2]}},
        "lem: warmup is both fixed and in the grid.",
    ),
    "an empty list": (
        {"hidden": None, "grid": {"hidden": []}},
        "grid.hidden: must be one value or more, each once, got []",
    ),
    "a value twice": (
        {"hidden": None, "grid": {"hidden": [4, 4]}},
        "grid.hidden: must be one value or more, each once",
    ),
    "no list": ({"hidden": None, "grid": {"hidden": 4}}, "grid.hidden: must be a list, got 4"),
    "a list in a list": (
        {"grid": {"warmup": [[1]]}},
        "grid.warmup.0: must be a finite number, a string, true or false",
    ),
    "a size that is none": (
        {"hidden": None, "grid": {"hidden": [4.5]}},
        "grid: hidden must be a whole number > 0, got 4.5",
    ),
    "a size below 1": ({"hidden": None, "grid": {"hidden": [0]}}, "grid: hidden must be a whole number > 0, got 0."),
    "a size that is a word": (
        {"hidden": None, "grid": {"hidden": ["big"]}},
        "hidden must be a whole number > 0, got 'big'",
    ),
    "an option a model lacks": (
        {"model": {"lem": {"grid": {"layers": [1, 2]}}}},
        "grid: No setting 'layers'. Known:",
    ),
    "an option in the grid of all": (
        {"models": ["unicornn"], "grid": {"layers": [1, 2]}},
        "grid: layers is an option: give it in [model.unicornn.grid].",
    ),
    "an option's value": (
        {"models": ["cornn"], "model": {"cornn": {"grid": {"damping": ["none"]}}}},
        "model.cornn.damping must be one of explicit, implicit, got 'none'.",
    ),
    "a parameter in the grid": (
        {"grid": {"dt": [0.1]}},
        "grid: dt is a parameter: give choices in [space.lem].",
    ),
    "a near miss": (
        {"grid": {"weight_deca": [0.1]}},
        "grid: No setting 'weight_deca'. Did you mean weight_decay?",
    ),
    "a number without meaning": (
        {"recipe": {"momentum": 0.9}},
        "recipe: momentum has no effect with optimiser adam and schedule drops. Remove it.",
    ),
    "a number without meaning in one cell": (
        {"grid": {"optimiser": ["adam", "sgd"], "momentum": [0.5, 0.9]}},
        "grid: momentum has no effect with optimiser adam and schedule drops. Remove it.",
    ),
    "an unknown word": ({"recipe": {"optimiser": "adan"}}, "recipe: No optimiser 'adan'. Did you mean"),
    "a word that is none": ({"recipe": {"optimiser": 3}}, "recipe: optimiser must be a string, got 3."),
    "a number that is a word": (
        {"recipe": {"warmup": "long"}},
        "recipe: warm-up (warmup) must be a finite number ≥ 0, got 'long'",
    ),
    "a number out of range": (
        {"recipe": {"input_dropout": 2}},
        "recipe: p_in (input_dropout) must be a finite number ≥ 0 and ≤ 1",
    ),
    "yes in a recipe": ({"recipe": {"warmup": True}}, "recipe.warmup: must be a number or a string, got True"),
    "a size in a recipe": ({"recipe": {"hidden": 4}}, "recipe: hidden is not part of a recipe: give it outside"),
    "a parameter in a recipe": ({"recipe": {"dt": 4}}, "recipe: dt is a parameter: fix it in [space.lem]."),
    "smoothing without classes": (
        {"recipe": {"label_smoothing": 0.1}},
        "recipe: label_smoothing has no effect on adding, which has no classes. Remove it.",
    ),
    "drops in a grid": ({"grid": {"drops": [3]}}, "grid: drops is not for a grid: fix it."),
    "a drop after the last epoch": (
        {"drops": [3, 6]},
        "tiny: drops: the learning rate must drop before the last epoch, 6, got 6. Leave 6 out, or set more epochs.",
    ),
    "a drop of a model after its last epoch": (
        {"models": ["lem", "gru"], "epochs": 9, "model": {"gru": {"epochs": 4, "drops": [4]}}},
        "tiny: drops: the learning rate must drop before the last epoch, 4, got 4.",
    ),
    "drops without a meaning": (
        {"drops": [3], "recipe": {"schedule": "cosine"}},
        "drops has no effect with schedule cosine. Remove it.",
    ),
    "steps of tasks that have a training split": (
        {"task": None, "variant": None, "tasks": ["digits", "enso"], "steps": 7},
        "tiny: steps has no effect on digits, which has a training split. Set epochs instead.",
    ),
    "steps in the grid of a task that has a training split": (
        {"task": None, "variant": None, "tasks": ["adding", "digits"], "steps": None, "grid": {"steps": [5, 10]}},
        "tiny: grid: steps has no effect on digits, which has a training split. Set epochs instead.",
    ),
    "a task and tasks": ({"tasks": ["digits"]}, "tiny.toml: give either task or tasks."),
    "no task": ({"task": None}, "tiny.toml: give either task or tasks."),
    "a task twice": (
        {"task": None, "variant": None, "tasks": ["digits", "digits"]},
        "tasks: each task once, got digits,",
    ),
    "a variant of several": (
        {"task": None, "tasks": ["adding", "digits"]},
        'variant: is for one task; with several, give variants = {adding = "N=20"}.',
    ),
    "a variant of a stranger": (
        {"task": None, "variant": None, "tasks": ["digits"], "variants": {"digit": ""}},
        "variants: No task 'digit'. Did you mean digits",
    ),
    "an unknown variant": (
        {"task": None, "variant": None, "tasks": ["adding"], "variants": {"adding": "x"}},
        "variants.adding: adding takes a variant N=<steps>",
    ),
    "an unknown task of several": (
        {"task": None, "variant": None, "tasks": ["digit"]},
        "No task 'digit'. Did you mean digits",
    ),
    "a wrong key of a model": ({"model": {"lem": {"gird": {}}}}, "model.lem: No key 'gird'. Did you mean grid?"),
}


@pytest.mark.parametrize(("changes", "line"), WRONG.values(), ids=WRONG)
def test_what_a_grid_or_a_recipe_cannot_mean_is_one_line(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(line)) as caught:
        resolve(small(**{"models": ["lem"], **changes}))
    assert "\n" not in str(caught.value)
