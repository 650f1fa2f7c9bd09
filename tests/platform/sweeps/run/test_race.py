"""A sweep with a race: it never sees test data before its winner is retrained, and ends the same when interrupted."""

from __future__ import annotations

import json
import random
import re
import signal
from collections import Counter
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import sqlalchemy as sa
from bundles import Content, drop, forge, of
from interrupted_drivers import resume_killed, run, run_disturbed
from small_sweeps import small

from longwave.platform.cli.main import main
from longwave.platform.exchange.audit import audit
from longwave.platform.exchange.bundle import seal
from longwave.platform.exchange.collect import collect
from longwave.platform.records.run import Run
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.schema import PublishedRow
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import read_sweep_plan, store_plan
from longwave.platform.sweeps.plan.trials import all_trials
from longwave.platform.sweeps.run.status import sweep_status


def with_race(**changes: Any) -> SweepFile:
    """Return a sweep of six trials with halving and gates, a race of three, and two retrainings."""
    sizes = {"hidden": 3, "batch": 4, "steps": 2, "epochs": 4, "trials": 6, "retrain": 2}
    race = {"finalists": 3, "best": 2, "more": 2}
    return small(**{**sizes, "models": ["lem"], "rule": 2, "halving": {"eta": 2, "first": 1}, "race": race, **changes})


def ends(store: Store) -> dict[str, Run]:
    """Return how all trials ended."""
    return {t.config.id: t.run for t in store.trials("tiny") if t.run}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The sweep, undisturbed."""
    folder = tmp_path_factory.mktemp("whole")
    with Store(f"sqlite:///{folder}/store.db") as store:
        run(with_race(), store, folder)
        yield store


def test_a_race_trains_what_follows_from_the_search_and_only_retrainings_see_test_data(whole: Store) -> None:
    trials = whole.trials("tiny")
    phases = [t.config.phase for t in trials]
    assert {phase: phases.count(phase) for phase in phases} == {"search": 6, "race": 3 + 2 * 2, "retrain": 2}
    sweep = read_sweep_plan(whole, "tiny")
    assert {c.id for c in all_trials(sweep, ends(whole))} == {t.config.id for t in trials}
    assert {t.config.phase for t in trials if t.run and t.run.test is not None} == {"retrain"}
    assert all(t.run and t.run.epochs == 4 for t in trials if t.config.phase == "race")


def test_a_status_counts_the_race_before_it_is_planned_and_what_was_planned_once_it_is_over(whole: Store) -> None:
    status = sweep_status(whole, "tiny")
    assert (status.state, status.trials, status.counts["done"]) == ("over", 15, 15)
    assert with_race().trained == 15


def test_a_row_says_its_search_had_a_race_and_counts_the_trainings_of_the_search_alone(whole: Store) -> None:
    [group] = whole.groups()
    assert group.search.trials == 6 and "a race of 3 finalists with fresh seeds" in group.ways[0]
    raced = [t.run.seconds for t in whole.trials("tiny") if t.run and t.config.phase != "retrain"]
    assert group.search.seconds == pytest.approx(sum(raced))


def test_a_row_says_how_its_setting_was_chosen(whole: Store, capsys: pytest.CaptureFixture[str]) -> None:
    trials = whole.trials("tiny")
    [winner] = {t.config.row for t in trials if t.config.phase == "retrain"}
    search = [t for t in trials if t.config.phase == "search"]
    ours = [t.run.valid for t in search if t.run and t.config.row == winner]
    errors = [t.run.valid for t in trials if t.run and t.run.valid and t.config.phase == "retrain"]
    [row] = [row for row in read_board(whole) if row.kind == "retrained"]
    assert row.search_stopped == [t.status for t in search].count("stopped")
    assert row.search_stopped + row.search_whole == row.searched == 6
    assert [row.search_score] == ours and row.optimism == pytest.approx(median(errors) / row.search_score)
    raced = Counter(t.config.row for t in trials if t.config.phase == "race")
    assert raced[row.runner_up] == raced[winner] == 3 and row.better is not None and row.at_edge is not None
    assert main(["show", winner, "--format", "json", "--store", whole.url]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["cost"]["search trials stopped early"] == row.search_stopped
    selection = facts["selection"]
    assert selection["probability that it is better than the runner-up"] == row.better
    assert selection["runner-up of the race"] == row.runner_up[:12]
    assert selection["at an edge of what was searched"] == (row.at_edge or "none")


@pytest.mark.integration
def test_an_old_search_is_raced_without_training_any_of_it_again(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(with_race(rule=1, race=None), store, tmp_path)
    before = {t.config.id: t for t in store.trials("tiny")}
    assert main(["sweep", "race", "tiny", "--store", store.url]) == 0
    assert (
        "tiny-race: planned; 4 trials to train first, 0 of them in its search. The rest of the race"
        in capsys.readouterr().out
    )
    assert main(["sweep", "resume", "tiny-race", "--here", "--store", store.url, "--storage", str(tmp_path)]) == 0
    after = {t.config.id: t for t in store.trials("tiny-race")}
    assert {i for i, t in after.items() if t.config.phase == "search"} <= before.keys()
    assert all(after[i].run == t.run for i, t in before.items() if i in after)
    assert [t.config.phase for t in after.values()].count("race") == 4 + 2 * 2
    seeds = {phase: {t.config.seed for t in after.values() if t.config.phase == phase} for phase in ("race", "retrain")}
    assert not seeds["race"] & seeds["retrain"] and len(seeds["retrain"]) == 2
    assert main(["sweep", "race", "tiny-race", "--store", store.url]) == 2
    assert "tiny-race has a race already." in capsys.readouterr().err


@pytest.mark.integration
def test_a_search_of_one_trial_cannot_be_raced(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(with_race(rule=1, race=None, trials=1, halving=None), store, tmp_path)
    assert main(["sweep", "race", "tiny", "--store", store.url]) == 2
    assert "tiny has one trial a search, and a race takes two or more." in capsys.readouterr().err
    assert store.sweeps() == ["tiny"]


DISTURBANCES = [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(100, 120))]
"""Seeds of ``run_disturbed``, which ends a sweep half a dozen times."""


@pytest.mark.integration
@pytest.mark.parametrize("seed", DISTURBANCES)
def test_a_race_whose_drivers_die_by_chance_has_the_same_winner(
    seed: int, whole: Store, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_disturbed(with_race(pack=2), seed, store, tmp_path, monkeypatch)
    check_same(store, whole)


SEEDS = [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 7))]


@pytest.mark.integration
@pytest.mark.parametrize("seed", SEEDS)
def test_a_race_whose_processes_are_killed_chooses_the_same_to_the_bit(
    seed: int, whole: Store, store: Store, tmp_path: Path
) -> None:
    store_plan(resolve(with_race()), store)
    chance, during = random.Random(seed), set[str]()
    for _ in range(3):
        status = resume_killed("tiny", store, tmp_path, chance.randrange(2, 10), chance.random() < 0.5)
        assert status == -signal.SIGKILL, "it ended before it could be killed"
        during |= {a.phase for a in store.planned("tiny") if a.open}
    assert "race" in during
    assert resume_killed("tiny", store, tmp_path, 0, True) == 0
    ours, theirs = ends(store), ends(whole)
    assert {trial: (run.status, run.valid, run.test) for trial, run in ours.items()} == {
        trial: (run.status, run.valid, run.test) for trial, run in theirs.items()
    }


def check_same(store: Store, whole: Store) -> None:
    """Assert that the same trials were trained, each once, and chose the same."""
    ours, theirs = ends(store), ends(whole)
    assert ours.keys() == theirs.keys()
    for trial, run_here in ours.items():
        assert (run_here.status, run_here.epochs) == (theirs[trial].status, theirs[trial].epochs)
        assert run_here.valid == pytest.approx(theirs[trial].valid, rel=1e-4)


@pytest.mark.integration
def test_a_bundle_tells_its_race_and_a_forged_one_is_rejected(whole: Store) -> None:
    file = seal(collect(whole))
    assert audit(file) == []

    def left_out(changed: Content) -> None:
        drop(changed, of(changed, "lem", "race")[-1])

    def another_winner(changed: Content) -> None:
        for entry in of(changed, "lem", "race"):
            entry["run"]["valid"] = 1 / entry["run"]["valid"]
            for point in entry["points"]:
                point["valid"] = 1 / point["valid"]

    def with_test(changed: Content) -> None:
        of(changed, "lem", "race")[0]["run"]["test"] = 0.1

    for change, line in (
        (left_out, "its race does not follow from its search"),
        (another_winner, "its race does not follow from its search|was retrained, but \\w+ is the best by validation"),
        (with_test, "is a race trial and has a test metric: the search saw test data"),
    ):
        assert re.search(line, str(audit(forge(file, change)))), line


def test_a_group_knows_the_scores_of_its_search_where_papers_print_a_number_of_its_model(whole: Store) -> None:
    [group] = whole.groups()
    assert group.drawn == []
    with whole.engine.begin() as connection:
        row = {"id": "0" * 16, "task": "adding", "variant": "", "model": "lem", "model_variant": "", "metric": "mse"}
        row |= {"statistic": "", "units": "", "sources": "", "note": ""}
        connection.execute(sa.insert(PublishedRow).values(**row, value=1.0))
    [group] = whole.groups()
    searched = [t for t in whole.trials("tiny") if t.config.phase == "search"]
    assert sorted(map(str, group.drawn)) == sorted(str(t.run.valid) for t in searched if t.run)
