"""A second search over wider ranges follows the first, adds to it, and the best of both is retrained."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import pytest
from bundles import Content, drop, forge, of
from rich.console import Console
from small_sweeps import small, to_the_end

from longwave.platform.errors import ConfigError
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import seal
from longwave.platform.exchange.collect import collect
from longwave.platform.records.run import Run
from longwave.platform.records.search import distinct_ways, searched_by
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.range_edges import edges_of_winner
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import (
    draws_are_dependent,
    plan_trials,
    read_sweep_plan,
    store_plan,
    stored_settings,
)
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.run import driver
from longwave.platform.sweeps.run.estimate import planned_stages
from longwave.platform.sweeps.run.status import sweep_status

LR = {"low": 1e-5, "high": 1.0, "log": True}
"""A decade more at each end than the models' own."""
WIDER = {"trials": 3, "space": {"lem": {"lr": LR}, "gru": {"lr": LR}}}


def wider(**changes: Any) -> Sweep:
    return resolve(small(**{"name": "wide", "wider": WIDER, **changes}))


def scored(configs: list[TrialConfig], best: int) -> dict[str, Run]:
    """Return ends of search trials of which one is best."""
    return {c.id: Run(c.id, "ok", valid=0.1 if k == best else 0.5 + k / 100) for k, c in enumerate(configs)}


def of_gru(configs: list[TrialConfig], phase: str = "search") -> list[TrialConfig]:
    return [c for c in configs if (c.model, c.phase) == ("gru", phase)]


def test_it_begins_once_the_first_search_of_a_cell_has_ended_and_draws_from_the_wider_ranges() -> None:
    sweep = wider(wider={**WIDER, "trials": 40})
    first = of_gru(all_trials(sweep, {}))
    assert first == of_gru(all_trials(resolve(small()), {})) and len(first) == 4
    ends = scored(first, 0)
    assert of_gru(all_trials(sweep, dict(list(ends.items())[1:]))) == first, "one of the first search has not ended"
    actual = of_gru(all_trials(sweep, ends))
    assert actual[:4] == first and len(actual) == 44 and len({c.seed for c in actual}) == 44
    drawn = [c.params["lr"] for c in actual[4:]]
    assert all(1e-5 <= lr <= 1.0 for lr in drawn) and min(drawn) < 1e-4 and max(drawn) > 0.1
    assert not of_gru(all_trials(sweep, ends), "retrain"), "the second search has not ended"


@pytest.mark.parametrize("best", [1, 5])
def test_the_best_of_both_searches_is_retrained_with_the_seeds_that_the_first_sweep_gave_it(best: int) -> None:
    sweep, alone = wider(), resolve(small())
    actual = of_gru(all_trials(sweep, scored(of_gru(all_trials(sweep, {})), 99)))
    ends = scored(actual, best)
    again = of_gru(all_trials(sweep, ends), "retrain")
    assert {c.row for c in again} == {replace(actual[best], phase="retrain", halving=None).row} and len(again) == 2
    before = of_gru(all_trials(alone, {k: ends[k] for k in [c.id for c in actual[:4]]}), "retrain")
    assert (again == before) == (best == 1)


def test_what_it_does_not_name_is_drawn_from_the_same_ranges_and_a_model_it_does_not_name_is_searched_alike() -> None:
    ours = wider(wider={"trials": 2, "space": {"lem": {"dt": {"low": 0.001, "high": 3.0}}}}).cells
    assert [(d.name, d.low, d.high) for d in ours[0].wider] == [("lr", *between(ours, 0)), ("dt", 0.001, 3.0)]
    assert ours[1].wider == ours[1].space and len(to_the_end(wider())) == 2 * (4 + 3 + 2)


def between(cells: Any, cell: int) -> tuple[float, float]:
    [d] = [d for d in cells[cell].space if d.name == "lr"]
    return d.low, d.high


def test_those_who_compete_are_of_one_search() -> None:
    halving = {"eta": 2, "first": 1}
    sweep = wider(halving=halving)
    first = of_gru(all_trials(sweep, {}))
    assert first == of_gru(all_trials(resolve(small(halving=halving)), {})), (
        "nothing of the first search is trained again"
    )
    actual = of_gru(all_trials(sweep, scored(first, 0)))
    cohorts = [c.halving["cohort"] for c in actual if c.halving]
    assert len(set(cohorts[:4])) == len(set(cohorts[4:])) == 1 and cohorts[0] != cohorts[4] and len(cohorts) == 7


def test_a_search_that_learns_goes_on_learning_from_the_first() -> None:
    sweep = wider(sampler="tpe", rounds=2, trials=24, models=["gru"], wider={"trials": 20, "space": gru(lr=LR)})
    actual: list[TrialConfig] = []
    for _ in range(3):
        ends = {c.id: Run(c.id, "ok", valid=abs(c.params["lr"] - 0.02)) for c in actual}
        actual = of_gru(all_trials(sweep, ends))
    assert len(actual) == 44
    far = [c.id for c in actual[24:] if not 1e-3 < c.params["lr"] < 0.5]
    assert len(far) < 10, "at random, two thirds and more lie there"


def test_a_search_that_learns_leaves_out_results_outside_the_ranges_of_the_second_one() -> None:
    ranges = {"lr": {"low": 1e-3, "high": 0.1, "log": True}}
    second = {"trials": 4, "space": gru(lr={"low": 1e-2, "high": 1.0, "log": True})}
    sweep = wider(
        rule=2, race=False, sampler="tpe", rounds=2, models=["gru"], trials=16, space=gru(**ranges), wider=second
    )
    actual: list[TrialConfig] = []
    for _ in range(3):
        ends = {c.id: Run(c.id, "ok", valid=abs(c.params["lr"] - 0.02)) for c in actual}
        actual = of_gru(all_trials(sweep, ends))
    assert len(actual) == 20 and all(1e-2 <= c.params["lr"] <= 1 for c in actual[16:])
    assert any(c.params["lr"] < 1e-2 for c in actual[:16])


def gru(**ranges: Any) -> dict[str, Any]:
    return {"gru": ranges}


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        (
            {"space": {"gru": {"lr": {"low": 1e-3, "high": 1.0}}}},
            r"gru: lr must contain the first search's 0.0001 to 0.1",
        ),
        ({"space": {"gru": {"lr": {"low": 1e-5, "high": 0.01}}}}, r"gru: lr must contain .*, got 1e-05 to 0.01"),
        ({"space": {"gru": {"dt": {"low": 1e-3, "high": 1.0}}}}, r"wider.space.gru: No range 'dt'. Known: lr"),
        ({"space": {"cornn": {}}}, r"No model 'cornn'.* The table is \[wider.space.cornn\]"),
        ({"space": {"gru": {"lr": [0.1, 0.2]}}}, r"wider.space.gru.lr: .*, got \[0.1, 0.2\]"),
        ({"space": {"gru": {"lr": {**LR, "hihg": 1}}}}, r"No key 'hihg'. Did you mean high"),
        ({"space": {"gru": {"lr": {"low": 0.0, "high": 1.0}}}}, r"wider.space.gru: .*lr"),
        ({"space": {}}, r"wider.space: must not be empty"),
        ({"trials": 0}, r"wider.trials: .*, got 0"),
        ({"trial": 5}, r"No key 'trial'. Did you mean trials"),
    ],
)
def test_a_second_search_that_is_none_is_refused_in_one_line(changed: dict[str, Any], rule: str) -> None:
    with pytest.raises(ConfigError, match=rule):
        wider(wider={**WIDER, **changed})


def test_there_is_no_second_search_without_a_first() -> None:
    with pytest.raises(ConfigError, match="wider: has no effect with trials = 0"):
        wider(trials=0)
    with pytest.raises(ConfigError, match="has at most 2,000,000 in all, got"):
        wider(wider={**WIDER, "trials": 2_000_000})
    with pytest.raises(ConfigError, match="No range 'lr'"):
        wider(models=["gru"], space=gru(lr=[0.1, 0.2]), wider={"trials": 1, "space": gru(lr=LR)})


def test_a_winner_is_at_an_edge_of_what_was_searched_last() -> None:
    entry = wider().cells[1]
    edge = list(edges_of_winner(entry, replace(entry.base, params={"lr": 0.0999})))
    assert edge == [] and [e.high for e in edges_of_winner(entry, replace(entry.base, params={"lr": 0.99}))] == [1.0]


def test_without_it_no_settings_and_no_stored_plan_are_others() -> None:
    [entry, _] = resolve(small()).cells
    assert entry.wider == () and "wider" not in entry.to_dict() and "wider" not in stored_settings(small())


@pytest.mark.integration
def test_after_the_first_sweep_only_what_is_new_is_trained_and_rows_say_both_searches(
    store: Store, here: Workers
) -> None:
    driver.start_sweep(small(epochs=2, name="first", seed=1), store, here, None, Console(file=io.StringIO()))
    before = {t.config.id for t in store.trials("first")}
    file = small(epochs=2, name="second", wider=WIDER, seed=1)
    assert sweep_status(store, "first").trials == 12
    driver.start_sweep(file, store, here, None, Console(file=io.StringIO()))
    assert read_sweep_plan(store, "second") == store_plan(resolve(file), store)
    ours = {t.config.id: t for t in store.trials("second")}
    assert len(ours) == sweep_status(store, "second").trials == 18 and sweep_status(store, "second").state == "over"
    attempts = store.attempts([*before, *ours])
    assert all(len(tries) == 1 for tries in attempts.values()), "nothing is trained twice"
    rows = [row for row in read_board(store, "adding") if "second" in row.sweeps]
    assert len(rows) == 2 and all("random search, then 3 trials over wider ranges for lr" in row.ways for row in rows)
    [alone] = [row for row in rows if row.sweeps == ("second",)]
    assert alone.searched == 7
    [before_it] = [row for row in read_board(store, "adding") if row.sweeps == ("first",)]
    given_up = {row.config: row.superseded for row in read_board(store, "adding") if row.superseded}
    assert given_up == {before_it.config: f"replaced by {alone.config[:12]} after a longer search"}
    assert draws_are_dependent(store, "second") and not draws_are_dependent(store, "first")

    file = seal(collect(store))
    assert audit(file) == []

    def hidden(changed: Content) -> None:
        drop(changed, next(e for e in of(changed, phase="search") if e["run"]["trial"] not in before))

    assert "1 of 7 search trials are missing" in str(audit(forge(file, hidden)))


def test_the_way_of_a_search_names_it_once() -> None:
    raced = searched_by(stored_settings(small(rule=2, trials=2, wider=WIDER)))
    assert raced.startswith("random search, a race of 4 finalists with fresh seeds, then 3 trials")
    message = searched_by(stored_settings(small(wider=WIDER)))
    assert message == "random search, then 3 trials over wider ranges for lr"
    assert distinct_ways([message, "random search", "tpe search", message, "tpe search"]) == (message, "tpe search")
    assert distinct_ways(["random search"]) == ("random search",)


def test_what_a_sweep_is_expected_to_take_counts_the_second_search() -> None:
    assert [len(stage) for stage in planned_stages(wider())] == [8, 6, 4]
    assert [len(stage) for stage in planned_stages(wider(wider={**WIDER, "trials": 9}))] == [8, 18, 4]
    assert [len(stage) for stage in planned_stages(resolve(small(retrain=0)))] == [8]


def test_a_sweep_that_has_begun_counts_its_second_search(store: Store) -> None:
    plan_trials(store_plan(wider(), store), store)
    actual = sweep_status(store, "wide")
    assert (actual.trials, actual.expected) == (2 * (4 + 3 + 2), 2 * (4 + 3 + 2) * 6)
