"""Ways to forge a bundle, each with the finding that it must get."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from bundles import Content, drop, of

from longwave.platform.records.identity import derive_seed
from longwave.platform.records.seeds import seed_key
from longwave.platform.records.trial import TrialConfig


def better_valid(changed: Content) -> None:
    of(changed)[0]["run"]["valid"] *= 0.5


def better_everywhere(changed: Content) -> None:
    run = of(changed)[0]["run"]
    run["valid"] = run["test"] = run["test"] * 0.4


def other_data(changed: Content) -> None:
    for entry in changed["trials"]:
        entry["config"]["data"] = "0" * 16


def the_same_twice(changed: Content) -> None:
    changed["trials"].append(deepcopy(of(changed)[0]))


def selected_on_test(changed: Content) -> None:
    """Retrainings of a configuration that did not win the search by validation."""
    runs = sorted(of(changed, phase="search"), key=lambda e: e["run"]["valid"])
    for entry in of(changed):
        entry["config"]["params"] = runs[1]["config"]["params"]


def a_seed_of_choice(changed: Content) -> None:
    of(changed)[0]["config"]["seed"] = 7


def a_retraining_left_out(changed: Content) -> None:
    drop(changed, of(changed)[1])


def a_winner_left_out(changed: Content) -> None:
    drop(changed, min(of(changed, phase="search"), key=lambda e: e["run"]["valid"]))


def a_search_without_a_sweep(changed: Content) -> None:
    changed["sweeps"] = []


def other_draws(changed: Content) -> None:
    """The search's losers, made up so that nothing beats the winner."""
    for entry in sorted(of(changed, phase="search"), key=lambda e: e["run"]["valid"])[1:]:
        entry["config"]["params"]["lr"] *= 1.1


def a_test_score_in_the_search(changed: Content) -> None:
    of(changed, phase="search")[0]["run"]["test"] = 0.1


def fewer_epochs(changed: Content) -> None:
    of(changed)[0]["points"].pop()


def more_epochs(changed: Content) -> None:
    entry = of(changed)[0]
    entry["points"].append(entry["points"][-1])
    entry["run"]["epochs"] = 5


def another_goal(changed: Content) -> None:
    for entry in of(changed):
        entry["about"]["goal"] = "max"


def another_title(changed: Content) -> None:
    of(changed)[0]["about"]["departures"] = []


def a_baseline_of_ones_own(changed: Content) -> None:
    of(changed)[0]["about"]["trivial"] = {"<script>": 0.1}


def another_version(changed: Content) -> None:
    for entry in changed["trials"]:
        entry["config"]["model_version"] = "7"


def a_weaker_baseline(changed: Content) -> None:
    for entry in changed["trials"]:
        entry["about"]["trivial"]["mean"] *= 2


def without_a_baseline(changed: Content) -> None:
    for entry in changed["trials"]:
        del entry["about"]["trivial"]["mean"]


def measures_in_the_search(changed: Content) -> None:
    measure = {"key": "a", "unit": "1", "value": 1.0, "x_name": "", "x": 0.0}
    of(changed, phase="search")[0]["run"]["measures"] = [measure]


def a_measure_twice(changed: Content) -> None:
    measure = {"key": "a", "unit": "1", "value": 1.0, "x_name": "", "x": 0.0}
    of(changed)[0]["run"]["measures"] = [measure, {**measure, "value": 2.0}]


def an_epoch_of_the_far_future(changed: Content) -> None:
    of(changed)[0]["points"][0]["at"] = 1e308


def no_commit(changed: Content) -> None:
    for facts in changed["environments"].values():
        facts.pop("commit", None)


def no_kernel(changed: Content) -> None:
    for facts in changed["environments"].values():
        facts.pop("kernel", None)


def no_patch(changed: Content) -> None:
    for facts in changed["environments"].values():
        facts["diff"] = "f" * 16


def a_huge_sweep(changed: Content) -> None:
    changed["sweeps"][0]["content"] |= {"trials": 10**12, "retrain": 10**12}


def a_sweep_on_other_data(changed: Content) -> None:
    changed["sweeps"][0]["content"]["variant"] = "N=1000000"


def a_sweep_of_another_model(changed: Content) -> None:
    changed["sweeps"][0]["content"]["models"] = ["lem"]


def a_sweep_of_no_kind(changed: Content) -> None:
    changed["sweeps"][0]["content"] = {"name": "tiny"}


def an_absent_trial(changed: Content) -> None:
    changed["sweeps"][0]["trials"].append("0" * 16)


def a_bad_seed_that_was_stopped(changed: Content) -> None:
    of(changed)[0]["run"] |= {"test": None, "status": "stopped", "reason": "halving"}


def sweeps_twice(changed: Content) -> None:
    changed["sweeps"] *= 2


def ended_late(changed: Content) -> None:
    of(changed)[0]["ended"] = "9999-12-31T23:59:59-12:00"


def change_run(**changes: Any) -> Callable[[Content], None]:
    """Return a change of the run of one trial."""

    def apply_change(changed: Content) -> None:
        of(changed)[0]["run"] |= changes

    apply_change.__name__ = f"run: {changes}"
    return apply_change


def change_config(**changes: Any) -> Callable[[Content], None]:
    """Return a change of one trial's configuration."""

    def apply_change(changed: Content) -> None:
        of(changed)[0]["config"] |= changes

    apply_change.__name__ = f"config: {changes}"
    return apply_change


def an_epoch_after_its_patience(changed: Content) -> None:
    entry = of(changed)[0]
    entry["config"]["params"]["patience"] = 1.0
    for point in entry["points"][1:]:
        point["valid"] = entry["points"][0]["valid"]


def a_worse_epoch_as_the_best(changed: Content) -> None:
    entry = of(changed)[0]
    worst = max(entry["points"], key=lambda point: point["valid"])
    entry["run"] |= {"valid": worst["valid"], "best_epoch": worst["epoch"]}


def an_epoch_of_choice_as_the_last(changed: Content) -> None:
    entry = of(changed)[0]
    entry["config"]["selection"] = "last"
    entry["run"] |= {"valid": entry["points"][0]["valid"], "best_epoch": 1}


def an_epoch_of_the_curve_alone(changed: Content) -> None:
    points = of(changed)[0]["points"]
    points.append({**points[-1], "epoch": 5})


def a_curve_without_a_best_epoch(changed: Content) -> None:
    of(changed)[0]["run"] |= {
        "status": "diverged", "reason": "loss nan", "test": None, "valid": None, "best_epoch": None
    }  # fmt: skip


def a_search_seed_of_choice(changed: Content) -> None:
    of(changed, phase="search")[0]["config"]["seed"] = 7


def a_gate_of_words(changed: Content) -> None:
    halving = {"eta": 2, "first": 1, "cohort": "0" * 16, "gate": "low"}
    of(changed, phase="search")[0]["config"]["halving"] = halving


def one_more_retraining(seed: Callable[[TrialConfig], int], rerun: str = "") -> Callable[[Content], None]:
    """Return a change that adds a retraining with a seed of its own to a row, but to no sweep."""

    def apply_change(changed: Content) -> None:
        entry = deepcopy(of(changed)[0])
        entry["config"]["seed"] = seed(TrialConfig.from_dict(entry["config"]))
        entry["run"]["trial"] = "new"  # no sweep planned it
        changed["trials"].append(entry | {"rerun": rerun})

    apply_change.__name__ = f"one more retraining, {rerun or 'no re-run'}"
    return apply_change


def facts_of_float64(changed: Content) -> None:
    for facts in changed["environments"].values():
        facts["precision"] = "float64"


def uncommitted_changes_left_out(changed: Content) -> None:
    changed["patches"] = {}
    for facts in changed["environments"].values():
        facts["dirty"] = "true"
        facts.pop("diff", None)


def a_patch_of_another_text(changed: Content) -> None:
    changed["patches"]["f" * 16] = "+lr = 1.0\n"


def a_larger_floor(changed: Content) -> None:
    for entry in changed["trials"]:
        entry["about"]["floor"] = 0.5


FORGED: Sequence[tuple[Callable[[Content], None], str, str]] = (
    (better_valid, "reject", r"scores: trial \w+ says [\d.]+ at epoch \d, its curve says"),
    (better_everywhere, "reject", r"scores: trial \w+ says [\d.]+ at epoch \d, its curve says"),
    (other_data, "reject", "data: the data of adding N=20 have version [0-9a-f]+, got 0000000000000000"),
    (the_same_twice, "reject", r"identity: trial \w+ is there 2 times"),
    (
        selected_on_test,
        "reject",
        r"plan: sweep tiny, gru: row \w+ was retrained, but row \w+ is the best by validation",
    ),
    (a_seed_of_choice, "reject", "plan: sweep tiny, gru: its retrainings have seeds that do not follow from the sweep"),
    (a_retraining_left_out, "reject", "plan: sweep tiny, gru: 1 of 3 retrainings are missing"),
    (a_winner_left_out, "reject", "plan: sweep tiny, gru: 1 of 3 search trials are missing"),
    (a_search_without_a_sweep, "reject", r"plan: row \w+ belongs to no sweep"),
    (other_draws, "flag", "data: sweep tiny: 2 search trials are not those drawn here"),
    (a_test_score_in_the_search, "reject", r"scores: trial \w+ is a search trial and has a test metric"),
    (fewer_epochs, "reject", r"curves: trial \w+ trained 4 epochs, its curve has 3"),
    (more_epochs, "reject", r"curves: trial \w+ trained 5 epochs, but 4 were planned"),
    (another_goal, "reject", r"explained: trial \w+: goal is 'min' here, got 'max'"),
    (another_title, "flag", r"explained: trial \w+: departures is \('hidden 8 \(published 128\)'.* here, got \(\)"),
    (a_baseline_of_ones_own, "reject", r"explained: trial \w+ has a description that no task or model gives"),
    (another_version, "flag", r"versions: trial \w+ has the versions of task, model and training rules 2, 7, 1; here"),
    (a_weaker_baseline, "flag", r"data: the predictor mean of adding N=20 scores [\d.]+ here, got"),
    (without_a_baseline, "flag", r"data: the predictor mean of adding N=20, which scores [\d.]+ here, is missing"),
    (
        measures_in_the_search,
        "reject",
        r"scores: trial \w+ is a search trial that ended ok and has measures of the test",
    ),
    (a_measure_twice, "reject", r"scores: trial \w+ has a measure twice"),
    (an_epoch_of_the_far_future, "reject", r"sizes: trial \w+ has an epoch with an impossible time"),
    (change_run(seconds=1.7e308), "reject", r"sizes: trial \w+ took 1.7e\+308 s, more than a thousand years"),
    (change_run(test=1.7e308), "reject", r"scores: trial \w+ has a metric outside \[0, 1e\+150\]"),
    (change_run(joules=1.7e308), "reject", r"sizes: trial \w+ took 1.7e\+308 J, more than any training"),
    (no_commit, "flag", r"provenance: trial \w+ does not say its commit"),
    (no_kernel, "flag", r"provenance: trial \w+ does not say its kernel"),
    (no_patch, "reject", r"identity: environment \w+ names the patch ffffffffffffffff that is missing"),
    (
        a_huge_sweep,
        "reject",
        "plan: a sweep: trials: must be at most 2147483647, got 1",
    ),
    (a_sweep_on_other_data, "reject", "plan: sweep tiny, gru: the sweep trains only lem, gru on adding N=1000000"),
    (a_sweep_of_another_model, "reject", "plan: sweep tiny, gru: the sweep trains only lem on adding N=20"),
    (a_sweep_of_no_kind, "reject", "plan: a sweep: the keys task, models, trials are missing"),
    (
        an_absent_trial,
        "reject",
        "identity: sweep tiny planned 1 trial that is missing, as 0{16}. If other",
    ),
    (a_bad_seed_that_was_stopped, "reject", r"scores: trial \w+ was stopped by successive halving"),
    (sweeps_twice, "reject", "identity: a sweep is there twice"),
    (change_run(seconds=-1.0), "reject", r"sizes: trial \w+ has a negative duration"),
    (change_run(joules=-1.0), "reject", r"sizes: trial \w+ has a negative energy"),
    (change_run(seconds=0.0), "flag", r"sizes: trial \w+ took 0 s, less than the epochs of its curve"),
    (change_run(parameters=10**30), "reject", rf"sizes: trial \w+ has {10**30} parameters"),
    (change_run(parameters=10), "reject", r"sizes: trial \w+ has a network of \d+ parameters, got 10"),
    (change_run(epochs=-1), "reject", r"sizes: trial \w+ has -1 epochs"),
    (ended_late, "reject", r"sizes: trial \w+ has an impossible end time, 9999-12-31"),
    (
        change_config(model="<b>gru</b>"),
        "reject",
        r"names: trial \w+: No model '<b>gru</b>'. Did you mean bmru or gru or rg_lru",
    ),
    (change_config(task="../../etc"), "reject", r"names: trial \w+: No task '../../etc'"),
    (
        change_config(options={"x": 1}),
        "reject",
        r"names: trial \w+: gru has the options biases, block, depth, norm, nonlinearity, glu, conv, got {'x': 1}",
    ),
    (change_config(params={"lr": -1.0}), "reject", r"names: trial \w+: η \(lr\) must be a finite number > 0, got -1.0"),
    (change_config(params={}), "reject", r"names: trial \w+: gru takes lr, got ."),
    (change_config(optimiser="adan"), "reject", r"names: trial \w+: No optimiser 'adan'. Did you mean adam"),
    (change_config(params={"lr": 0.1, "nu": 1.0}), "reject", r"names: trial \w+: No training number 'nu'"),
    (an_epoch_after_its_patience, "reject", r"curves: trial \w+ ended ok after 4 of 2 epochs"),
    (change_config(hidden=0), "reject", r"names: trial \w+: its recipe: hidden: must be greater than 0, got 0"),
    (change_config(hidden=2**40), "reject", r"names: trial \w+: its recipe: hidden: must be at most"),
    (change_config(seed=-1), "reject", r"names: trial \w+: a seed is at least 0"),
    (
        change_config(precision="float8"),
        "reject",
        r"names: trial \w+: precision must be float32 or [a-z0-9 ]+, got 'float8'",
    ),
    (
        change_config(halving={"eta": 3}),
        "reject",
        r"names: trial \w+: a search trial names the cohort it competes with",
    ),
    (change_config(variant="N=1000000"), "flag", "data: the data of adding N=1000000 are not on this machine"),
    (change_config(variant="<i>"), "reject", "data: adding takes a variant N=<steps>"),
    (a_worse_epoch_as_the_best, "reject", r"scores: trial \w+ says its best is [\d.]+, its curve has [\d.]+\."),
    (an_epoch_of_choice_as_the_last, "reject", r"scores: trial \w+ is scored at its last epoch, 4, got 1\."),
    (change_run(epochs=5), "reject", r"curves: trial \w+ trained 5 epochs, but 4 were planned"),
    (an_epoch_of_the_curve_alone, "reject", r"curves: trial \w+ trained 5 epochs, but 4 were planned"),
    (a_curve_without_a_best_epoch, "reject", r"scores: trial \w+ has a curve and no best epoch"),
    (change_config(options={"biases": 2}), "reject", r"names: trial \w+: biases 2 is the default and must be left out"),
    (change_config(steps=None), "reject", r"names: trial \w+: adding needs steps an epoch, got None"),
    (a_gate_of_words, "reject", r"names: trial \w+: the gate of a successive halving is a finite number, got 'low'"),
    (a_search_seed_of_choice, "reject", "plan: sweep tiny, gru: its search trials have seeds that do not follow"),
    (
        one_more_retraining(lambda config: 7),
        "reject",
        r"plan: row \w+ has retrainings that are neither part of a sweep nor re-runs",
    ),
    (
        one_more_retraining(lambda config: 7, "inside"),
        "flag",
        r"plan: row \w+ has re-runs whose seeds were chosen, or lacks some of them",
    ),
    (
        one_more_retraining(lambda config: derive_seed("reproduce", seed_key(config), 1), "outside"),
        "flag",
        r"plan: row \w+ has re-runs whose seeds were chosen, or lacks some of them",
    ),
    (facts_of_float64, "reject", r"provenance: trial \w+ was planned in float32 and ran in float64"),
    (uncommitted_changes_left_out, "flag", r"provenance: trial \w+ ran with uncommitted changes that are missing"),
    (change_run(environment={"device": "cpu"}), "reject", r"identity: trial \w+ says where it ran in a second place"),
    (a_patch_of_another_text, "reject", r"identity: patch f{16} has a text whose hash is \w+"),
    (a_larger_floor, "flag", "data: the least error of adding N=20 is 0 here, got 0.5"),
)
