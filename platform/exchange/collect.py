"""Take rows out of a store, as a bundle: their retrainings, the search behind them, and who asked for these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from longwave.platform.errors import ConfigError
from longwave.platform.exchange.bundle import Bundle, BundledSweep, BundledTrial
from longwave.platform.exchange.curve import Curve
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Point
from longwave.platform.records.stored import Trial
from longwave.platform.storage.in_clause import batches
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.config import SweepFile, check_sweep
from longwave.platform.sweeps.plan import cell_of


def collect(store: Store, task: str | None = None, names: Sequence[str] = (), over: bool = False) -> Bundle:
    """Return rows with all that is behind them, as far as it has ended.

    Args:
        store: Where they are.
        task: Rows of this task alone.
        names: Names of rows, as ``Store.rows`` takes them; none means all.
        over: Leave out searches that are not over, and the retrainings of rows of which some have not ended.

    Raises:
        ConfigError: There is no such row, or nothing of it is over.
    """
    if names:
        chosen = {t.config.id: t for name in names for t in store.rows(name, task)}
    else:
        chosen = {t.config.id: t for t in store.retrainings(task)}
    if not chosen:
        raise ConfigError(f"There is no row{f' of {task}' if task else ''} in the store. Make one: longwave sweep run")
    models = {(t.config.task, t.config.model) for t in chosen.values()}
    sweeps: dict[str, BundledSweep] = {}
    for name in store.sweeps_of_rows({t.config.row for t in chosen.values()}):
        trials = store.trials(name)
        behind = [t for t in trials if t.config.phase == "search" and (t.config.task, t.config.model) in models]
        mine = behind + [chosen[t.config.id] for t in trials if t.config.id in chosen]
        chosen |= {t.config.id: t for t in behind}
        content, ids = dict(store.sweep(name).content), [t.config.id for t in mine if t.run]
        before = sweeps.get(digest(content), BundledSweep(content=content, trials=[])).trials
        both = list(dict.fromkeys(before + ids))
        sweeps[digest(content)] = BundledSweep(content=content, trials=both)
    ended = {name: trial for name, trial in sorted(chosen.items()) if trial.run}
    found = [sweep for _, sweep in sorted(sweeps.items())]
    if over:
        found, ended = _over(found, ended)
    return _bundle(store, [*ended.values()], found)


def _over(sweeps: Sequence[BundledSweep], ended: Mapping[str, Trial]) -> tuple[list[BundledSweep], dict[str, Trial]]:
    """Return what of sweeps and trials that have ended is whole, cell by cell; of re-runs those of rows that are."""
    found: list[BundledSweep] = []
    for sweep in sweeps:
        file = check_sweep(sweep.content, "a sweep")
        cells: dict[tuple[Any, ...], list[Trial]] = defaultdict(list)
        for trial in sweep.trials:
            cells[cell_of(file, ended[trial].config)].append(ended[trial])
        whole = {trial for cell in cells.values() for trial in _whole(file, cell)}
        if kept := [trial for trial in sweep.trials if trial in whole]:
            found.append(sweep.model_copy(update={"trials": kept}))
    if not found:
        raise ConfigError("No search is over of what was asked for. Finish it with: longwave sweep resume NAME")
    asked, told = ({trial for sweep in some for trial in sweep.trials} for some in (sweeps, found))
    rows = {ended[trial].config.row for trial in told if ended[trial].config.phase == "retrain"}
    told |= {name for name, trial in ended.items() if name not in asked and trial.config.row in rows}
    return found, {name: trial for name, trial in ended.items() if name in told}


def _whole(file: SweepFile, cell: Sequence[Trial]) -> list[str]:
    """Return the trials of a cell whose search is over: all, if none or all of its retrainings have ended."""
    search, again = ([t.config.id for t in cell if t.config.phase == phase] for phase in ("search", "retrain"))
    if len(search) < file.searched:
        return []
    return search + again if len(again) >= file.retrain else search


def _bundle(store: Store, trials: Sequence[Trial], sweeps: list[BundledSweep]) -> Bundle:
    curves: dict[str, list[Point]] = {t.config.id: [] for t in trials}
    for part in batches(list(curves)):
        for point in store.curves(part):
            curves[point.trial].append(point)
    entries: list[BundledTrial] = []
    places: dict[str, dict[str, str]] = {}
    for trial in trials:
        assert trial.run and trial.ended
        facts = dict(trial.run.environment)
        place = digest(facts) if facts else None
        places |= {place: facts} if place else {}
        said: dict[str, Any] = {
            "config": trial.config,
            "about": trial.about,
            "ended": trial.ended,
            "rerun": trial.rerun,
        }
        run = replace(trial.run, environment={})
        entries.append(BundledTrial(**said, run=run, place=place, curve=Curve.of(curves[trial.config.id])))
    patches = store.patches({facts["diff"] for facts in places.values() if "diff" in facts})
    return Bundle(trials=entries, sweeps=sweeps, environments=dict(sorted(places.items())), patches=patches)
