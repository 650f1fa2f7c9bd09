"""The sweeps of the first edition treat all models alike, keep the printed sizes, and fit into the hours they say."""

from __future__ import annotations

from pathlib import Path

import pytest
from edition.folders import EditionFolders
from edition.sweeps import list_sweeps

from longwave.platform.registry import get_model, get_task
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.file.settings import read_cells

FOLDERS = EditionFolders()
FILES = [file for file in FOLDERS.sweep_files() if not file.stem.endswith(("-widened", "-again"))]
WIDENED = [file for file in FOLDERS.sweep_files() if file.stem.endswith("-widened")]
AGAIN = [file for file in FOLDERS.sweep_files() if file.stem.endswith("-again")]
MODELS = (
    "lem cornn unicornn lipschitz_rnn tau_gru lstm chrono_lstm gru tanh_rnn antisymmetric_rnn exprnn fastgrnn indrnn"
).split()
GRAPH_MODELS = "gcn gat graphsage mlp graphcon g2".split()


def sizes(file: SweepFile) -> dict[str, tuple[int, int]]:
    """Return units and trainable parameters of each model of a file, of its first cell."""
    [name] = file.variant_by_task
    task, known = get_task(name), {}
    for model in map(get_model, file.models):
        cell = next(iter(read_cells(file, model)))
        hidden = int(cell.fixed.get("hidden", task.recipe(model.name).hidden))
        known[model.name] = (hidden, model.count(task.inputs, hidden, task.outputs, **cell.options(model)))
    return known


def file(start: str) -> SweepFile:
    return read_sweep(next(f for f in FILES if f.stem.startswith(start)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_model_is_searched_and_retrained_with_the_same_budget(path: Path) -> None:
    sweep = read_sweep(path)
    needed = GRAPH_MODELS if path.stem.startswith("g") else MODELS
    assert sweep.name == f"edition1-{path.stem}" and set(needed) <= set(sweep.models)
    assert (sweep.trials, sweep.retrain, sweep.sampler, sweep.warm, sweep.space) == (32, 10, "random", [], {})
    assert sweep.halving and sweep.halving.eta == 2
    assert not {"epochs", "batch", "steps", "drops", "recipe"} & {k for table in sweep.model.values() for k in table}
    [task] = sweep.variant_by_task
    epochs = sweep.epochs or get_task(task).recipe(needed[0]).epochs  # of all its models
    assert sweep.halving.first == round(epochs / 16), "the first rung is at a sixteenth of the epochs"


@pytest.mark.parametrize("path", WIDENED, ids=lambda path: path.stem)
def test_a_second_search_adds_half_as_many_trials_in_wider_ranges_for_every_model_alike(path: Path) -> None:
    ours, before = read_sweep(path), read_sweep(path.with_stem(path.stem.removesuffix("-widened")))
    assert ours.name == f"edition1-{path.stem}" and ours.wider and ours.wider.trials == 16 == before.trials // 2
    changed = {name for name in SweepFile.model_fields if getattr(ours, name) != getattr(before, name)}
    assert changed == {"name", "wider"}
    for name in {name for ranges in ours.wider.space.values() for name in ranges}:
        known = {m: (get_model(m).lr, *get_model(m).params) for m in ours.models}
        drawing = {m for m, params in known.items() if any(p.name == name and p.searched for p in params)}
        assert {m for m, ranges in ours.wider.space.items() if name in ranges} == drawing


def test_28_settings_that_their_retrainings_chose_are_trained_with_ten_other_seeds() -> None:
    sweeps = [read_sweep(path) for path in AGAIN]
    assert sum(len(sweep.models) for sweep in sweeps) == sum(len(sweep.instead_of) for sweep in sweeps) == 28
    for sweep, path in zip(sweeps, AGAIN, strict=True):
        first = read_sweep(path.with_stem(path.stem.removesuffix("-again")))
        assert (sweep.name, sweep.trials, sweep.retrain) == (f"edition1-{path.stem}", 0, 10)
        assert sweep.variant_by_task == first.variant_by_task and set(sweep.models) <= set(first.models)
        for name in ("batch", "epochs", "steps", "hidden", "recipe", "precision", "selection"):
            assert getattr(sweep, name) == getattr(first, name)


def test_the_tables_of_the_papers_take_at_most_ten_hours_of_two_cores() -> None:
    sweeps = list_sweeps(FILES)
    assert all(sweep.hours for sweep in sweeps)
    assert sum(sweep.hours for sweep in sweeps if sweep.file.stem[0] in "abcd") <= 10


def test_fitzhugh_nagumo_has_the_printed_units_and_lems_parameters_for_every_model() -> None:
    printed = {"lem": 16, "cornn": 24, "lipschitz_rnn": 24, "exprnn": 50, "fastgrnn": 34, "lstm": 16}
    assert printed.items() <= {model: units for model, (units, _) in sizes(file("a1")).items()}.items()
    assert all(abs(count / 1233 - 1) < 0.04 for _, count in sizes(file("a2")).values())


@pytest.mark.parametrize("start", ["c1", "c2"])
def test_lorenz_96_has_the_printed_units_and_nine_thousand_parameters_for_every_model(start: str) -> None:
    known = sizes(file(start))
    assert {m: known[m][0] for m in ("cornn", "lstm", "unicornn")} == {"cornn": 64, "lstm": 44, "unicornn": 90}
    assert all(8800 <= count <= 9700 for _, count in known.values())
