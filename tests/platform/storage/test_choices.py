"""Retrainings that chose their row count no longer; those that a sweep trained instead of another row do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from boards import retrained, trials

from longwave.platform.records.group import Group, Pool
from longwave.platform.records.stored import StoredSweep, Trial
from longwave.platform.storage.boards import read_board
from longwave.platform.storage.store import Store

A, B = "a" * 64, "b" * 64
"""Names of bundles."""


def with_seeds(group: Group, first: int, origin: str = "") -> list[Trial]:
    """Return the retrainings of a group with seeds from ``first`` on, as made here or imported from a bundle."""
    made = []
    for trial in trials(group):
        config = replace(trial.config, seed=trial.config.seed + first)
        assert trial.run
        made.append(replace(trial, config=config, run=replace(trial.run, trial=config.id), origin=origin))
    return made


def write_sweeps(
    store: Store, sweeps: list[tuple[str, dict[str, Any], list[Trial]]], alone: list[Trial], **origins: str
) -> dict[str, Group]:
    """Return the groups, by row, of a store with some sweeps and with retrainings that no sweep planned; ``origins``
    are bundles of sweeps by the part of their names before the @.
    """
    ended = {trial.config.id: trial for *_, mine in [*sweeps, ("", {}, alone)] for trial in mine}
    asks = [
        (
            StoredSweep(name, content, origin=origins.get(name.partition("@")[0])),
            [t.config.id for t in mine],
            [0] * len(mine),
        )
        for name, content, mine in sweeps
    ]
    store.import_trials(["bundle", A, B], [(trial, ()) for trial in ended.values()], asks)
    return {group.row: group for group in store.groups()}


def test_the_others_alone_count_and_the_row_they_were_trained_instead_of_gives_way(
    any_store_url: str, open_store: Callable[[str], Store]
) -> None:
    kept, other, larger = (
        retrained("a", [5.0, 6.0, 7.0]),
        retrained("a", [1.0, 1.1, 1.2], params={"lr": 0.5}),
        retrained("b", [1.0, 2.0]),
    )
    anew = retrained("a", [3.0, 4.0])
    content = {"trials": 0, "instead_of": [other.row, larger.row]}
    store = open_store(any_store_url)
    sweeps = [
        ("first", {}, with_seeds(kept, 0)),
        ("second", {}, trials(other) + trials(larger)),
        ("again", content, with_seeds(anew, 100)),
    ]
    groups = write_sweeps(store, sweeps, with_seeds(retrained("a", [9.0]), 50))
    assert sorted(run.test for run in groups[kept.row].runs if run.test) == [3.0, 4.0, 9.0]
    assert store.uncounted() == {trial.config.id for trial in with_seeds(kept, 0)}
    assert {row: list(group.rejected_for) for row, group in groups.items()} == {
        kept.row: [],
        other.row: [kept.row],
        larger.row: [],  # of another model
    }
    assert len(groups[other.row].runs) == 3 and "retrained with other seeds" not in groups[other.row].ways


@pytest.mark.parametrize("others", ["", "bundle"])
def test_a_sweep_of_a_bundle_that_nobody_trusts_takes_nothing_from_what_was_trained_here(
    any_store_url: str, open_store: Callable[[str], Store], others: str
) -> None:
    kept, other = retrained("a", [5.0, 6.0]), retrained("a", [1.0, 1.1], params={"lr": 0.5})
    content = {"trials": 0, "instead_of": [other.row]}
    again = with_seeds(retrained("a", [3.0, 4.0]), 100, "bundle")
    sweeps = [("first", {}, with_seeds(kept, 0, others) + with_seeds(other, 0, others)), ("again@1", content, again)]
    store = open_store(any_store_url)
    groups = write_sweeps(store, sweeps, [])
    from_here = others == ""
    assert store.uncounted() == (set() if from_here else {t.config.id for t in with_seeds(kept, 0)})
    assert (
        sorted(run.test for run in groups[kept.row].runs if run.test) == [3.0, 4.0, 5.0, 6.0][: 4 if from_here else 2]
    )
    assert groups[kept.row].sweeps == (("first",) if from_here else ("again@1", "first"))
    assert list(groups[other.row].rejected_for) == ([] if from_here else [kept.row])


@pytest.mark.parametrize(
    ("trust", "kept_scores", "gives_way"),
    [((A,), [5.0, 6.0], False), ((B,), [3.0, 4.0], True), ((A, B), [3.0, 4.0], True), ((), [3.0, 4.0], True)],
)
def test_a_bundle_takes_retrainings_from_one_that_the_reader_trusts_only_if_it_is_trusted_too(
    any_store_url: str,
    open_store: Callable[[str], Store],
    trust: tuple[str, ...],
    kept_scores: list[float],
    gives_way: bool,
) -> None:
    kept, other = retrained("a", [5.0, 6.0]), retrained("a", [1.0, 1.1], params={"lr": 0.5})
    again = with_seeds(retrained("a", [3.0, 4.0]), 100, B)
    store = open_store(any_store_url)
    first = with_seeds(kept, 0, A) + with_seeds(other, 0, A)
    write_sweeps(store, [("first@1", {}, first), ("again@1", {"trials": 0, "instead_of": [other.row]}, again)], [])
    board = {row.config: row for row in read_board(store, pool=Pool(trust=trust))}
    assert sorted(board[kept.row].scores) == kept_scores
    assert bool(board[other.row].superseded) is gives_way
    assert store.uncounted(trust) == (set() if trust == (A,) else {t.config.id for t in with_seeds(kept, 0)})


def test_an_imported_sweep_that_plans_trials_made_here_again_replaces_no_row(store: Store) -> None:
    kept, other = retrained("a", [5.0, 6.0]), retrained("a", [1.0, 1.1], params={"lr": 0.5})
    mine = with_seeds(kept, 100)
    groups = write_sweeps(
        store,
        [("first", {}, mine + with_seeds(other, 0)), ("again@1", {"trials": 0, "instead_of": [other.row]}, mine)],
        [],
    )
    assert groups[other.row].rejected_for == () and groups[kept.row].sweeps == ("first",)


@pytest.mark.parametrize(("trust", "is_believed"), [((A,), False), ((A, B), True)])
def test_an_imported_sweep_that_plans_trials_of_another_bundle_is_believed_only_if_its_own_is_trusted(
    any_store_url: str, open_store: Callable[[str], Store], trust: tuple[str, ...], is_believed: bool
) -> None:
    kept, other = retrained("a", [3.0, 4.0, 5.0]), retrained("a", [1.0, 1.1], params={"lr": 0.5})
    first, content = with_seeds(kept, 0, A), {"trials": 0, "instead_of": [other.row]}
    sweeps = [("first@1", {}, first + with_seeds(other, 0, A)), ("again@1", content, first[:2])]
    store = open_store(any_store_url)
    write_sweeps(store, sweeps, [], first=A, again=B)
    board = {row.config: row for row in read_board(store, pool=Pool(trust=trust))}
    assert sorted(board[kept.row].scores) == ([3.0, 4.0] if is_believed else [3.0, 4.0, 5.0])
    assert board[kept.row].sweeps == (("again@1", "first@1") if is_believed else ("first@1",))
    assert bool(board[other.row].superseded) is is_believed
    assert len(store.uncounted(trust)) == is_believed


def test_a_sweep_is_believed_once_a_bundle_that_ships_brings_it_too(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longwave.platform.storage.store.shipped", lambda: {B: ""})
    for seed, (origin, believed) in enumerate(((A, A), (B, B), (A, B))):
        write_sweeps(store, [("first@1", {}, with_seeds(retrained("a", [3.0]), seed, origin))], [], first=origin)
        assert store.sweep("first@1").origin == believed


def test_without_such_a_sweep_every_retraining_counts(store: Store) -> None:
    kept = retrained("a", [5.0, 6.0])
    groups = write_sweeps(store, [("first", {}, trials(kept)), ("more", {}, with_seeds(kept, 7))], [])
    assert len(groups[kept.row].runs) == 4 and store.uncounted() == set()
