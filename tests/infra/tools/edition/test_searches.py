"""What races chose is read from the store, and a report counts those that chose another setting than the search."""

from __future__ import annotations

import io
from statistics import geometric_mean, median

import pytest
from boards import retrained
from edition.report import Findings, format_report
from edition.searches import HEAD, RaceChoice, Raced, list_choices
from rich.console import Console
from small_sweeps import small

from longwave.platform.boards.board import rows
from longwave.platform.records.stored import Trial
from longwave.platform.storage.retrying_store import RetryingStore
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.resolve import resolve
from longwave.platform.sweeps.plan.stored import store_plan
from longwave.platform.sweeps.run import driver

RACE = {"finalists": 3, "seeds": 2, "best": 2, "more": 1}


def scores_of(trials: list[Trial], row: str) -> list[float]:
    """Return the validation scores of the trainings of a setting."""
    return [t.run.valid for t in trials if t.run and t.config.row == row and t.run.valid is not None]


@pytest.mark.integration
def test_the_choice_of_a_race_stands_beside_that_of_the_search(store: Store, here: Workers) -> None:
    file = small(models=["gru"], trials=4, retrain=1, epochs=2, rule=2, race=RACE)
    driver.start_sweep(file, store, here, None, Console(file=io.StringIO()))
    [choice] = list_choices(resolve(file), store, file.name)
    by_phase: dict[str, list[Trial]] = {"search": [], "race": [], "retrain": []}
    for trial in store.trials_by_id([planned.id for planned in store.planned(file.name)]):
        by_phase[trial.config.phase].append(trial)
    searched = sorted((t.run.valid, t.config.row) for t in by_phase["search"] if t.run and t.run.valid is not None)
    places = [row for _, row in searched]
    [retraining] = by_phase["retrain"]
    assert choice.row == retraining.config.row and choice.place == 1 + places.index(choice.row)
    for setting, row in ((choice.first, places[0]), (choice.winner, choice.row)):
        assert setting.search == {row: valid for valid, row in searched}[row]
        assert setting.race == pytest.approx(geometric_mean(scores_of(by_phase["race"], row)), rel=1e-12)
    first_scores = scores_of(by_phase["race"], places[0])
    assert choice.first.search and choice.was_lucky == (median(first_scores) > choice.first.search)


def test_a_sweep_that_is_not_over_has_no_choice_yet(store: Store) -> None:
    sweep = resolve(small(models=["gru"], trials=2, rule=2, race=RACE))
    store_plan(sweep, RetryingStore(store))
    assert not list(list_choices(sweep, store, sweep.file.name))


def test_the_report_counts_changed_and_lucky_choices_and_lists_the_changed() -> None:
    groups = [retrained(name, [1.0 + k, 1.1 + k, 1.2 + k]) for k, name in enumerate("abc")]
    keys = {group.config.model: group.row for group in groups}
    choices = [
        RaceChoice(keys["a"], 3, Raced(0.1, 0.4), Raced(0.2, 0.3), True),
        RaceChoice(keys["b"], 1, Raced(0.5, 0.25), Raced(0.5, 0.25), False),
        RaceChoice("of no row", 2, Raced(0.1, 0.4), Raced(0.2, 0.3), True),
    ]
    text = format_report(rows(groups, []), Findings(races=choices), "T", "0")
    [part] = [part for part in text.split("\n## ") if part.startswith("What the race changed\n")]
    _, sentence, heading, head, _, *table = [line for line in part.splitlines() if line]
    assert sentence.startswith(
        "In 1 of 2 rows the race chose another setting than the best one of the search, 0 of them with the same score "
    )
    assert ", 1 have a worse median validation score in the race" in sentence and heading == "### T"
    assert head == f"| row | {' | '.join(HEAD[1:])} |"
    assert table == [f"| [A](index.html#row={keys['a']}) | 3 | 0.1 | 0.4 | 0.2 | 0.3 |"]
    assert "What the race changed" not in format_report(rows(groups, []), Findings(), "T", "0")
