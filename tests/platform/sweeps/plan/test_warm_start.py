"""A search may begin with settings that are known: those a paper found best, and those of the store's best rows."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from small_sweeps import small, to_the_end

from longwave.platform.cli.main import main
from longwave.platform.errors import ConfigError
from longwave.platform.records.group import Group, RunSummary
from longwave.platform.records.search import searched_by
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.cells import Sweep, WarmStart
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import read_sweep_plan, store_plan, stored_settings
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.plan.warm_start import ROWS, choose_starts, settings_of_rows
from longwave.platform.sweeps.run import driver


def cornn(**changes: Any) -> Sweep:
    """Return a search of coRNN on the adding problem, for which its paper printed one best setting."""
    return resolve(small(**{"models": ["cornn"], "trials": 3, "warm": "published", **changes}))


def test_the_first_trial_is_the_setting_that_the_paper_found_best_and_the_others_are_drawn_as_without() -> None:
    [best] = [b for b in get_model("cornn").best if b.task == "adding N=5000"]
    warm, cold = cornn(), cornn(warm=None)
    trials, others = all_trials(warm, {}), all_trials(cold, {})
    assert dict(trials[0].params) == dict(best.values) and trials[0].seed == others[0].seed
    assert trials[1:] == others[1:] and len(trials) == 3
    [start] = warm.cells[0].warm
    assert start.out == "" and start.differing == "hidden 128" and "adding N=5000" in start.source


def test_without_a_warm_start_no_identity_and_no_stored_plan_is_another() -> None:
    [entry] = cornn(warm=None).cells
    assert entry.warm == () and "warm" not in entry.to_dict()
    assert "warm" not in stored_settings(cornn(warm=None).file) and "warm" not in all_trials(cornn(), {})[0].to_dict()
    assert small(warm="published") == small(warm=["published"])


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"space": {"cornn": {"gamma": {"low": 1, "high": 50}}}}, "gamma 94.5 lies outside 1 to 50"),
        ({"space": {"cornn": {"gamma": [1, 2]}}}, "gamma 94.5 lies outside 1, 2"),
        ({"space": {"cornn": {"dt": 0.05}}}, "dt 0.016 is 0.05 here"),
        ({"hidden": None, "space": {"cornn": {"hidden": [8, 16]}}}, "hidden 128 lies outside 8, 16"),
    ],
)
def test_a_setting_outside_the_space_is_left_out_and_the_plan_says_why(changes: dict[str, Any], why: str) -> None:
    sweep = cornn(**changes)
    assert [start.out for start in sweep.cells[0].warm] == [why]
    assert all_trials(sweep, {}) == all_trials(cornn(**{**changes, "warm": None}), {})


def test_a_size_that_is_drawn_is_part_of_the_setting_and_a_value_that_is_fixed_as_printed_keeps_it_inside() -> None:
    [first, *_] = all_trials(cornn(hidden=None, space={"cornn": {"hidden": [8, 128], "gamma": 94.5}}), {})
    assert first.hidden == 128 and isinstance(first.hidden, int) and first.params["epsilon"] == 9.5


def test_words_and_numbers_that_are_drawn_are_the_recipes_where_they_may_be() -> None:
    def first(**space: Any) -> TrialConfig:
        return all_trials(cornn(space={"cornn": space}), {})[0]

    words = first(optimiser=["sgd", "adam"], schedule=["cosine", "drops"], weight_decay=[0.1, 0.0])
    assert (words.optimiser, words.schedule, words.params.get("weight_decay")) == ("adam", "drops", None)
    other = first(optimiser=["sgd", "adamw"], weight_decay=[0.1, 0.2])
    assert other.params["gamma"] == 94.5 and other.optimiser != "adam" and other.params["weight_decay"] in (0.1, 0.2)


@pytest.mark.parametrize("sampler", ["random", "tpe"])
def test_numbers_that_only_the_word_of_a_start_uses_are_drawn_from_the_space(sampler: str) -> None:
    space = {"cornn": {"optimiser": ["adam", "sgd"], "momentum": {"low": 0.5, "high": 0.9}}}
    for seed in range(8):
        sweep = cornn(warm=None, sampler=sampler, seed=seed, space=space)
        others = all_trials(sweep, {})[1:]
        begun = replace(sweep.cells[0], warm=(WarmStart("a study", {"optimiser": "sgd", "lr": 0.01}),))
        [start, *same] = all_trials(replace(sweep, cells=(begun,)), {})
        assert (start.optimiser, start.params["lr"]) == ("sgd", 0.01) and 0.5 <= start.params["momentum"] <= 0.9
        assert same == others


def test_a_model_of_which_no_setting_is_printed_begins_with_none() -> None:
    sweep = resolve(small(models=["gru"], warm="published"))
    assert sweep.cells[0].warm == () and all_trials(sweep, {}) == all_trials(resolve(small(models=["gru"])), {})


def test_a_warm_start_counts_in_the_trials_and_what_is_too_much_is_left_out() -> None:
    sweep = cornn(trials=1)
    assert len(all_trials(sweep, {})) == 1
    both = {"models": ["tau_gru"], "variant": "N=5000", "steps": 1, "space": {"tau_gru": {"tau": [900, 2000]}}}
    used, left = resolve(small(**both, trials=1, warm="published")).cells[0].warm
    assert not used.out and "adding N=5000" in used.source  # its own variant goes first
    assert "adding N=2000" in left.source and left.out == "more than 1 trial"


def test_a_warm_start_that_is_left_out_uses_up_no_trial() -> None:
    starts = [WarmStart("a", {}, out="lr 2 lies outside 0.1 to 1"), WarmStart("b", {"lr": 0.1})]
    assert list(choose_starts(small(models=["cornn"], trials=1), starts)) == starts


def group(sweep: Sweep, k: int, valids: list[float | None], imported: bool = False, **changes: Any) -> Group:
    """Return a row of which each retraining ended with a validation metric, or diverged."""
    config = replace(all_trials(sweep, {})[k], phase="retrain", **changes)
    runs = [RunSummary(f"{config.row}{n}", "diverged" if v is None else "ok", v, v) for n, v in enumerate(valids)]
    from longwave.platform.about import about

    return Group(config, about(config), runs, came={run.id: "b" for run in runs} if imported else {})


def test_rows_are_taken_by_their_median_on_validation_a_diverged_seed_worst() -> None:
    sweep = cornn(trials=8, warm=None)
    [entry] = sweep.cells
    rows = [
        group(sweep, 0, [0.3, 0.3, 0.3]),
        group(sweep, 1, [0.1, None, None]),
        group(sweep, 2, [0.2, 0.2, None]),
        group(sweep, 3, [0.01], imported=True),
        group(sweep, 4, []),
        group(sweep, 5, [0.05], variant="N=30"),
        group(sweep, 6, [0.9]),
        group(sweep, 7, [0.8]),
    ]
    actual = settings_of_rows(entry, rows)
    assert [dict(s.values) for s in actual] == [dict(rows[k].config.params) for k in (2, 0, 7)] and len(actual) == ROWS
    assert actual[0].source == f"row {rows[2].row[:12]}, {entry.metric} 0.2 on validation"
    assert settings_of_rows(entry, [replace(rows[0], superseded="an older version")]) == []
    higher = settings_of_rows(replace(entry, goal="max"), rows)
    assert dict(higher[0].values) == dict(rows[6].config.params) and higher[0].source.endswith(" 0.9 on validation")


def test_what_a_row_has_beside_the_space_leaves_it_out_or_is_told() -> None:
    sweep = cornn(warm=None)
    [entry] = sweep.cells
    [start] = settings_of_rows(entry, [group(sweep, 0, [0.1], hidden=9, clip=2.0)])
    assert start.out == "" and start.differing == "hidden 9, clip 2"
    [start] = settings_of_rows(entry, [group(sweep, 0, [0.1], optimiser="sgd")])
    assert start.out == "" and start.differing == "optimiser sgd"
    params = {**all_trials(sweep, {})[0].params, "weight_decay": 0.1}
    [start] = settings_of_rows(entry, [group(sweep, 0, [0.1], params=params)])
    assert start.out == "weight_decay 0.1 is neither drawn nor fixed here"
    [decayed] = cornn(warm=None, recipe={"weight_decay": 0.2}).cells
    [start] = settings_of_rows(decayed, [group(sweep, 0, [0.1])])
    assert start.out == "weight_decay 0 is 0.2 here"
    drawn = cornn(warm=None, space={"cornn": {"weight_decay": [0.0, 0.1], "optimiser": ["adam", "sgd"]}})
    [start] = settings_of_rows(drawn.cells[0], [group(sweep, 0, [0.1])])
    assert start.out == "" and start.values["weight_decay"] == 0.0 and start.values["optimiser"] == "adam"


@pytest.fixture
def earlier(store: Store, here: Workers) -> Store:
    """A store in which LEM was searched and retrained."""
    driver.start_sweep(
        small(models=["lem"], name="first", trials=1, retrain=1, epochs=2),
        store,
        here,
        None,
        Console(file=io.StringIO()),
    )
    return store


@pytest.mark.integration
def test_a_search_begins_with_a_row_of_the_store_and_its_board_says_so(earlier: Store, here: Workers) -> None:
    [row] = [r for r in read_board(earlier, "adding") if r.kind == "retrained"]
    file = small(models=["lem"], name="second", trials=2, retrain=1, seed=5, warm=["published", "rows"])
    sweep = store_plan(resolve(file), earlier)
    first, second = all_trials(sweep, {})
    assert first.params == {"lr": 0.0026, "dt": 0.0242} and second.params == row.params
    assert [start.differing for start in sweep.cells[0].warm] == ["hidden 128", "epochs 2"]
    assert read_sweep_plan(earlier, "second") == sweep == store_plan(resolve(file), earlier)
    driver.resume_sweep(sweep, earlier, here, None, Console(file=io.StringIO()))
    output = {way for r in read_board(earlier, "adding") if r.kind == "retrained" for way in r.ways}
    assert output == {"random search", "random search, warm start from published settings and earlier rows"}


@pytest.mark.integration
def test_the_plan_shows_what_a_search_begins_with(
    earlier: Store, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'name = "s"\ntask = "adding"\nvariant = "N=20"\nmodels = ["lem"]\ntrials = 2\nwarm = ["published", "rows"]\n'
        "hidden = 8\nsteps = 5\nepochs = 6\nbatch = 10\n[halving]\ncohort = 2\n"
        "[space.lem]\ndt = {low = 0.1, high = 2}\n"
    )
    assert main(["sweep", "plan", str(path), "--store", earlier.url]) == 0
    output = " ".join(capsys.readouterr().out.split())
    assert "Trial 1: row" in output and "there with epochs 2." in output
    assert "Left out: LEM, Appendix A, Table 8, adding N=10000: dt 0.0242 lies outside 0.1 to 2." in output
    assert "successive halving in cohorts of 2 (η 3, from epoch 1), warm start from published settings" in output


def test_a_sweep_says_how_it_searched() -> None:
    assert searched_by({}) == "random search"
    assert searched_by({"sampler": "tpe", "rounds": 4}) == "tpe search in 4 rounds"
    assert searched_by({"race": {}}) == "random search, a race of 4 finalists with fresh seeds"
    assert searched_by({"race": {}, "trials": 2}) == "random search, a race of 2 finalists with fresh seeds"
    assert searched_by({"race": {}, "trials": 1}) == "random search"
    assert searched_by({"rule": 2, "race": False}) == "random search"
    assert searched_by({"halving": {}}) == "random search, successive halving in packs (η 3, from epoch 1)"
    halving = {"eta": 2, "first": 5, "cohort": 64}
    assert searched_by(stored_settings(small(halving=halving, sampler="qmc", warm="rows", trials=100))) == (
        "qmc search, successive halving in cohorts of 64 (η 2, from epoch 5), warm start from earlier rows"
    )


def test_a_warm_start_that_is_not_known_is_a_line() -> None:
    with pytest.raises(ConfigError, match=r"warm.0: must be 'published' or 'rows', got 'best'\."):
        small(warm="best")


def test_a_search_in_rounds_learns_from_what_it_began_with_and_ends_whole() -> None:
    trials = to_the_end(cornn(trials=9, rounds=3, sampler="tpe"))
    assert sum(c.phase == "search" for c in trials) == 9 and trials[0].params["gamma"] == 94.5


def test_a_row_without_clipping_is_left_out_where_a_norm_is_drawn() -> None:
    [entry] = cornn(warm=None, space={"cornn": {"clip": {"low": 0.1, "high": 10.0}}}).cells
    [start] = settings_of_rows(entry, [group(cornn(warm=None), 0, [0.1])])
    assert start.out.startswith("clip none lies outside 0.1 to 10") and "clip" not in start.values
