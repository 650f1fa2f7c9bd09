"""Collect rows of a store in a bundle: their retrainings, the searches behind them, and their sweeps."""

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
from longwave.platform.storage.in_clause import split_ids
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.reading import check_sweep
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.plan.cell_numbers import cell_key


def collect(
    store: Store, task: str | None = None, names: Sequence[str] = (), over: bool = False, sweep: str | None = None
) -> Bundle:
    """Return rows with their retrainings, searches and sweeps, without trials that have not ended.

    Args:
        store: The store of the rows.
        task: Only rows of this task.
        names: Names of rows, as for ``Store.rows``; none means all.
        over: Leave out searches that are not finished, and rows with retrainings that have not ended.
        sweep: Instead of rows, all trials of this sweep.

    Raises:
        ConfigError: There is no such row, or nothing of it is finished.
    """
    if sweep is not None:
        chosen = {t.config.id: t for t in store.trials(sweep)}
    elif names:
        chosen = {t.config.id: t for name in names for t in store.rows(name, task)}
    else:
        chosen = {t.config.id: t for t in store.retrainings(task)}
    if not chosen:
        raise ConfigError(
            f"There is no row{f' of {task}' if task else ''} in the store. Make one with: longwave sweep run FILE"
        )
    models = {(t.config.task, t.config.model) for t in chosen.values()}
    sweeps: dict[str, BundledSweep] = {}
    for name in [sweep] if sweep is not None else store.sweeps_of_rows({t.config.row for t in chosen.values()}):
        trials = store.trials(name)
        searched = [t for t in trials if t.config.phase != "retrain" and (t.config.task, t.config.model) in models]
        chosen |= {t.config.id: t for t in searched}
        retrained = [chosen[t.config.id] for t in trials if t.config.phase == "retrain" and t.config.id in chosen]
        content = dict(store.sweep(name).content)
        earlier = sweeps.get(digest(content), BundledSweep(content=content, trials=[])).trials
        ids = dict.fromkeys([*earlier, *(t.config.id for t in searched + retrained if t.run)])
        sweeps[digest(content)] = BundledSweep(content=content, trials=list(ids))
    ended = {name: trial for name, trial in sorted(chosen.items()) if trial.run}
    listed_sweeps = [entry for _, entry in sorted(sweeps.items())]
    if over:
        listed_sweeps, ended = _keep_whole_cells(listed_sweeps, ended)
    return _bundle(store, [*ended.values()], listed_sweeps)


def _keep_whole_cells(
    sweeps: Sequence[BundledSweep], ended: Mapping[str, Trial]
) -> tuple[list[BundledSweep], dict[str, Trial]]:
    """Return the finished cells of sweeps and their trials, with re-runs of their rows."""
    whole_sweeps: list[BundledSweep] = []
    for sweep in sweeps:
        file = check_sweep(sweep.content, "a sweep")
        cells: dict[tuple[Any, ...], list[Trial]] = defaultdict(list)
        for trial in sweep.trials:
            cells[cell_key(file, ended[trial].config)].append(ended[trial])
        complete_trials = {trial for cell in cells.values() for trial in _whole_trials(file, cell)}
        if trials := [trial for trial in sweep.trials if trial in complete_trials]:
            whole_sweeps.append(sweep.model_copy(update={"trials": trials}))
    if not whole_sweeps:
        raise ConfigError("None of these searches has finished. Finish one with: longwave sweep resume NAME")
    planned, kept_trials = ({trial for sweep in listed for trial in sweep.trials} for listed in (sweeps, whole_sweeps))
    rows = {ended[trial].config.row for trial in kept_trials if ended[trial].config.phase == "retrain"}
    kept_trials |= {name for name, trial in ended.items() if name not in planned and trial.config.row in rows}
    return whole_sweeps, {name: trial for name, trial in ended.items() if name in kept_trials}


def _whole_trials(file: SweepFile, cell: Sequence[Trial]) -> list[str]:
    """Return the trials of a cell if its search is finished, with retrainings if all of these have ended."""
    search, race, retrained = (
        [t.config.id for t in cell if t.config.phase == phase] for phase in ("search", "race", "retrain")
    )
    if len(search) < file.least_searched:
        return []
    return search + race + retrained if len(retrained) >= file.retrain else search


def _bundle(store: Store, trials: Sequence[Trial], sweeps: list[BundledSweep]) -> Bundle:
    points: dict[str, list[Point]] = {t.config.id: [] for t in trials}
    for ids in split_ids(list(points)):
        for point in store.curves(ids):
            points[point.trial].append(point)
    bundled: list[BundledTrial] = []
    environments: dict[str, dict[str, str]] = {}
    for trial in trials:
        assert trial.run and trial.ended
        facts = dict(trial.run.environment)
        environment = digest(facts) if facts else None
        environments |= {environment: facts} if environment else {}
        bundled.append(
            BundledTrial(
                config=trial.config,
                about=trial.about,
                run=replace(trial.run, environment={}),
                place=environment,
                curve=Curve.of(points[trial.config.id]),
                ended=trial.ended,
                rerun=trial.rerun,  # type: ignore[arg-type]
            )
        )
    patches = store.patches({facts["diff"] for facts in environments.values() if "diff" in facts})
    return Bundle(trials=bundled, sweeps=sweeps, environments=dict(sorted(environments.items())), patches=patches)
