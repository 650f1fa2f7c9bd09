"""A search draws sizes, words and training numbers too, each where it belongs and only where it means something."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_sweeps import small, to_the_end

from longwave.platform.about import about
from longwave.platform.errors import ConfigError
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.search.space import Dimension, draw
from longwave.platform.sweeps.file.cell import resolve_cell
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.settings import read_cells
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.rounds import drawn_values
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.training.rules import check_training

EVERYTHING: dict[str, Any] = {
    "hidden": {"low": 4, "high": 16, "log": True},
    "batch": [4, 8],
    "epochs": {"low": 2, "high": 6},
    "steps": [3, 5],
    "clip": {"low": 0.1, "high": 2.0},
    "optimiser": ["adam", "sgd", "adamw"],
    "schedule": ["drops", "cosine"],
    "momentum": [0.0, 0.5, 0.9],
    "lr_final": {"low": 0.0, "high": 0.1},
    "weight_decay": [0.0, 0.01, 0.1],
    "warmup": {"low": 0.5, "high": 1.5},
    "lr": [0.001, 0.01],
}


def search(space: dict[str, Any] = EVERYTHING, **changes: Any) -> Sweep:
    free = {name: None for name in ("hidden", "batch", "epochs", "steps") if name in space}
    return resolve(small(**{"models": ["lem"], "space": {"lem": space}, "trials": 40, **free, **changes}))


def test_what_is_drawn_stands_where_it_belongs_and_is_one_that_training_takes() -> None:
    trials = all_trials(search(drops=[1, 4]), {})
    for c in trials:
        check_training(c)
        assert isinstance(c.hidden, int) and 4 <= c.hidden <= 16 and c.batch in (4, 8) and c.steps in (3, 5)
        assert 2 <= c.epochs <= 6 and c.clip is not None and 0.1 <= c.clip <= 2 and c.params["lr"] in (0.001, 0.01)
        assert ("momentum" in c.params) <= (c.optimiser == "sgd") and ("lr_final" in c.params) == (
            c.schedule == "cosine"
        )
        assert 0.5 <= c.params["warmup"] <= 1.5 and c.params.get("momentum") != 0
        assert c.drops == (tuple(d for d in (1, 4) if d < c.epochs) if c.schedule == "drops" else ())
    assert {c.optimiser for c in trials} == {"adam", "sgd", "adamw"} and {c.batch for c in trials} == {4, 8}
    assert {c.params.get("weight_decay") for c in trials if c.optimiser == "adamw"} == {
        None,
        0.0,
        0.1,
    }  # 0.01 is its own
    assert {c.params.get("weight_decay") for c in trials if c.optimiser == "sgd"} == {None, 0.01, 0.1}


def test_a_default_of_one_word_is_said_under_another() -> None:
    space = {"optimiser": ["adam", "adamw"], "weight_decay": [0.0, 0.01]}
    actual = {(c.optimiser, c.params.get("weight_decay")) for c in all_trials(search(space), {})}
    assert actual <= {("adam", None), ("adam", 0.01), ("adamw", 0.0), ("adamw", None)} and len(actual) == 4


def test_the_learning_sampler_is_told_what_was_drawn_words_and_defaults_too() -> None:
    sweep = search()
    [entry] = sweep.cells
    seeds = draw(entry.space, 40, 0)
    for c, _ in zip(all_trials(sweep, {}), seeds, strict=True):
        message = drawn_values(entry, c)
        assert message["optimiser"] == c.optimiser and message["hidden"] == c.hidden and message["clip"] == c.clip
        assert ("momentum" in message) == (c.optimiser == "sgd") and ("lr_final" in message) == (c.schedule == "cosine")
        assert message["weight_decay"] == c.params.get("weight_decay", 0.01 if c.optimiser == "adamw" else 0.0)


@pytest.mark.integration
def test_tpe_learns_which_word_is_better() -> None:
    space = {"optimiser": ["adam", "sgd"], "momentum": {"low": 0.1, "high": 0.9}, "lr": 0.01}
    sweeps = [search(space, trials=60, rounds=3, sampler="tpe", seed=seed) for seed in range(3)]

    def share(better: str) -> float:
        return float(np.mean([share_of(better, sweep) for sweep in sweeps]))

    def share_of(better: str, sweep: Sweep) -> float:
        first = all_trials(sweep, {})
        ends: dict[str, Run] = {}
        while len(actual := [c for c in all_trials(sweep, ends) if c.phase == "search"]) > len(ends):
            ends = {c.id: Run(c.id, "ok", valid=float(c.optimiser != better)) for c in actual}
        return float(np.mean([c.optimiser == better for c in actual[len(first) :]]))

    assert share("sgd") > 0.65 and share("adam") > 0.65


@pytest.mark.integration
@given(st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, unique=True), st.integers(0, 99), st.integers(1, 9))
@settings(max_examples=15)
def test_choices_are_drawn_evenly_and_a_longer_search_begins_with_the_shorter(
    choices: Sequence[str], seed: int, n: int
) -> None:
    space = (Dimension("word", choices=tuple(choices)), Dimension("x", 0.0, 1.0))
    for sampler in ("random", "qmc"):
        short, long = (draw(space, k, seed, sampler) for k in (n, 60))
        assert long[:n] == short and {p["word"] for p in long} == set(choices)


@pytest.mark.parametrize(
    ("recipe", "words", "numbers"),
    [
        ({}, ("sgd", "drops", (90,)), {"momentum": 0.9, "drop_factor": 0.2}),
        ({"momentum": 0.5}, ("sgd", "drops", (90,)), {"momentum": 0.5, "drop_factor": 0.2}),
        ({"optimiser": "adam"}, ("adam", "drops", (90,)), {"drop_factor": 0.2}),
        ({"schedule": "cosine"}, ("sgd", "cosine", ()), {"momentum": 0.9}),
    ],
)
def test_published_words_and_numbers_are_the_default_as_far_as_they_have_a_meaning(
    recipe: dict[str, Any], words: tuple[Any, ...], numbers: dict[str, float]
) -> None:
    model, task = get_model("lipschitz_rnn"), get_task("scifar")
    content = {"name": "s", "task": "scifar", "models": ["lipschitz_rnn"], "trials": 1, "recipe": recipe}
    actual = resolve_cell(next(read_cells(check_sweep(content, "s"), model)), task, task.variant, model)
    assert tuple(actual.fields[name] for name in ("optimiser", "schedule", "drops")) == words
    assert actual.params == numbers


def test_a_trial_says_how_it_departs_whatever_was_drawn() -> None:
    [first, *_] = all_trials(search(), {})
    message = about(first).departures
    assert f"optimiser {first.optimiser} (published adam)" in message or first.optimiser == "adam"
    assert f"warmup {first.params['warmup']:g} (published none)" in message
    assert f"hidden {first.hidden} (published 128)" in message and f"clip {first.clip:g} (published none)" in message


def test_a_number_in_the_space_fixes_a_size_or_a_training_number() -> None:
    [first, *_] = all_trials(search({"hidden": 6, "weight_decay": 0.1, "dt": 0.5}), {})
    assert first.hidden == 6 and first.params["weight_decay"] == 0.1 and first.params["dt"] == 0.5


def test_the_winner_of_a_search_over_words_is_retrained_as_it_is() -> None:
    trials: list[TrialConfig] = to_the_end(search(trials=6))
    again = [c for c in trials if c.phase == "retrain"]
    assert len(again) == 2 and len({c.row for c in again}) == 1
    assert again[0].row in {c.row for c in trials if c.phase == "search"}


WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a range of words": (
        {"optimiser": {"low": 1, "high": 2}},
        {},
        "space.lem: optimiser is a string: give a list of strings.",
    ),
    "a word alone": ({"optimiser": "sgd"}, {}, "space.lem.optimiser: must be a number, got 'sgd'."),
    "an unknown word": ({"optimiser": ["adam", "sdg"]}, {}, "space.lem: No optimiser 'sdg'. Did you mean sgd?"),
    "a word of numbers": ({"schedule": [1, 2]}, {}, "space.lem: schedule must be a string, got 1."),
    "no choices": ({"batch": []}, {}, "space.lem.batch: must be one value or more, each once, got []."),
    "a choice twice": ({"dt": [0.1, 0.1]}, {}, "space.lem.dt: must be one value or more, each once"),
    "half a unit": ({"hidden": {"low": 4.5, "high": 8}}, {}, "space.lem: hidden must be a whole number > 0, got 4.5."),
    "sizes upside down": (
        {"hidden": {"low": 8, "high": 4}},
        {},
        "space.lem: hidden: low must not exceed high, got low=8, high=4.",
    ),
    "a negative norm": ({"clip": [-1.0]}, {}, "space.lem: clip must be a number > 0, got -1.0."),
    "drops": ({"drops": [1, 2]}, {}, "space.lem: drops is not drawn: fix it."),
    "a choice out of range": (
        {"input_dropout": [0.1, 1.5]},
        {},
        "p_in (input_dropout) must be",
    ),
    "a number without meaning": (
        {"momentum": {"low": 0.1, "high": 0.9}},
        {},
        "space.lem: momentum has no effect with optimiser adam and schedule drops. Remove it.",
    ),
    "a key of a range": ({"dt": {"low": 1, "high": 2, "lgo": True}}, {}, "No key 'lgo'. Did you mean log or low"),
    "a size under halving": (
        {"batch": [2, 4]},
        {"halving": {"eta": 2}},
        "halving: batch is searched, but trials that differ in batch cannot share a pack, so they cannot compete. "
        "Set it to one value, or give halving a cohort.",
    ),
    "a word under halving": (
        {"optimiser": ["adam", "sgd"]},
        {"halving": {"eta": 2}},
        "halving: optimiser is searched, but trials that differ in optimiser cannot share a pack",
    ),
    "a default under halving": (
        {"weight_decay": [0, 0.1]},
        {"halving": {"eta": 2}},
        "halving: weight_decay is searched, but trials with its default 0 and others cannot share a pack",
    ),
    "a size under a pruner": (
        {"batch": [2, 4]},
        {"pruner": "MedianPruner"},
        "pruner: batch is searched, but trials that differ in batch cannot share a pack, so they cannot compete. "
        "Set it to one value, or set rule = 2.",
    ),
    "several scores that solve the task": (
        {"solved": [0.1, 0.2]},
        {"halving": {"eta": 2, "cohort": 4}},
        "tiny: halving: solved is searched, but trials that compete must be solved at the same score. Set",
    ),
    "gates under rule 1": (
        {"dt": 0.5},
        {"halving": {"gate_most": 3}},
        "tiny: halving: gate_most has no effect under rule 1. Remove it, or set rule = 2.",
    ),
    "a pruner that decides after the last epoch": (
        {"dt": 0.5},
        {"rule": 2, "pruner": "MedianPruner", "pruner_arguments": {"n_warmup_steps": 6}},
        "tiny: pruner: its first decision must come before the last epoch, 6, got epoch 6: no trial would be stopped.",
    ),
    "a wrapped pruner that decides after the last epoch": (
        {"dt": 0.5},
        {
            "rule": 2,
            "pruner": "PatientPruner",
            "pruner_arguments": {"wrapped_pruner": {"class": "MedianPruner", "n_warmup_steps": 9}, "patience": 1},
        },
        "tiny: pruner: its first decision must come before the last epoch, 6, got epoch 9: no trial would be stopped.",
    ),
    "a pruner of more trials than compete": (
        {"dt": 0.5},
        {"rule": 2, "trials": 4, "pruner": "MedianPruner"},
        "tiny: pruner: it decides once 5 trials compete, and here are at most 4: no trial would be stopped. Set fewer",
    ),
    "trials that compete with themselves": (
        {"dt": 0.5},
        {"halving": {}, "pack": 1},
        "tiny: halving: each trial would compete only with itself, so none would be stopped. Set more trials, or under",
    ),
    "a score that the mean has": (
        {"solved": [0.001, 99.9]},
        {},
        "tiny: solved: a training would end after three epochs, as 99.9 is no better than the mse 0.1",
    ),
    "a warm-up that never ends": (
        {"dt": 0.5},
        {"recipe": {"warmup": 6.5}},
        "tiny: warmup: the learning rate must reach its full value within 6 epochs, got warmup 6.5. Set it lower",
    ),
    "patience of all epochs": (
        {"dt": 0.5},
        {"recipe": {"patience": 6}},
        "tiny: patience: it must be lower than the number of epochs, 6, got 6: no training would end early. Set it",
    ),
    "a rung behind the last epoch": (
        {"dt": 0.5},
        {"halving": {"first": 6}},
        "tiny: halving: first must be below the number of epochs, 6, got 6: no trial would be stopped. Set it",
    ),
}


@pytest.mark.parametrize(("space", "changes", "line"), WRONG.values(), ids=WRONG)
def test_what_a_search_cannot_draw_is_one_line(space: dict[str, Any], changes: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(line)) as caught:
        search(space, **changes)
    assert "\n" not in str(caught.value)


def test_halving_takes_what_leaves_trials_in_one_pack() -> None:
    space = {"clip": {"low": 0.1, "high": 1.0}, "weight_decay": {"low": 1e-5, "high": 0.1}, "dt": [0.5, 1.0]}
    trials = all_trials(search(space, halving={"eta": 2}, trials=6), {})
    assert len({c.shape for c in trials}) == 1 and len({c.clip for c in trials}) == 6
