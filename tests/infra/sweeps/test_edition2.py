"""The sweeps of the second edition treat all models alike, with equal sizes and budgets, on data nobody has seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from edition.folders import EditionFolders
from edition.sweeps import list_missing, list_sweeps
from tree import ROOT

from longwave.platform.exchange.bundle import read
from longwave.platform.registry import get_model, get_task
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.settings import read_cells
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.trials import first_trials
from longwave.tasks.base.variants import FRESH

FILES = sorted((ROOT / "infra/sweeps/edition2").glob("*.toml"))
FIRST_TIER = "lstm gru tanh_rnn lem cornn unicornn lipschitz_rnn tau_gru lru linoss mingru mamba deltanet".split()
MODERN = ["mamba", "deltanet"]
"""Those of the first tier that have a short convolution, in a block wherever they are."""
IN_BLOCKS = {"lru", "linoss", "mingru", *MODERN}
"""What its papers print in residual blocks alone."""
FIVE = ["lstm", "lem", *sorted(IN_BLOCKS - {*MODERN}, key=FIRST_TIER.index)]
"""Models of the boards on which all are in residual blocks; one block is also around GRU."""
FETCHED = ("e3-japanese_vowels", "e4-osu_leaf", "e5-acsf1")
"""Boards whose trials can be planned only where their data have been fetched."""
SEEN = {task for path in EditionFolders().sweep_files() for task in read_sweep(path).variant_by_task}
"""Tasks on whose test data edition 1 shows results."""
REAL = {"digits", "pdigits", "karate"}
"""Of these those whose data nobody can draw anew."""


def parameters(file: SweepFile) -> dict[str, int]:
    """Return the trainable parameters of each model of a file."""
    [name] = file.variant_by_task
    task, numbers = get_task(name), {}
    for model in map(get_model, file.models):
        cell = next(iter(read_cells(file, model)))
        hidden = int(cell.fixed.get("hidden", task.recipes[""].hidden))
        numbers[model.name] = model.parameters(task.inputs, hidden, task.outputs, None, cell.options(model))
    return numbers


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_model_of_a_board_has_the_same_search_and_the_same_budget(path: Path) -> None:
    sweep, more = read_sweep(path), {"layers", "grid"} if path.stem[0] == "g" else set()
    assert sweep.name == f"edition2-{path.stem}" and all(one.hours > 0 for one in list_sweeps([path]))
    assert (sweep.trials, sweep.retrain, sweep.sampler, sweep.warm, sweep.rule) == (32, 10, "random", [], 2)
    assert sweep.race_settings and sweep.halving and sweep.halving.gate and sweep.wider is None
    assert sweep.epochs and (sweep.halving.eta, sweep.halving.first) == (2, sweep.epochs * 7 // 100)
    assert set(sweep.recipe) == ({"solved"} if path.stem[0] in "abcd" else set()), "solved is stated where it can be"
    assert {key for table in sweep.model.values() for key in table} <= {
        "hidden",
        "block",
        "depth",
        "conv",
        "eigenvalues",
        *more,
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_board_has_the_first_tier_but_those_of_five_in_blocks_and_of_three_printed(path: Path) -> None:
    sweep = read_sweep(path)
    if "lorenz96-F" in path.stem:
        assert sweep.models == ["lstm", "cornn", "unicornn"]
    elif "block" in path.stem:
        assert {*sweep.models} - {"gru"} == {*FIVE}
    else:
        assert {*FIRST_TIER} <= {*sweep.models} and (path.stem[0] == "g" or sweep.models == FIRST_TIER)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_models_have_equally_many_trainable_numbers_within_five_per_cent(path: Path) -> None:
    sweep = read_sweep(path)
    numbers = parameters(sweep)
    middle, allowed, compared = sorted(numbers.values())[len(numbers) // 2], 0.05, {*numbers}
    if path.stem.startswith(("e1", "e2", "g")):  # bare models have 16 units; one more or less changes a count by 15 %
        middle, allowed, compared = numbers["lstm"], 0.07, IN_BLOCKS & {*numbers}
    assert all(abs(numbers[name] / middle - 1) <= allowed for name in compared), numbers
    assert "deltanet" not in sweep.models or sweep.model["deltanet"]["eigenvalues"] == "-1-1"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_learning_rates_go_to_a_tenth_for_all_models(path: Path) -> None:
    sweep = read_sweep(path)
    for name in sweep.models:
        own = sweep.space.get(name, {}).get("lr", get_model(name).lr)
        assert (own.low, own.high) == (1e-4, 0.1), name  # type: ignore[union-attr]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_models_are_bare_or_in_blocks_as_the_board_says(path: Path) -> None:
    sweep = read_sweep(path)
    depth = {name: table.get("depth", 1) for name, table in sweep.model.items() if table.get("block") == "pre"}
    if "block" in path.stem:
        assert depth == dict.fromkeys(sweep.models, int(path.stem.split("-")[2]))
    else:
        expected = MODERN if path.stem[0] == "b" else IN_BLOCKS & {*sweep.models}
        assert depth == dict.fromkeys(expected, 1)


@pytest.mark.parametrize("path", [path for path in FILES if path.stem[0] == "b"], ids=lambda path: path.stem)
def test_ranges_of_state_tracking_follow_from_forty_steps(path: Path) -> None:
    sweep = read_sweep(path)
    for name in sweep.models:
        for param in get_model(name).params:
            ours, by_rule = sweep.space.get(name, {}).get(param.name), param.in_time(40)
            if by_rule is param:
                assert ours is None
            else:
                assert (ours.low, ours.high) == (by_rule.low, min(by_rule.high, 40)) and ours.log  # type: ignore[union-attr]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_test_data_that_edition_1_has_shown_are_drawn_anew(path: Path) -> None:
    [(task, variant)] = read_sweep(path).variant_by_task.items()
    assert variant.endswith(FRESH) or task not in SEEN - REAL


@pytest.mark.parametrize(("start", "steps", "batch"), [("a1", 30_000, 50), ("a2", 7_500, 50), ("b", 20_000, 256)])
def test_budgets_are_the_published_ones_or_the_declared_ones(start: str, steps: int, batch: int) -> None:
    for sweep in (read_sweep(path) for path in FILES if path.stem.startswith(start)):
        assert sweep.epochs and sweep.steps and (sweep.epochs * sweep.steps, sweep.batch) == (steps, batch)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_file_of_one_model_is_that_of_its_board_with_this_model_alone(path: Path, tmp_path: Path) -> None:
    for one in list_sweeps([path]):
        ours, board = read_sweep(one.write_file(tmp_path)), read_sweep(one.file)
        expected = {"name": f"{board.name}-{one.model}", "models": [one.model]}
        expected |= {
            key: {name: table for name, table in getattr(board, key).items() if name == one.model}
            for key in ("model", "space")
        }
        assert ours == board.model_copy(update=expected)


def test_no_name_of_a_board_begins_with_that_of_another() -> None:
    boards = {sweep.board for sweep in list_sweeps(FILES)}
    assert not [(a, b) for a in boards for b in boards if a != b and f"{b}-".startswith(f"{a}-")]


@pytest.mark.integration
def test_the_searches_in_the_bundles_are_those_that_the_files_of_their_boards_plan(tmp_path: Path) -> None:
    folders, every = EditionFolders.of_edition(2), list_sweeps([path for path in FILES if path.stem not in FETCHED])
    missing = list_missing(folders, every)
    files = [read_sweep(sweep.write_file(tmp_path)) for sweep in every if sweep not in missing]
    tasks = {task for file in files for task in file.variant_by_task}
    planned = (trial for file in files for trials in first_trials(resolve(file)) for trial in trials)
    bundled = (trial.config for path in folders.results for trial in read(path).content.trials)
    searched = (config for config in bundled if config.phase == "search" and config.task in tasks)
    # Without data, and gates that follow from them: those of simulated tasks are smaller in tests.
    ours, theirs = ({replace(config, data="", halving=None).id for config in of} for of in (planned, searched))
    assert files and ours == theirs
