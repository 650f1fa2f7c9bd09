"""Run a sweep: plan what is missing, train it in packs, store every epoch and end, until nothing is missing.

Running and resuming are the same loop. This process is the only writer of the store. What is missing is found from the
plan in the store: no model, no task and no data are looked at for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import psutil
from filelock import FileLock, Timeout
from rich.console import Console

from longwave.platform.errors import ConfigError
from longwave.platform.records.about import About, departures
from longwave.platform.records.run import Point, Run
from longwave.platform.records.stored import Asked
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.config import SweepFile, check_sweep
from longwave.platform.sweeps.entry import ModelPlan, Sweep
from longwave.platform.sweeps.executor import run_packs, running
from longwave.platform.sweeps.packing import divide, pack_key
from longwave.platform.sweeps.plan import further, of_cell
from longwave.platform.sweeps.progress import Progress
from longwave.platform.sweeps.tracking import Mirror
from longwave.platform.sweeps.workers import Workers

VERSIONS = ("task_version", "data", "model_version", "protocol")
"""Fields of a trial that say under which versions it was planned."""


class _Desk:
    """Where reports of packs arrive: writes them to the store, tells the progress view, deals with dead workers."""

    def __init__(
        self, packs: Mapping[str, Sequence[TrialConfig]], store: Store, workers: Workers, view: Progress
    ) -> None:
        self.packs, self.store, self.workers, self.view = packs, store, workers, view
        self.open = {key: {c.id for c in configs} for key, configs in packs.items()}

    def started(self, pack: str) -> None:
        """Mark the pack's trials as running."""
        self.store.mark(self.open[pack], "running")
        self.view.started(pack, self.packs[pack])

    def report(self, pack: str, points: Sequence[Point], runs: Sequence[Run]) -> None:
        """Write epochs and ends."""
        self.store.write(points, runs)
        self.open[pack] -= {run.trial for run in runs}
        self.view.report(points, runs)

    def ended(self, pack: str, error: str = "") -> None:
        """Drop the pack's checkpoint. Open trials of a dead worker are tried again in halves; one alone failed."""
        left = [c for c in self.packs[pack] if c.id in self.open[pack]]
        if len(left) == 1:
            self.report(pack, [], [Run(left[0].id, "failed", error or "its pack ended without a word of it")])
        elif left:
            halves = (left[: len(left) // 2], left[len(left) // 2 :])
            self.store.assign({pack_key(half): half for half in halves})
            self.store.mark([c.id for c in left], "planned")
        self.workers.checkpoint(pack).remove()
        self.view.ended(pack)


def plan(sweep: Sweep, store: Store) -> Sweep:
    """Write a sweep to the store, with its plan, and return it as the store has it. Again, it changes nothing.

    Raises:
        ConfigError: The name is taken by another sweep, or this one was planned under other versions.
    """
    from longwave.platform.sweeps.resolve import catalogue, explained

    name, content = sweep.file.name, settings(sweep.file)
    if new := name not in store.sweeps():
        store.learn(catalogue(sweep))
    store.add_sweep(name, content, explained(sweep).to_dict() if new else None)
    found = stored_sweep(store, name)
    for ours, theirs in zip(sweep.entries, found.entries, strict=True):
        for field in VERSIONS:
            here, then = getattr(ours.base, field), getattr(theirs.base, field)
            if here != then:
                what = f"{field.replace('_', ' ')} {then} of {ours.base.model} on {ours.base.task}"
                raise ConfigError(f"The sweep {name!r} was planned with {what}; here is {here}. Give it another name.")
    return found


def start(file: SweepFile, store: Store, workers: Workers, server: str | None, console: Console) -> Progress:
    """Plan a sweep and run it, or what is missing of it, as ``resume`` does.

    Raises:
        ConfigError: A rule is broken; or as ``plan`` and ``resume``.
    """
    from longwave.platform.sweeps.resolve import resolve

    return resume(plan(resolve(file), store), store, workers, server, console)


def resume(sweep: Sweep, store: Store, workers: Workers, server: str | None, console: Console) -> Progress:
    """Run what is missing of a sweep of the store, and return its final counts.

    Args:
        sweep: As ``plan`` or ``stored_sweep`` returns it.
        store: Where rows go.
        workers: How to run packs.
        server: MLflow tracking URI to mirror to, or None.
        console: Where to show progress.

    Raises:
        ConfigError: The sweep is being run already.
    """
    workers.storage.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(workers.storage / ".lock", timeout=0):
            return _run(sweep, store, workers, server, console)
    except Timeout:
        raise ConfigError(f"The sweep {sweep.file.name!r} is being run by another process on this machine.") from None


def settings(file: SweepFile) -> dict[str, Any]:
    """Return the sweep's settings as the store keeps them."""
    return file.model_dump(mode="json", exclude_defaults=True)


def stored_sweep(store: Store, name: str) -> Sweep:
    """Return the sweep ``name`` with the plan that the store has of it.

    Raises:
        ConfigError: There is no such sweep.
    """
    found = store.sweep(name)
    file = check_sweep(found.content, name)
    if found.plan is not None:
        return Sweep.from_dict(file, found.plan)
    return _of_before(file, store)


def missing(sweep: Sweep, store: Store) -> list[Asked]:
    """Return the trials of the sweep that have not ended, after writing those that follow from what has ended."""

    def read(trials: Sequence[str]) -> dict[str, tuple[TrialConfig, Run]]:
        return {t.config.id: (t.config, t.run) for t in store.trials_of(trials) if t.run}

    while True:
        planned = store.asked(sweep.file.name)
        there = {a.id for a in planned}
        found = further(_drawable(sweep, planned), planned, read)
        if new := [(cell, config) for cell, config in found if config.id not in there]:
            about = [_about(sweep.entries[cell], config) for cell, config in new]
            before = any(a.cell is None for a in planned)  # there were cells: it goes on without them
            cells = None if before else [cell for cell, _ in new]
            store.ask(sweep.file.name, [config for _, config in new], about, cells)
        else:
            return [a for a in planned if a.open]


def _run(sweep: Sweep, store: Store, workers: Workers, server: str | None, console: Console) -> Progress:
    file = sweep.file
    view = Progress(file.name, sweep.entries, file.trials + file.retrain, console)
    mirror = Mirror(store, server) if server else None
    with ExitStack() as stack:
        if mirror:
            stack.enter_context(mirror)
        stack.enter_context(view)
        while left := missing(sweep, store):
            view.plan(store.asked(file.name))
            packs = packs_of(sweep, store, workers, left)
            stack.enter_context(running(workers))
            run_packs(packs, _Desk(packs, store, workers, view), workers)
        view.plan(store.asked(file.name))
    if mirror and mirror.problem:
        console.print(f"[yellow]{mirror.problem}. Nothing is lost; send it later with: longwave mlflow sync[/]")
    return view


def packs_of(sweep: Sweep, store: Store, workers: Workers, left: Sequence[Asked]) -> dict[str, list[TrialConfig]]:
    """Return the packs of trials that have not ended: as written in the store, or divided now and written there."""
    configs = store.configs([a.id for a in left])
    store.mark(configs, "planned")
    packs: dict[str, list[TrialConfig]] = {}
    for trial in left:
        if trial.pack is not None:
            packs.setdefault(trial.pack, []).append(configs[trial.id])
    if fresh := [configs[a.id] for a in left if a.pack is None]:
        memory = psutil.virtual_memory().available // (2 * workers.count)
        known = _looked_up(sweep)
        looped = {entry.base.model for entry in known.entries if entry.looped}
        new = divide(fresh, workers.count, sweep.file.pack, known.member_bytes, memory, looped)
        store.assign(new)
        packs |= new
    return packs


def _about(entry: ModelPlan, config: TrialConfig) -> About:
    """Return what explains a trial's row: what the store keeps of its cell, with how this trial departs."""
    if entry.about is None:
        from longwave.platform.about import about

        return about(config)
    if entry.recipe is None:
        return entry.about
    return replace(entry.about, departures=departures(config, entry.recipe, config.params.keys() & entry.numbers))


def _of_before(file: SweepFile, store: Store) -> Sweep:
    """Return a sweep of a store before schema 0004, which kept no plan: made of its trials, if each model has some."""
    firsts: dict[str, str] = {}
    for trial in store.asked(file.name):
        firsts.setdefault(trial.model, trial.id)
    known = {t.config.model: t for t in store.trials_of(list(firsts.values()))}
    if file.tasks or file.grids or not {*file.models} <= known.keys():
        return _looked_up(Sweep(file, ()))
    found = [(known[model].config, known[model].about) for model in file.models]
    entries = (ModelPlan(base, (), about.goal, about.metric, base.model, about) for base, about in found)
    return Sweep(file, tuple(entries))


def _drawable(sweep: Sweep, planned: Sequence[Asked]) -> Sweep:
    """Return the sweep with its search spaces, if some trials of a search are not planned yet."""
    counts = [len(of_cell(planned, cell, entry)) for cell, entry in enumerate(sweep.entries)]
    return sweep if all(n >= sweep.file.trials for n in counts) else _looked_up(sweep)


def _looked_up(sweep: Sweep) -> Sweep:
    """Return the sweep as it is resolved now, if it is of a store before schema 0004 and so lacks spaces and places."""
    if sweep.entries and all(entry.places for entry in sweep.entries):
        return sweep
    from longwave.platform.sweeps.resolve import resolve

    return resolve(sweep.file)
