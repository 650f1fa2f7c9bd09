"""Stores with records for tests: trials of two sweeps, with curves, measurements and locations."""

from __future__ import annotations

from dataclasses import replace

from trials import present_trial

from longwave.platform.about import about
from longwave.platform.records.run import Measure, Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.store import Store


def points_of(config: TrialConfig, epochs: int) -> list[Point]:
    """Return a curve whose values depend on the trial."""
    level = int(config.id[:4], 16) / 65536
    return [Point(config.id, e, level / e, 2 * level / e, 0.5 * e, 1.7e9 + e) for e in range(1, epochs + 1)]


def recorded_store(store: Store, trials: int = 12, epochs: int = 8) -> list[TrialConfig]:
    """Fill a store: half of the trials are retrainings; the last two are open, the first of them with some epochs."""
    base = present_trial("adding", "N=20", "d", "lem", {}, {"lr": 0.1}, 8, 10, epochs, "search", 0, steps=5)
    configs = [replace(base, seed=k, phase="retrain" if k % 2 else "search") for k in range(trials)]
    store.add_sweep("one", {"trials": trials})
    store.add_trials("one", configs, [about(c) for c in configs], [0] * trials)
    for c in configs[:-2]:
        level = int(c.id[:4], 16) / 65536
        test = 3 * level if c.phase == "retrain" else None
        facts = {"torch": "2.15.0", "device": "a" if c.seed < trials // 2 else "b"}
        more = (Measure("test_accuracy", "%", 100 * level, "length", 64.0),)
        run = Run(c.id, "ok", "", epochs, epochs, 2 * level, test, 9.5, 4, 1233, facts, 12.5, measures=more)
        store.write(points_of(c, epochs), [run])
    store.write(points_of(configs[-2], 3), [])
    return configs
