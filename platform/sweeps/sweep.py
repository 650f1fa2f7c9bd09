"""Run a sweep: plan what is missing, train it in packs, store every epoch and end, until nothing is missing.

Running and resuming are the same loop. This process is the only writer of the store.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import psutil
from filelock import FileLock, Timeout
from rich.console import Console

from longwave.platform.about import about
from longwave.platform.errors import ConfigError
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_task
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.config import SweepFile, check_sweep
from longwave.platform.sweeps.executor import Workers, run_packs, running
from longwave.platform.sweeps.packing import divide, pack_key
from longwave.platform.sweeps.plan import Sweep, asked, resolve
from longwave.platform.sweeps.progress import Progress
from longwave.platform.sweeps.tracking import Mirror


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


def start(file: SweepFile, store: Store, workers: Workers, server: str | None, console: Console) -> Progress:
    """Run the sweep, or what is missing of it, and return its final counts.

    Args:
        file: The sweep.
        store: Where rows go.
        workers: How to run packs.
        server: MLflow tracking URI to mirror to, or None.
        console: Where to show progress.

    Raises:
        ConfigError: A rule is broken, the name is taken by another sweep, or the sweep is being run already.
    """
    sweep = resolve(file)
    workers.storage.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(workers.storage / ".lock", timeout=0):
            store.add_sweep(file.name, settings(file))
            return _run(sweep, store, workers, server, console)
    except Timeout:
        raise ConfigError(f"The sweep {file.name!r} is being run by another process on this machine.") from None


def settings(file: SweepFile) -> dict[str, Any]:
    """Return the sweep's settings as the store keeps them."""
    return file.model_dump(mode="json", exclude_defaults=True)


def stored_sweep(store: Store, name: str) -> SweepFile:
    """Return the sweep ``name`` as the store has it.

    Raises:
        ConfigError: There is no such sweep.
    """
    return check_sweep(store.sweep(name), name)


def _run(sweep: Sweep, store: Store, workers: Workers, server: str | None, console: Console) -> Progress:
    task, name = get_task(sweep.file.task), sweep.file.name
    expected = sum((sweep.file.trials + sweep.file.retrain) * entry.base.epochs for entry in sweep.entries)
    view = Progress(name, task.metric.name, task.metric.goal, expected, console)
    mirror = Mirror(store, server) if server else None
    with ExitStack() as stack:
        if mirror:
            stack.enter_context(mirror)
        stack.enter_context(view)
        while True:
            ends = _ends(store, name)
            wanted = asked(sweep, ends)
            view.plan(wanted, ends)
            if all(c.id in ends for c in wanted):
                break
            store.ask(name, wanted, [about(c) for c in wanted])
            packs = _packs(sweep, store, workers)
            if packs:
                stack.enter_context(running(workers))
                run_packs(packs, _Desk(packs, store, workers, view), workers)
    if mirror and mirror.problem:
        console.print(f"[yellow]{mirror.problem}. Nothing is lost; send it later with: longwave mlflow sync[/]")
    return view


def _ends(store: Store, name: str) -> dict[str, Run]:
    return {t.config.id: t.run for t in store.trials(name) if t.run is not None}


def _packs(sweep: Sweep, store: Store, workers: Workers) -> dict[str, list[TrialConfig]]:
    """Return the packs of all trials that have not ended: as written in the store, or divided now and written there."""
    left = [t for t in store.trials(sweep.file.name) if t.run is None]
    store.mark([t.config.id for t in left], "planned")
    fresh = [t.config for t in left if t.pack is None]
    if fresh:
        data = get_task(sweep.file.task).load(fresh[0].variant)
        memory = psutil.virtual_memory().available // (2 * workers.count)
        packs = divide(fresh, workers.count, sweep.file.pack, data.segment or data.valid.length, memory)
        store.assign(packs)
        return _packs(sweep, store, workers)
    packs = {}
    for trial in left:
        packs.setdefault(str(trial.pack), []).append(trial.config)
    return packs
