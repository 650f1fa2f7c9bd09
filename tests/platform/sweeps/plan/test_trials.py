"""From a sweep file to a list of trials, and from trials to packs: pure, repeatable, and strict about bad input."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from tree import ROOT
from trials import present_trial

from longwave.platform.about import about, departures_of
from longwave.platform.errors import ConfigError
from longwave.platform.records.run import Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.search.space import Dimension, draw
from longwave.platform.statistics.scale import Scale
from longwave.platform.sweeps.file.reading import check_new_sweep, check_sweep, read_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.packing import divide_into_packs, member_bytes, pack_key
from longwave.platform.sweeps.plan.cell_numbers import number_cells
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.rounds import next_round, without_defaults
from longwave.platform.sweeps.plan.trials import all_trials, choose_winner, first_trials, following_trials

DT = Dimension("dt", 0.01, 0.1, True)
GAMMA = Dimension("gamma", 1.0, 3.0)
Tiny = Callable[..., SweepFile]
DECISIVE = [f.name for f in fields(TrialConfig) if f.name not in ("optimiser", "schedule")]


def small(config: TrialConfig) -> int:
    return member_bytes(config, 20, 0)


def ok(config: TrialConfig, valid: float, test: float | None = None) -> Run:
    return Run(config.id, "ok", valid=valid, test=test)


def ends_of(trials: list[TrialConfig], score: Callable[[TrialConfig], float]) -> dict[str, Run]:
    return {c.id: ok(c, score(c)) for c in trials}


@pytest.mark.parametrize("sampler", ["random", "qmc"])
@given(n=st.integers(1, 12), more=st.integers(0, 12), seed=st.integers(0, 2**31 - 1))
@settings(max_examples=10)
def test_a_longer_search_begins_with_the_shorter_one(sampler: str, n: int, more: int, seed: int) -> None:
    short, long = (draw((DT, GAMMA), k, seed, sampler) for k in (n, n + more))
    assert long[:n] == short
    assert all(0.01 <= p["dt"] <= 0.1 and 1 <= p["gamma"] <= 3 for p in long)


def test_draws_are_uniform_in_the_logarithm_or_in_the_value_as_declared() -> None:
    points = draw((DT, GAMMA), 400, 0)
    log_dt = (np.log([p["dt"] for p in points]) - math.log(0.01)) / math.log(10)
    gamma = (np.array([p["gamma"] for p in points]) - 1) / 2
    for sample in (log_dt, gamma):
        assert stats.kstest(sample, "uniform").pvalue > 0.01
    assert abs(stats.pearsonr(log_dt, gamma).statistic) < 0.15


def test_quasi_random_draws_fill_the_space_more_evenly_than_random_ones() -> None:
    def spread(sampler: str) -> float:
        points = draw((GAMMA, replace(GAMMA, name="epsilon")), 64, 3, sampler)  # type: ignore[arg-type]
        unit = [[(p["gamma"] - 1) / 2, (p["epsilon"] - 1) / 2] for p in points]
        return float(stats.qmc.discrepancy(unit))

    assert spread("qmc") < 0.2 * spread("random")


def test_a_plan_is_the_same_each_time_and_another_seed_gives_another(tiny: Tiny) -> None:
    one, again, other = (all_trials(resolve(tiny(seed=s)), {}) for s in (0, 0, 1))
    assert one == again
    assert not {c.id for c in one} & {c.id for c in other}
    assert len({c.id for c in one}) == 8 and {c.phase for c in one} == {"search"}
    assert len({c.seed for c in one}) == 8


def test_the_name_of_a_sweep_is_no_part_of_a_trials_identity(tiny: Tiny) -> None:
    assert all_trials(resolve(tiny(name="one")), {}) == all_trials(resolve(tiny(name="two")), {})


def test_retrainings_are_asked_for_once_all_search_trials_of_the_model_have_ended(tiny: Tiny) -> None:
    sweep = resolve(tiny())
    search = all_trials(sweep, {})
    ends = ends_of(search, lambda c: c.params["lr"])
    del ends[search[0].id]
    partly = all_trials(sweep, ends)
    assert [c.model for c in partly[8:]] == ["gru", "gru"]
    ends[search[0].id] = ok(search[0], 0.0)
    again = all_trials(sweep, ends)[8:]
    assert [(c.model, c.phase) for c in again] == [("lem", "retrain")] * 2 + [("gru", "retrain")] * 2
    assert again[0].params == search[0].params
    assert len({c.seed for c in again} | {c.seed for c in search}) == 12


def test_the_winner_has_the_best_validation_metric_whatever_the_test_metrics_say(tiny: Tiny) -> None:
    file = tiny(models=["lem"])
    a, b, c, d = all_trials(resolve(file), {})
    ends = {
        a.id: ok(a, 0.3, 0.0),
        b.id: ok(b, 0.2, 9.0),
        c.id: Run(c.id, "diverged", "loss nan", valid=0.01),
        d.id: Run(d.id, "stopped", "halving", valid=0.1),
    }
    assert choose_winner(file, Scale("min"), [a, b, c, d], [], ends) == b
    assert choose_winner(file, Scale("max"), [a, b, c, d], [], ends) == a
    assert choose_winner(file, Scale("min"), [c], [], ends) is None


def test_without_a_search_what_is_fixed_is_retrained_at_once_as_the_winner_of_a_search_would_be(tiny: Tiny) -> None:
    fixed = {"models": ["lem"], "space": {"lem": {"lr": 0.01, "dt": 0.5}}}
    sweep = resolve(tiny(**fixed, trials=0))
    [[*begun]], again = first_trials(sweep), all_trials(sweep, {})
    assert begun == again == [config for _, config in following_trials(sweep, [], lambda ids: {})]
    assert [(c.phase, c.params) for c in again] == [("retrain", {"lr": 0.01, "dt": 0.5})] * 2
    searched = resolve(tiny(**fixed, trials=3))
    ends = ends_of(all_trials(searched, {}), lambda c: 0.5)
    assert [c.id for c in all_trials(searched, ends) if c.phase == "retrain"] == [c.id for c in again]


def test_a_model_whose_trials_all_diverged_is_not_retrained(tiny: Tiny) -> None:
    sweep = resolve(tiny(models=["lem"]))
    search = all_trials(sweep, {})
    assert all_trials(sweep, {c.id: Run(c.id, "diverged", "loss inf") for c in search}) == search


def test_tpe_asks_round_by_round_and_learns_from_the_rounds_before(tiny: Tiny) -> None:
    sweep = resolve(tiny(models=["lem"], trials=30, rounds=3, sampler="tpe"))
    begun = all_trials(sweep, {})
    assert len(begun) == 10
    low = all_trials(sweep, ends_of(begun, lambda c: c.params["dt"]))
    high = all_trials(sweep, ends_of(begun, lambda c: -c.params["dt"]))
    assert low[:10] == high[:10] == begun and len(low) == len(high) == 20
    assert np.mean([c.params["dt"] for c in low[10:]]) < np.mean([c.params["dt"] for c in high[10:]])


def test_published_recipes_and_ranges_are_the_defaults(tiny: Tiny) -> None:
    file = check_sweep({"name": "d", "task": "fitzhugh_nagumo", "models": ["lem", "cornn"], "trials": 1}, "f")
    lem, cornn = all_trials(resolve(file), {})
    assert (lem.hidden, cornn.hidden, lem.batch, lem.epochs, lem.clip) == (16, 24, 32, 400, None)
    assert about(lem).departures == ()
    assert about(replace(lem, epochs=15)).departures == ("epochs 15 (published 400)",)
    stiff = {p.name: (p.low, p.high) for p in get_model("cornn").space("adding")}
    assert stiff == {"lr": (1e-4, 0.1), "dt": (0.01, 0.1), "gamma": (1, 100), "epsilon": (1, 100)}
    digits = get_task("digits").recipe("cornn")
    assert (digits.epochs, digits.drops, digits.batch) == (120, (100,), 120)


def test_a_models_own_table_wins_over_the_sweeps_and_a_number_fixes_a_parameter(tiny: Tiny) -> None:
    file = tiny(
        models=["cornn", "lem"],
        model={"cornn": {"hidden": 5, "damping": "implicit"}},
        space={"cornn": {"gamma": 2, "dt": {"low": 0.2, "high": 0.3, "log": False}}},
    )
    trials = all_trials(resolve(file), {})
    assert {c.hidden for c in trials if c.model == "cornn"} == {5}
    assert {c.hidden for c in trials if c.model == "lem"} == {8}
    assert {c.options["damping"] for c in trials if c.model == "cornn"} == {"implicit"}
    assert {c.params["gamma"] for c in trials if c.model == "cornn"} == {2.0}
    assert all(0.2 <= c.params["dt"] <= 0.3 for c in trials if c.model == "cornn")


def test_a_parameter_is_drawn_only_where_it_means_something_and_an_optional_one_only_if_named(tiny: Tiny) -> None:
    plain = all_trials(resolve(tiny(models=["tau_gru", "unicornn"])), {})
    assert {tuple(c.params) for c in plain} == {("lr", "tau"), ("lr", "dt", "alpha")}
    assert all(5 <= c.params["tau"] <= 200 and c.params["tau"] % 1 == 0 for c in plain if c.model == "tau_gru")
    file = tiny(
        models=["tau_gru", "unicornn"],
        model={"tau_gru": {"form": "alpha=0"}, "unicornn": {"layers": 2, "multiscale": False}},
        space={"unicornn": {"dropout": {"low": 0.1, "high": 0.2}, "dt_2": 0.5}},
    )
    trials = all_trials(resolve(file), {})
    assert {tuple(sorted(c.params)) for c in trials if c.model == "tau_gru"} == {("lr",)}
    assert all(c.params["dt_2"] == 0.5 and 0.1 <= c.params["dropout"] <= 0.2 for c in trials if c.model == "unicornn")
    assert about(trials[-1]).model == "UnICORNN (layers 2, no multiscale)"


@pytest.mark.parametrize(
    ("model", "space", "line"),
    [
        ({"form": "alpha=0"}, {"tau": 5}, "tau has no effect with τ-GRU (form alpha=0). Remove it."),
        ({}, {"tau": 5.5}, "τ (tau) must be a whole number ≥ 0 and ≤ 100000, got 5.5."),
        ({}, {"tau": 1e300}, "τ (tau) must be a whole number ≥ 0 and ≤ 100000, got 1e+300."),
        ({}, {"tau": {"low": 1.5, "high": 3}}, "τ (tau) must be a whole number ≥ 0 and ≤ 100000, got 1.5."),
        ({}, {"alpha": 1.5}, "α (alpha) must be a finite number ≥ 0 and ≤ 1, got 1.5."),
        ({}, {"sigma": 1}, "No parameter 'sigma'."),
        ({"form": 1}, {}, "tau_gru.form must be one of full, alpha=0, beta=0, no gating"),
    ],
)
def test_a_parameter_or_option_that_a_model_does_not_take_is_named(
    tiny: Tiny, model: dict[str, object], space: dict[str, object], line: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(line)):
        resolve(tiny(models=["tau_gru"], model={"tau_gru": model}, space={"tau_gru": space}))


@given(n=st.integers(1, 40), workers=st.integers(1, 8), size=st.one_of(st.just("auto"), st.integers(1, 10)))
@settings(max_examples=50)
def test_every_trial_is_in_exactly_one_pack_of_its_shape(n: int, workers: int, size: int | str) -> None:
    base = present_trial("t", "", "d", "lem", {}, {"lr": 0.1}, 8, 2, 3, "search", 0)
    trials = [replace(base, seed=k, hidden=8 if k % 3 else 16) for k in range(n)]
    packs = divide_into_packs(trials, workers, size, small, 2**34)  # type: ignore[arg-type]
    assert sorted(c.seed for pack in packs.values() for c in pack) == list(range(n))
    assert all(len({c.shape for c in pack}) == 1 and pack_key(pack) == key for key, pack in packs.items())
    limit = math.ceil(n / workers) if size == "auto" else size
    assert all(len(pack) <= limit for pack in packs.values())


def test_automatic_packs_stay_within_the_memory_of_a_worker() -> None:
    trials = [present_trial("t", "", "d", "lem", {}, {"lr": 0.1}, 16, 32, 3, "search", k) for k in range(12)]

    def bytes_of(config: TrialConfig, numbers: int = 0) -> int:
        return member_bytes(config, 1000, numbers)

    def more_of(config: TrialConfig) -> int:
        return bytes_of(config, 50_000)

    each = bytes_of(trials[0])
    assert [len(p) for p in divide_into_packs(trials, 1, "auto", bytes_of, 4 * each).values()] == [4, 4, 4]
    assert len(divide_into_packs(trials, 1, "auto", bytes_of, each // 2)) == 12
    more = more_of(trials[0])
    assert more == each + 32 * 50_000 * 4 == bytes_of(replace(trials[0], precision="float64"), 50_000) // 2
    assert [len(p) for p in divide_into_packs(trials, 1, "auto", more_of, 4 * more).values()] == [
        4,
        4,
        4,
    ]


def test_a_measured_size_goes_before_the_estimate() -> None:
    base = present_trial("t", "", "d", "lem", {}, {"lr": 0.1}, 8, 32, 3, "search", 0)
    trials = [replace(base, hidden=hidden, seed=k) for k in range(6) for hidden in (8, 16)]
    measured = {8: 2, 16: None}
    packs = divide_into_packs(trials, 1, "auto", small, 2**34, measured=lambda config: measured[config.hidden])
    assert sorted((pack[0].hidden, len(pack)) for pack in packs.values()) == [(8, 2), (8, 2), (8, 2), (16, 6)]
    fixed = divide_into_packs(trials, 1, 3, small, 2**34, measured=lambda config: measured[config.hidden])
    assert {len(pack) for pack in fixed.values()} == {3}


def test_halving_keeps_each_cohort_in_one_pack_whatever_the_workers(tiny: Tiny) -> None:
    trials = all_trials(resolve(tiny(models=["lem"], trials=6, pack=3, halving={"eta": 2, "first": 1})), {})
    assert len({c.halving["cohort"] for c in trials if c.halving}) == 2
    for workers in (1, 4):
        assert sorted(len(p) for p in divide_into_packs(trials, workers, 3, small, 2**34).values()) == [3, 3]


BAD = {
    "a near miss of a task": (
        {"task": "fitzhugh_nagumi"},
        r"No task 'fitzhugh_nagumi'. Did you mean fitzhugh_nagumo or fitzhugh_nagumo_free\?",
    ),
    "a near miss of a model": ({"models": ["lemm"]}, r"No model 'lemm'. Did you mean lem"),
    "a near miss of a key": ({"trails": 3}, r"No key 'trails'. Did you mean trials"),
    "a wrong type": ({"epochs": "many"}, r"epochs: must be a whole number, got 'many'"),
    "fewer trials than none": ({"trials": -1}, r"trials: must be at least 0, got -1"),
    "no search of what is drawn": ({"trials": 0}, r"trials: with 0 no search chooses lr of lem\. Set it in \["),
    "nothing at all": (
        {"trials": 0, "retrain": 0},
        r"trials: trials and retrain are both 0, so nothing would be trained",
    ),
    "halving of no search": ({"trials": 0, "halving": {}}, r"halving: has no effect with trials = 0"),
    "a row that gives way, in short": ({"trials": 0, "instead_of": ["abc"]}, r"instead_of\.0: .*got 'abc'"),
    "rows that give way to a search": ({"instead_of": ["0" * 16]}, r"instead_of: is only for fixed settings"),
    "rows that give way to a grid": (
        {"trials": 0, "instead_of": ["0" * 16], "grid": {"hidden": [4, 8]}},
        r"instead_of: .*with trials = 0; got a grid",
    ),
    "a sampler of no search": ({"trials": 0, "sampler": "qmc"}, r"sampler: has no effect with trials = 0"),
    "more rounds than trials": (
        {"trials": 4, "sampler": "tpe", "rounds": 2**31 - 1},
        r"rounds: at most one for each of 4 trials, got 2,147,483,647",
    ),
    "a whole number of many digits": (
        {"recipe": {"clip": 10**400}},
        r"recipe\.clip: a whole number must lie within ±9,223,372,036,854,775,807",
    ),
    "one among choices": ({"space": {"lem": {"dt": [1, 10**400]}}}, r"space\.lem\.dt: a whole number must lie within"),
    "no models": ({"models": []}, r"models: must not be empty"),
    "a model twice": ({"models": ["lem", "lem"]}, r"models: each model once, got lem, lem"),
    "a range upside down": (
        {"space": {"lem": {"dt": {"low": 2.0, "high": 1.0}}}},
        r"space.lem: dt: low must not exceed",
    ),
    "a negative step": (
        {"space": {"lem": {"dt": -0.1}}},
        r"space.lem: Δt \(dt\) must be a finite number > 0, got -0.1",
    ),
    "a logarithm of zero": ({"space": {"lem": {"lr": {"low": 0.0, "high": 1.0}}}}, r"a log range needs low > 0"),
    "an unknown parameter": (
        {"space": {"lem": {"gama": 1.0}}},
        r"space.lem: No parameter 'gama'. Known: .*, dt, .*floor, hidden, .*, lr, ",
    ),
    "a range of a stranger": ({"space": {"cornn": {"dt": 0.1}}}, r"No model 'cornn'. .*\[space.cornn\]"),
    "an unknown option": ({"models": ["cornn"], "model": {"cornn": {"damping": "none"}}}, r"one of explicit, implicit"),
    "halving that stops none": ({"halving": {"eta": 1}}, r"halving.eta: must be at least 2, got 1"),
    "a near miss of a key of halving": ({"halving": {"etta": 3}}, r"No key 'etta'. Did you mean eta\?"),
    "a near miss of a key of a range": (
        {"space": {"lem": {"dt": {"low": 1, "high": 2, "lgo": 1}}}},
        r"No key 'lgo'. Did you mean log or low",
    ),
    "a wrong key of a model": ({"model": {"lem": {"hiden": 3}}}, r"model.lem: No key 'hiden'. Did you mean hidden"),
    "an unknown variant": ({"variant": "N=x"}, r"variant: adding takes a variant N=<steps>"),
    "a name with a slash": ({"name": "../x"}, r"name: must be 1 to 80 letters"),
    "rounds without tpe": (
        {"rounds": 2},
        r"rounds: only a sampler that learns, such as tpe, .* got sampler 'random'",
    ),
    "an unknown sampler": ({"sampler": "grid"}, r"sampler: No sampler 'grid'. .*\bGridSampler"),
    "a short name of a sampler with a typing error": ({"sampler": "tpee"}, r"No sampler 'tpee'. Did you mean tpe\?"),
    "an argument that a sampler has not": (
        {"sampler": "CmaEsSampler", "sampler_arguments": {"popsiz": 8}, "rounds": 2},
        r"sampler: No argument of CmaEsSampler 'popsiz'. Did you mean popsize",
    ),
    "an argument of another type": (
        {"sampler": "tpe", "sampler_arguments": {"n_startup_trials": "ten"}},
        r"sampler: TPESampler: n_startup_trials must be a whole number, got 'ten'",
    ),
    "a class that is none": (
        {"sampler": "tpe", "sampler_arguments": {"n_startup_trials": {"class": 1}}},
        r"sampler: TPESampler: n_startup_trials: class must be the name of a class, got 1",
    ),
    "infinity in a table": (
        {"sampler": "GridSampler", "sampler_arguments": {"search_space": {"lr": [0.001, math.inf]}}},
        r"sampler: GridSampler: search_space must be .*, got .*inf",
    ),
    "a grid over what another word would not use": (
        {"grid": {"momentum": [0.5, 0.9]}, "space": {"lem": {"optimiser": ["adam", "sgd"]}}},
        r"grid: momentum has no effect with adam and drops, which a search may draw. Fix the optimiser and the sched",
    ),
    "a value that a sampler refuses": (
        {"sampler": "QMCSampler", "sampler_arguments": {"qmc_type": "hammersley"}},
        r"sampler: QMCSampler: .*hammersley",
    ),
    "a seed of the sampler's own": (
        {"sampler": "RandomSampler", "sampler_arguments": {"seed": 3}},
        r"No argument of RandomSampler 'seed'. .* Its seed follows from that of the sweep",
    ),
    "learning in one round": ({"sampler": "GPSampler"}, r"rounds: GPSampler learns from earlier rounds"),
    "an unknown pruner": ({"pruner": "Median"}, r"pruner: No pruner 'Median'. Did you mean MedianPruner"),
    "a pruner that halves": ({"pruner": "HyperbandPruner"}, r"pruner: HyperbandPruner is successive halving: use"),
    "two ways to stop": ({"pruner": "MedianPruner", "halving": {}}, r"pruner: the file also has successive halving"),
    "arguments of no pruner": ({"pruner_arguments": {"n_warmup_steps": 2}}, r"pruner_arguments: has no effect"),
    "a word in place of choices": (
        {"space": {"lem": {"optimiser": "adam"}}},
        r"space\.lem\.optimiser: must be a number, got 'adam'\. To fix it, set it in \[model\.lem\.recipe\]; to draw",
    ),
    "a drop twice": ({"drops": [2, 3, 3]}, r"drops: must name each epoch once, got \[2, 3, 3\]"),
    "a grid that is a number, beside rows that give way": (
        {"trials": 0, "instead_of": ["0" * 16], "model": {"lem": {"grid": 3}}},
        r"model\.lem: grid: must be a table, got 3",
    ),
    "more rounds than trials of a cell": (
        {"trials": "1 per number", "sampler": "tpe", "rounds": 17},
        r"rounds: at most one for each of 16 trials, got 17",
    ),
    "infinite clipping": ({"clip": math.inf}, r"clip: must be a finite number"),
}


@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_that_names_key_value_and_rule(tiny: Tiny, changes: dict, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        resolve(tiny(**changes))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rule": 2, "halving": {"gate": False, "gate_most": 5}}, "halving: gate_most has no effect with gate = false"),
        ({"trials": 1, "race": {}}, "race: has no effect with one search trial"),
        ({"trials": 8, "race": {"finalists": 2, "best": 3}}, "race: best = 3 has no effect with 2 finalists"),
        ({"keep_weights": True, "retrain": 0}, "keep_weights: has no effect with retrain = 0, as only the weights of"),
    ],
)
def test_keys_without_effect_are_refused_in_new_files_and_read_from_stores(
    tiny: Tiny, changes: dict, message: str
) -> None:
    content = tiny(**changes).model_dump(exclude_unset=True)
    with pytest.raises(ConfigError, match=f"^new: {message}.* Remove it\\.$"):
        check_new_sweep(content, "new")


def test_trials_that_train_alike_are_one() -> None:
    base = present_trial("t", "", "d", "lem", {"block": "pre"}, {"lr": 0.1}, 16, 32, 9, "search", 0)
    plain = replace(base, drops=(5, 8))
    assert without_defaults(replace(base, drops=(8, 5)), {}) == without_defaults(plain, {}) == plain
    assert without_defaults(replace(base, width=16), {}) == without_defaults(base, {}) == base
    assert without_defaults(replace(base, width=8), {}).width == 8


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_the_memory_of_a_trial_with_blocks_is_that_of_all_its_layers(precision: str) -> None:
    config = present_trial("t", "", "d", "lem", {"block": "pre", "depth": 2}, {"lr": 0.1}, 16, 8, 9, "search", 0)
    config = replace(config, width=32, precision=precision)
    tensors = member_bytes(replace(config, options={}, hidden=1, batch=1, precision="float32"), 1, 0)
    size = 2 if precision == "float64" else 1
    assert member_bytes(config, 100, 7) == 8 * (100 * 2 * (16 + 32) * tensors + 4 * 7) * size
    assert member_bytes(replace(config, width=None), 100, 0) == 8 * 100 * 2 * (16 + 16) * tensors * size


def test_a_sweep_file_that_is_missing_or_not_toml_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Cannot read the sweep file .*no.toml: No such file"):
        read_sweep(tmp_path / "no.toml")
    (tmp_path / "bad.toml").write_text("name = [")
    with pytest.raises(ConfigError, match=r"bad.toml is not TOML: "):
        read_sweep(tmp_path / "bad.toml")
    (tmp_path / "long.toml").write_text(f"seed = {'1' * 5000}")
    with pytest.raises(ConfigError, match=r"long.toml: a whole number must lie within ±9,223,372,036,854,775,807.$"):
        read_sweep(tmp_path / "long.toml")


def test_the_demo_asks_for_what_its_readers_are_promised() -> None:
    sweep = resolve(read_sweep(ROOT / "infra/sweeps/demo.toml"))
    assert {"lem", "cornn", "chrono_lstm", "lstm", "gru"} == set(sweep.file.models)
    assert sweep.file.trials >= 8 and sweep.file.variant_by_task == {"adding": "N=50"}
    assert sweep.file.retrain >= 6, "with 5 seeds no test of 10 pairs can tell two models apart"
    assert all("epochs 40 (published" in " ".join(departures_of(e.base, get_task("adding"))) for e in sweep.cells)


def test_a_run_cannot_contradict_itself() -> None:
    bad = [
        ({"status": "ok", "reason": "late"}, "give a reason exactly when not ok"),
        ({"status": "diverged"}, "give a reason exactly when not ok"),
        ({"status": "ok"}, "has a validation metric"),
        ({"status": "failed", "reason": "x", "test": 1.0}, "has no test metric"),
        ({"status": "ok", "valid": math.nan}, "valid must be finite"),
        ({"status": "done", "valid": 1.0}, "a status is one of"),
    ]
    for facts, message in bad:
        with pytest.raises(ValueError, match=message):
            Run("t", **facts)  # type: ignore[arg-type]


def test_a_recipe_that_no_paper_printed_is_called_ours(tiny: Tiny) -> None:
    for task, whose in (("copy_memory", "ours"), ("adding", "published")):
        variant = "N=20" if task == "adding" else ""
        [trial, *_] = all_trials(resolve(tiny(task=task, variant=variant, models=["gru"], steps=7)), {})
        assert f"steps 7 ({whose} 100)" in about(trial).departures


def test_cells_are_numbered_as_in_the_file_and_keep_the_numbers_they_have(tiny: Tiny) -> None:
    file = tiny(models=["lem", "gru"], hidden=None, grid={"hidden": [4, 8]})
    keys = [("adding", model, hidden) for model in ("lem", "gru") for hidden in (4, 8)]
    assert number_cells(file, reversed(keys), {}) == {key: k for k, key in enumerate(keys)}
    assert number_cells(file, [keys[2]], {}) == {keys[2]: 2}
    assert number_cells(file, keys, {keys[3]: 0}) == {keys[3]: 0, keys[1]: 1, keys[2]: 2, keys[0]: 3}
    momentum = tiny(models=["gru"], recipe={"optimiser": "sgd"}, grid={"momentum": [0.9, 0.0]})
    default, other = ("adding", "gru", None), ("adding", "gru", 0.9)  # 0 is the default, which no trial repeats
    assert number_cells(momentum, [default, other], {}) == {other: 0, default: 1}


def test_a_learning_sampler_draws_the_same_whatever_the_order_in_which_earlier_trials_are_read(tiny: Tiny) -> None:
    sweep = resolve(tiny(models=["gru"], sampler="tpe", rounds=3, trials=36))
    ends: dict[str, Run] = {}
    [cell], rounds = sweep.cells, list[list[TrialConfig]]()
    while new := next_round(sweep.file, cell, [c for part in rounds for c in part], ends):
        rounds.append(list(new))
        ends |= ends_of(list(new), lambda c: sum(c.params.values()))
    earlier = [c for part in rounds[:2] for c in part]
    assert len(rounds) == 3
    assert next_round(sweep.file, cell, sorted(earlier, key=lambda c: c.id), ends) == rounds[2]
