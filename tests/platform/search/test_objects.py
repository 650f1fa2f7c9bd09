"""Optuna's objects by name: what Python made, a file can say, and what comes of that draws the same."""

from __future__ import annotations

import math
import re
import sys
import warnings
from typing import Any

import optuna
import pytest

from longwave.platform.errors import ConfigError
from longwave.platform.search.objects import describe_object, make_pruner, make_sampler
from longwave.platform.search.pruning import is_pruning_epoch, least_to_prune, list_pruned, pruning_epochs

o, p, n = optuna.samplers, optuna.pruners, optuna.samplers.nsgaii

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
with warnings.catch_warnings(action="ignore"):
    SAMPLERS: list[tuple[Any, dict[str, Any]]] = [
        (o.RandomSampler(3), {}),
        (o.QMCSampler(qmc_type="halton", scramble=True, seed=1), {"qmc_type": "halton", "scramble": True}),
        (o.TPESampler(seed=1), {}),
        (o.TPESampler(n_startup_trials=3, multivariate=True), {"n_startup_trials": 3, "multivariate": True}),
        (o.CmaEsSampler(popsize=8, sigma0=0.2, x0={"a": 1.0}), {"popsize": 8, "sigma0": 0.2, "x0": {"a": 1.0}}),
        (
            o.CmaEsSampler(independent_sampler=o.TPESampler(n_startup_trials=2)),
            {"independent_sampler": {"class": "TPESampler", "n_startup_trials": 2}},
        ),
        (o.GPSampler(deterministic_objective=True), {"deterministic_objective": True}),
        (o.NSGAIISampler(), {}),
        (
            o.NSGAIISampler(population_size=8, crossover=n.BLXAlphaCrossover(alpha=0.3)),
            {"population_size": 8, "crossover": {"class": "BLXAlphaCrossover", "alpha": 0.3}},
        ),
        (o.NSGAIIISampler(dividing_parameter=4), {"dividing_parameter": 4}),
        (o.GridSampler({"a": [1.0, 2.0]}), {"search_space": {"a": [1.0, 2.0]}}),
        (o.BruteForceSampler(avoid_premature_stop=True), {"avoid_premature_stop": True}),
        (
            o.PartialFixedSampler({"a": 1.0}, o.CmaEsSampler(popsize=5)),
            {"fixed_params": {"a": 1.0}, "base_sampler": {"class": "CmaEsSampler", "popsize": 5}},
        ),
    ]
    PRUNERS: list[tuple[Any, dict[str, Any]]] = [
        (p.MedianPruner(n_warmup_steps=3), {"n_warmup_steps": 3}),
        (p.PercentilePruner(25.0), {"percentile": 25.0}),
        (p.ThresholdPruner(upper=3.0), {"upper": 3.0}),
        (
            p.PatientPruner(p.MedianPruner(), patience=2),
            {"wrapped_pruner": {"class": "MedianPruner"}, "patience": 2},
        ),
        (p.WilcoxonPruner(p_threshold=0.2), {"p_threshold": 0.2}),
        (p.NopPruner(), {}),
    ]


@pytest.mark.parametrize(("made", "arguments"), SAMPLERS, ids=lambda x: type(x).__name__)
def test_a_sampler_is_told_by_class_and_arguments_and_made_of_them_again(made: Any, arguments: dict[str, Any]) -> None:
    assert describe_object(made) == (type(made).__name__, arguments)
    again = make_sampler(*describe_object(made), seed=1)
    assert type(again) is type(made) and describe_object(again) == describe_object(made)


@pytest.mark.parametrize(("made", "arguments"), PRUNERS, ids=lambda x: type(x).__name__)
def test_a_pruner_is_told_by_class_and_arguments_and_made_of_them_again(made: Any, arguments: dict[str, Any]) -> None:
    assert describe_object(made) == (type(made).__name__, arguments)
    assert describe_object(make_pruner(*describe_object(made))) == describe_object(made)


def test_every_class_of_optuna_s_that_samples_is_among_them() -> None:
    names = {name for name in vars(o) if name.endswith("Sampler") and "Base" not in name}
    assert {type(made).__name__ for made, _ in SAMPLERS} == names


def test_a_class_of_one_s_own_and_a_function_are_refused() -> None:
    class Own(o.RandomSampler):
        """Not Optuna's."""

    with warnings.catch_warnings(action="ignore"):
        learner = o.TPESampler(gamma=lambda n: 3)
    with pytest.raises(ConfigError, match="a sweep takes Optuna's own classes, got one of .*Own"):
        describe_object(Own())
    with pytest.raises(ConfigError, match="TPESampler: gamma is a function, which no sweep file can hold"):
        describe_object(learner)


def test_without_cmaes_the_extra_that_brings_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cmaes", None)
    with pytest.raises(ConfigError, match=r"CmaEsSampler needs the package cmaes. .*pip install 'longwave\[cmaes\]'"):
        make_sampler("PartialFixedSampler", {"fixed_params": {}, "base_sampler": "CmaEsSampler"})


def test_a_grid_larger_than_any_sweep_is_refused_before_it_is_made() -> None:
    with pytest.raises(ConfigError, match="GridSampler: search_space has 10,000,000,000 points, at most 2,000,000"):
        make_sampler("GridSampler", {"search_space": {name: [*range(100)] for name in "abcde"}})


@pytest.mark.parametrize(
    ("name", "argument", "value", "rule"),
    [
        ("CmaEsSampler", "popsize", "ten", "a whole number, got 'ten'"),
        ("CmaEsSampler", "sigma0", "wide", "a number, got 'wide'"),
        ("QMCSampler", "qmc_type", 3, "a string, got 3"),
        ("TPESampler", "group", 1, "true or false, got 1"),
        ("GridSampler", "search_space", {"lr": [0.1, math.inf]}, "finite, got {'lr': [0.1, inf]}"),
        ("PercentilePruner", "percentile", "half", "a number, got 'half'"),
        ("MedianPruner", "n_warmup_steps", 1.5, "a whole number, got 1.5"),
        ("GridSampler", "search_space", 3, "a table, got 3"),
        ("CmaEsSampler", "x0", 3, "a table, got 3"),
        ("PartialFixedSampler", "fixed_params", 3, "a table, got 3"),
    ],
)
def test_an_argument_of_another_type_is_refused_in_words(name: str, argument: str, value: Any, rule: str) -> None:
    make = make_pruner if name.endswith("Pruner") else make_sampler
    with pytest.raises(ConfigError, match=f"^{re.escape(f'{name}: {argument} must be {rule}.')}$"):
        make(name, {argument: value})


CURVES = {"a": [4.0, 3.0, 2.0], "b": [5.0, 5.0, 5.0], "c": [3.0, 2.0, 2.5], "d": [4.0, 4.0, 1.0], "e": [9.0, 1.0, 3.0]}


@pytest.mark.parametrize("goal", ["min", "max"])
@pytest.mark.parametrize("epoch", [1, 2, 3])
def test_the_median_pruner_stops_whoever_was_never_as_good_as_the_median_is_now(goal: str, epoch: int) -> None:
    sign = 1 if goal == "min" else -1
    values = {name: {e: sign * v for e, v in enumerate(curve[:epoch], 1)} for name, curve in CURVES.items()}
    median = sorted(curve[epoch - 1] for curve in CURVES.values())[2]
    expected = {name for name, curve in CURVES.items() if min(curve[:epoch]) > median}
    assert list_pruned({"class": "MedianPruner", "n_startup_trials": 1}, goal, values) == expected


@pytest.mark.parametrize("warmup", [0, 1, 4])
@pytest.mark.parametrize("interval", [1, 3, 4])
def test_a_pruner_decides_at_the_epochs_at_which_optuna_lets_it(warmup: int, interval: int) -> None:
    arguments = {"n_startup_trials": 1, "n_warmup_steps": warmup, "interval_steps": interval}
    study = optuna.create_study(pruner=optuna.pruners.MedianPruner(**arguments))
    good, bad = study.ask(), study.ask()
    for epoch in range(1, 13):
        good.report(0.0, epoch)
    study.tell(good, 0.0)
    expected = []
    for epoch in range(1, 13):
        bad.report(1.0, epoch)
        if bad.should_prune():
            expected.append(epoch)
    epochs = pruning_epochs(arguments)
    assert [epoch for epoch in range(1, 13) if is_pruning_epoch(epochs, epoch)] == expected


def test_trials_planned_before_pruners_had_an_offset_are_asked_from_the_first_epoch_on() -> None:
    asked = [epoch for epoch in range(1, 12) if is_pruning_epoch({"first": 1, "every": 4}, epoch)]
    assert asked == [1, 5, 9]


@pytest.mark.parametrize(
    ("name", "arguments", "least"),
    [
        ("MedianPruner", {}, (5, 1)),
        ("PercentilePruner", {"percentile": 25.0, "n_startup_trials": 0, "n_warmup_steps": 3}, (1, 3)),
        ("ThresholdPruner", {"upper": 1.0}, (1, 1)),
        ("PatientPruner", {"wrapped_pruner": {"class": "MedianPruner", "n_warmup_steps": 9}, "patience": 2}, (5, 9)),
    ],
)
def test_a_pruner_names_the_trials_and_epochs_without_which_it_stops_none(
    name: str, arguments: dict[str, Any], least: tuple[int, int]
) -> None:
    assert least_to_prune(name, arguments) == least


def test_patience_looks_at_a_trial_s_own_epochs_and_a_threshold_at_the_last() -> None:
    values = {name: dict(enumerate(curve, 1)) for name, curve in CURVES.items()}
    patient = {"class": "PatientPruner", "wrapped_pruner": None, "patience": 0}
    assert list_pruned(patient, "min", values) == {"c", "e"}
    assert list_pruned({"class": "ThresholdPruner", "upper": 2.5}, "min", values) == {"b", "e"}
