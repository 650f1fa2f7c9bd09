"""A row has successors where every search that chose it went on, with all of its trials and more, and chose others."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from boards import retrained, trials
from hypothesis import example, given, settings
from hypothesis import strategies as st

from longwave.platform.records.group import Group
from longwave.platform.records.run import Run
from longwave.platform.records.stored import StoredSweep, Trial
from longwave.platform.storage.store import Store

Sweeps = dict[str, tuple[frozenset[int], int]]
"""By name of a sweep: which trials its search has, and the number of units of the row that it chose."""


def row(units: int) -> Group:
    return retrained("m", [1.0], hidden=units)


def trial(number: int) -> Trial:
    """Return a search trial."""
    [first] = trials(retrained("m", [1.0], hidden=100 + number))
    config = replace(first.config, phase="search")
    return replace(first, config=config, run=Run(config.id, "ok", valid=0.5))


def succeeded_by(store: Store, sweeps: Sweeps, cells: list[int | None]) -> dict[int, set[int]]:
    """Return by units of each row those of the rows that it gave way to, as a store that holds the sweeps says."""
    ended: dict[str, Trial] = {}
    asks: list[tuple[StoredSweep, list[str], list[int | None]]] = []
    for (name, (searched, units)), cell in zip(sweeps.items(), cells, strict=True):
        mine = [*map(trial, sorted(searched)), *trials(row(units))]
        ended |= {t.config.id: t for t in mine}
        asks.append((StoredSweep(name, {}), [t.config.id for t in mine], [cell] * len(mine)))
    store.import_trials(["bundle"], [(each, ()) for each in ended.values()], asks)
    units_of = {group.row: group.config.hidden for group in store.groups()}
    return {units_of[g.row]: {units_of[other] for other in g.succeeded_by} for g in store.groups()}


def brute(sweeps: Sweeps) -> dict[int, set[int]]:
    """Return the same by the definition."""
    successors = {}
    for units in {units for _, units in sweeps.values()}:
        mine = [searched for searched, chosen in sweeps.values() if chosen == units]
        others = [{c for s, c in sweeps.values() if searched < s and c != units and searched} for searched in mine]
        successors[units] = set().union(*others) if all(others) else set()
    return successors


SOME = st.tuples(st.frozensets(st.integers(0, 3)), st.integers(1, 3))


@pytest.mark.integration
@settings(max_examples=60)
@example([(frozenset({0, 1}), 1), (frozenset({1, 2, 3}), 2)])
@given(st.lists(SOME, min_size=1, max_size=4))
def test_it_is_what_the_definition_says(made: Path, searches: list[tuple[frozenset[int], int]]) -> None:
    sweeps = {f"s{k}": sweep for k, sweep in enumerate(searches)}
    with tempfile.TemporaryDirectory() as folder, Store(f"sqlite:///{shutil.copy(made, folder)}") as store:
        assert succeeded_by(store, sweeps, [0] * len(sweeps)) == brute(sweeps)


TWO: Sweeps = {"a": (frozenset({0, 1}), 1), "b": (frozenset({0, 1, 2}), 2)}


def test_of_a_sweep_whose_trials_are_of_no_cell_nothing_is_known(store: Store) -> None:
    assert succeeded_by(store, TWO, [0, None]) == {1: set(), 2: set()}


def test_both_databases_say_the_same(any_store_url: str, open_store: Callable[[str], Store]) -> None:
    assert succeeded_by(open_store(any_store_url), TWO, [0, 7]) == {1: {2}, 2: set()}
