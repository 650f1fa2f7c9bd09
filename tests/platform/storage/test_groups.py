"""What a row's group says of its search where several cells planned the same trials."""

from __future__ import annotations

from dataclasses import replace

from boards import retrained, trials

from longwave.platform.records.run import Run
from longwave.platform.records.stored import StoredSweep, Trial
from longwave.platform.storage.store import Store


def make_search_trial(rate: float, valid: float | None) -> Trial:
    """Return a search trial of LEM on FitzHugh-Nagumo, for which there are published numbers."""
    [first] = trials(retrained("lem", [1.0], task="fitzhugh_nagumo", params={"lr": rate}))
    config = replace(first.config, phase="search")
    run = Run(config.id, "ok", valid=valid) if valid else Run(config.id, "diverged", "nan")
    return replace(first, config=config, run=run)


def test_a_search_trial_that_two_cells_planned_is_drawn_once(store: Store) -> None:
    shared, diverged, own = make_search_trial(0.1, 0.5), make_search_trial(0.2, None), make_search_trial(0.3, 0.5)
    [winner] = trials(retrained("lem", [1.0], task="fitzhugh_nagumo", params={"lr": 0.1}))
    planned = {"first": [shared, diverged, winner], "second": [shared, diverged, own, winner]}
    asks = [(StoredSweep(name, {}), [t.config.id for t in those], [0] * len(those)) for name, those in planned.items()]
    store.import_trials(["bundle"], [(trial, ()) for trial in planned["second"]], asks)
    [group] = store.groups("fitzhugh_nagumo")
    assert sorted(group.drawn, key=str) == [0.5, 0.5, None] and group.search.trials == 3
