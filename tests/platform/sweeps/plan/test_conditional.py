"""A search in rounds draws what has a meaning alone, and learns of a number from the trials that had it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from small_sweeps import small
from tree import ROOT

from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.search.space import Dimension, Drawn, draw
from longwave.platform.sweeps.file.reading import read_sweep
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.rounds import drawn_values
from longwave.platform.sweeps.plan.trials import all_trials

SPACE: dict[str, Any] = {
    "momentum": {"low": 0.01, "high": 0.99},  # before its word: the order in the file does not matter
    "optimiser": ["adam", "adamw", "rmsprop", "sgd"],
    "weight_decay": {"low": 1e-6, "high": 1e-1, "log": True},
    "lr": {"low": 1e-4, "high": 1.0, "log": True},
    "dt": 1.0,
}


def search(sampler: str, trials: int = 60, rounds: int = 6, seed: int = 0) -> Sweep:
    space = {"models": ["lem"], "space": {"lem": SPACE}, "trials": trials, "seed": seed, "sampler": sampler}
    return resolve(small(**space, rounds=rounds if sampler == "tpe" else 1))


def error(config: TrialConfig) -> float:
    """Return a score whose best, 0, lies at SGD with a momentum of 0.9; each optimiser has a best rate of its own."""
    rate, numbers = math.log10(config.params["lr"]), config.params
    if config.optimiser == "sgd":
        return (rate + 0.7) ** 2 + 4 * (numbers["momentum"] - 0.9) ** 2
    if config.optimiser == "adamw":
        return 0.5 + (rate + 2.5) ** 2 + 0.3 * (math.log10(numbers["weight_decay"]) + 2) ** 2
    return {"adam": 0.5, "rmsprop": 1.0}[config.optimiser] + (rate + 2.5) ** 2


def actual(sweep: Sweep) -> list[TrialConfig]:
    """Return all trials of a search whose trials end by ``error``."""
    ends: dict[str, Run] = {}
    while len(trials := [c for c in all_trials(sweep, ends) if c.phase == "search"]) > len(ends):
        ends = {c.id: Run(c.id, "ok", valid=error(c)) for c in trials}
    return trials


def test_a_search_in_rounds_draws_a_number_exactly_where_its_word_has_it() -> None:
    sweep = search("tpe", trials=40, rounds=3)
    [entry] = sweep.cells
    trials = actual(sweep)
    assert len(trials) == 40
    for c in trials:
        assert ("momentum" in c.params) == (c.optimiser == "sgd"), c
        assert set(drawn_values(entry, c)) == {d.name for d in entry.space} - ({"momentum"} - set(c.params))


@given(
    st.integers(0, 2**31 - 1), st.integers(1, 12), st.sampled_from(["random", "qmc"]), st.permutations(["a", "b", "c"])
)
@settings(max_examples=20)
def test_samplers_that_learn_nothing_draw_all_as_ever(seed: int, n: int, sampler: str, order: list[str]) -> None:
    known = {
        "a": Dimension("a", choices=("x", "y")),
        "b": Dimension("b", 0.1, 10.0, log=True),
        "c": Dimension("c", 2, 9, log=True, whole=True),
    }
    space = [known[name] for name in order]
    assert draw(space, n, seed, sampler, is_used=lambda point, name: False) == draw(space, n, seed, sampler)


def test_a_point_that_learns_asks_of_each_name_whether_it_has_a_meaning_in_what_is_drawn_before() -> None:
    asked_for: list[tuple[tuple[str, ...], str]] = []

    def means(point: Any, name: str) -> bool:
        asked_for.append((tuple(point), name))
        return name != "b" or point["a"] == "x"

    space = (Dimension("a", choices=("x", "y")), Dimension("b", 0.0, 1.0), Dimension("c", 0.0, 1.0))
    message: list[tuple[dict[str, Drawn], float]] = [({"a": "y", "c": k / 20}, k / 20) for k in range(20)]
    points = draw(space, 12, 5, "tpe", [message], is_used=means)
    assert all(("b" in p) == (p["a"] == "x") and "c" in p for p in points)
    assert asked_for[:3][0] == ((), "a") and asked_for[1] == (("a",), "b")


def test_the_example_of_a_search_begins_with_the_papers_setting_and_competes_in_cohorts_of_several_packs() -> None:
    sweep = resolve(read_sweep(ROOT / "infra/sweeps/search.toml"))
    trials = all_trials(sweep, {})
    assert trials[0].params["lr"] == 0.00904 and trials[0].params["dt"] == 1.0 and not sweep.cells[0].warm[0].out
    assert len(trials) == 24 and len({c.halving["cohort"] for c in trials if c.halving}) == 1
    assert all(("momentum" in c.params) == (c.optimiser == "sgd") for c in trials)
    assert all(("lr_final" in c.params) <= (c.schedule == "cosine") for c in trials)


def test_draws_of_random_and_quasi_random_searches_are_those_of_before() -> None:
    space = (Dimension("lr", 1e-4, 1e-1, True), Dimension("dt", 0.1, 2.0), Dimension("word", choices=("a", "b", "c")))
    assert draw(space, 2, 7)[1] == {"lr": 0.004125604681688555, "dt": 1.052128880953882, "word": "c"}
    assert draw(space, 2, 7, "qmc")[1] == {"lr": 0.0003071066489600496, "dt": 0.626008403301239, "word": "b"}


@pytest.mark.slow  # forty searches of sixty trials, each by two samplers
def test_tpe_finds_better_settings_than_a_random_search_of_as_many_trials_where_words_decide_the_space() -> None:
    """Same budget, same space, forty seeds each: the best settings found are compared by a rank test."""
    best = {s: [min(map(error, actual(search(s, seed=seed)))) for seed in range(40)] for s in ("random", "tpe")}
    assert stats.mannwhitneyu(best["tpe"], best["random"], alternative="less").pvalue < 0.01
    assert np.median(best["tpe"]) < 0.5 * np.median(best["random"])
