"""Draws by any of Optuna's samplers: equal to those of a study that Optuna runs itself, round by round."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from itertools import product
from typing import Any

import optuna
import pytest

from longwave.platform.errors import ConfigError
from longwave.platform.search.space import Dimension, check_draws, draw

SPACE = (Dimension("lr", 1e-4, 1e-1, log=True), Dimension("dt", 0.0, 2.0), Dimension("hidden", 4, 64, whole=True))
SIZES = (5, 5, 5)
ROUNDS: Mapping[str, tuple[Any, dict[str, Any]]] = {
    "CmaEsSampler": (lambda: optuna.samplers.CmaEsSampler(popsize=4, seed=7), {"popsize": 4}),
    "NSGAIISampler": (lambda: optuna.samplers.NSGAIISampler(population_size=5, seed=7), {"population_size": 5}),
}


def score(point: Mapping[str, Any]) -> float:
    """Return what a point scores, the less the better."""
    return (point["dt"] - 1.3) ** 2 + abs(point["lr"] - 0.01) + point["hidden"] / 1000


def draw_rounds(sampler: str, arguments: dict[str, Any], failing: int = -1, seed: int = 7) -> list[list[Any]]:
    """Return the points of each round, as a sweep draws them: from what is recorded of the rounds before."""
    known: list[list[Any]] = []
    for n in SIZES:
        points = draw(SPACE, n, seed, sampler, known, arguments=arguments)
        done = sum(map(len, known))
        known.append([(p, None if done + k == failing else score(p)) for k, p in enumerate(points)])
    return [[point for point, _ in results] for results in known]


def run_study(made: Any, failing: int = -1) -> list[list[Any]]:
    """Return the points of each round of a study that is kept in memory all the time."""
    study, rounds = optuna.create_study(sampler=made), []
    for n in SIZES:
        trials, points = [study.ask() for _ in range(n)], []
        for t in trials:
            lr, dt = t.suggest_float("lr", 1e-4, 1e-1, log=True), t.suggest_float("dt", 0.0, 2.0)
            points.append({"lr": lr, "dt": dt, "hidden": float(t.suggest_int("hidden", 4, 64))})
        for t, point in zip(trials, points, strict=True):
            fails = t.number == failing
            study.tell(t, None if fails else score(point), state=optuna.trial.TrialState.FAIL if fails else None)
        rounds.append(points)
    return rounds


@pytest.mark.parametrize("failing", [-1, 6])
@pytest.mark.parametrize("sampler", ROUNDS)
def test_a_sampler_with_a_state_draws_what_a_study_that_never_stopped_does(sampler: str, failing: int) -> None:
    make, arguments = ROUNDS[sampler]
    with warnings.catch_warnings(action="ignore"):
        expected = run_study(make(), failing)
    assert draw_rounds(sampler, arguments, failing) == expected


def test_cma_es_gathers_round_the_best_point() -> None:
    first, *_, last = draw_rounds("CmaEsSampler", {"popsize": 4, "sigma0": 0.1})
    spread = [max(p["dt"] for p in points) - min(p["dt"] for p in points) for points in (first, last)]
    assert spread[1] < spread[0]


@pytest.mark.integration
def test_a_gaussian_process_draws_what_optuna_does_after_the_same_results() -> None:
    results = [(p, score(p)) for p in draw(SPACE, 12, 3)]
    with warnings.catch_warnings(action="ignore"):
        study = optuna.create_study(sampler=optuna.samplers.GPSampler(seed=5))
        distributions = {
            "lr": optuna.distributions.FloatDistribution(1e-4, 1e-1, log=True),
            "dt": optuna.distributions.FloatDistribution(0.0, 2.0),
            "hidden": optuna.distributions.IntDistribution(4, 64),
        }
        for params, value in results:
            study.add_trial(optuna.trial.create_trial(params=params, distributions=distributions, value=value))
        trial = study.ask(distributions)
    assert draw(SPACE, 1, 5, "GPSampler", [results]) == [trial.params]


@pytest.mark.parametrize(
    ("sampler", "arguments", "space"),
    [
        ("GridSampler", {"search_space": {"dt": [0.5, 1.0, 1.5]}}, SPACE[1:2]),
        ("BruteForceSampler", {}, (Dimension("word", choices=("a", "b", "c")),)),
        ("QMCSampler", {"qmc_type": "halton"}, SPACE),
        ("PartialFixedSampler", {"fixed_params": {"dt": 0.25}, "base_sampler": "RandomSampler"}, SPACE),
    ],
)
def test_a_grid_is_gone_through_and_a_fixed_number_stays(sampler: str, arguments: Any, space: Any) -> None:
    points = draw(space, 3, 1, sampler, arguments=arguments)
    assert points == draw(space, 3, 1, sampler, arguments=arguments)
    values = sorted(point.get("dt", point.get("word")) for point in points)
    fixed = {"GridSampler": [0.5, 1.0, 1.5], "BruteForceSampler": ["a", "b", "c"], "PartialFixedSampler": [0.25] * 3}
    assert values == fixed.get(sampler, values) and len(points) == 3


def test_a_space_too_large_to_be_gone_through_is_refused_before_it_is_listed() -> None:
    space = (Dimension("hidden", 1, 2**31 - 1, whole=True), Dimension("word", choices=("a", "b")))
    with pytest.raises(ConfigError, match="BruteForceSampler: its space has 4,294,967,294 points, at most 2,000,000"):
        draw(space, 1, 0, "BruteForceSampler")


def test_a_brute_force_search_over_wider_ranges_goes_through_the_points_that_are_left() -> None:
    first, wider = (
        (Dimension("hidden", 8, high, whole=True), Dimension("word", choices=("a", "b"))) for high in (9, 11)
    )
    known = [(p, None if k == 2 else 0.5) for k, p in enumerate(draw(first, 4, 1, "BruteForceSampler"))]
    drawn = draw(wider, 4, 2, "BruteForceSampler", [known])
    points = [(p["hidden"], p["word"]) for p in (*(p for p, _ in known), *drawn)]
    assert sorted(points) == [*product((8, 9, 10, 11), "ab")]


def test_a_brute_force_search_of_more_trials_than_points_is_refused() -> None:
    with pytest.raises(ConfigError, match="BruteForceSampler: its space has 61 points, too few for 62 trials. Set"):
        check_draws(SPACE[2:], 62, 0, "BruteForceSampler", "min", {})
    check_draws(SPACE[2:], 61, 0, "BruteForceSampler", "min", {})


def test_a_space_that_a_sampler_refuses_is_one_line() -> None:
    with pytest.raises(ConfigError, match="^sampler: BruteForceSampler: .*step") as caught:
        draw(SPACE, 2, 0, "BruteForceSampler")
    assert "\n" not in str(caught.value)


GRID: dict[str, list[Any]] = {"lr": [0.01], "dt": [0.5, 1.0], "hidden": [8]}


@pytest.mark.parametrize(
    ("sampler", "arguments", "n", "line"),
    [
        ("GridSampler", {"search_space": GRID}, 3, "its grid has 2 points, too few for 3 trials. Set fewer trials"),
        ("GridSampler", {"search_space": {**GRID, "dt": [0.5, 50.0]}}, 2, r"dt 50.0 lies outside 0 to 2. Change"),
        ("GridSampler", {"search_space": {**GRID, "hiden": [1, 2]}}, 2, "search_space: No searched number 'hiden'"),
        ("GridSampler", {"search_space": {"lr": [0.01]}}, 1, r"dt, is not found .* grid. Change \[sampler_arguments\]"),
        ("PartialFixedSampler", {"fixed_params": {"dt": -3.0}}, 2, "dt -3.0 lies outside 0 to 2. Change"),
        ("PartialFixedSampler", {"fixed_params": {"dd": 1.0}}, 2, "fixed_params: No searched number 'dd'"),
        ("TPESampler", {"gamma": 3}, 2, r"'int' object is not callable. Change \[sampler_arguments\]: gamma.$"),
        ("TPESampler", {"n_ei_candidates": 0}, 2, r"Change \[sampler_arguments\]: n_ei_candidates.$"),
    ],
)  # fmt: skip
def test_arguments_that_a_sampler_takes_but_cannot_use_are_refused_in_a_line(
    sampler: str, arguments: dict[str, Any], n: int, line: str
) -> None:
    base = {"base_sampler": "RandomSampler"} if sampler == "PartialFixedSampler" else {}
    with pytest.raises(ConfigError, match=f"^sampler: {sampler}: .*{line}") as caught:
        check_draws(SPACE, n, 12, sampler, "min", {**arguments, **base})
    assert "\n" not in str(caught.value)


def test_arguments_that_a_sampler_can_use_are_taken() -> None:
    check_draws(SPACE, 2, 0, "GridSampler", "min", {"search_space": GRID})
    check_draws(SPACE, 5, 12, "CmaEsSampler", "max", {"popsize": 4, "x0": {"lr": 0.01, "dt": 1.0, "hidden": 8}})
    check_draws(SPACE, 5, 0, "TPESampler", "min", {"n_ei_candidates": 0})  # one round, in which it is not used


def test_a_range_of_whole_numbers_holds_no_others() -> None:
    whole = SPACE[2]
    held = [value for value in (3, 4, 4.5, 12.9, 64.0, 64.5, float("nan")) if whole.holds(value)]
    assert held == [4, 64.0]
    assert (whole.describe_miss(12.9), whole.describe_miss(65)) == ("is not a whole number", "lies outside 4 to 64")
