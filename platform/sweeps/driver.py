"""Run a sweep: plan what is missing, train it in packs, store every epoch and end, until nothing is missing.

Running and resuming are the same loop, and any number of drivers may run it, on one sweep or on several that share
trials: each trains what it leases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

from rich.console import Console

from longwave.platform.errors import Interrupted, StoreError, WorkerError, WorkersLostError
from longwave.platform.paths import ready
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.storage.integrity import damage_after_crash
from longwave.platform.storage.leases import LeaseLostError, Leases, drivers
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.config import SweepFile
from longwave.platform.sweeps.desk import Desk
from longwave.platform.sweeps.entry import Sweep
from longwave.platform.sweeps.executor import run_packs, running
from longwave.platform.sweeps.fleet import Fleet
from longwave.platform.sweeps.heart import Heart
from longwave.platform.sweeps.jobs import Waves
from longwave.platform.sweeps.metrics import DriverMetrics
from longwave.platform.sweeps.mirroring import mirroring
from longwave.platform.sweeps.placement import left_idle
from longwave.platform.sweeps.progress import Progress
from longwave.platform.sweeps.purse import Purse
from longwave.platform.sweeps.sweep import asked, brought_back, check_plugins, is_over, plan
from longwave.platform.sweeps.trying import fleet_of, tried, tries_first
from longwave.platform.sweeps.workers import Job, Workers


def start(file: SweepFile, store: Store, workers: Workers, server: str | None, console: Console) -> Progress:
    """Plan a sweep and run it, or what is missing of it, as ``resume`` does.

    Raises:
        ConfigError: A rule is broken; or as ``plan`` and ``resume``.
    """
    from longwave.platform.sweeps.resolve import resolve

    return resume(plan(resolve(file), store), store, workers, server, console)


def resume(
    sweep: Sweep,
    store: Store,
    workers: Workers,
    server: str | None,
    console: Console,
    numbers: DriverMetrics | None = None,
) -> Progress:
    """Run what is missing of a sweep of the store, and return its final counts.

    Args:
        sweep: As ``plan`` or ``stored_sweep`` returns it.
        store: Where rows go.
        workers: How to run packs.
        server: MLflow tracking URI to mirror to, or None.
        console: Where to show progress.
        numbers: Where to count, if others are to see it.

    Raises:
        ConfigError: A plugin that it was planned with is not here any more, or breaks a rule.
        Interrupted: A signal ended it in order.
    """
    if not store.with_retry(lambda: is_over(sweep, store, store.planned(sweep.file.name))):
        brought_back(entry.base for entry in sweep.entries)
        check_plugins(sweep.file)
    ready(workers.storage)
    store.with_retry(lambda: store.set_state(sweep.file.name, ""))
    with Leases(store, sweep.file.name, sweep.file.priority) as leases:
        if leases.after_a_death and (wrong := damage_after_crash(store.engine)):
            raise StoreError(f"A driver died, and its store is damaged: {wrong}. See: longwave doctor --repair")
        numbers = numbers or DriverMetrics(sweep.file.name)
        return _Driver(sweep, store, leases, workers, server, console, numbers).run()


class _Driver:
    """One run of a sweep."""

    def __init__(
        self,
        sweep: Sweep,
        store: Store,
        leases: Leases,
        workers: Workers,
        server: str | None,
        console: Console,
        numbers: DriverMetrics,
    ) -> None:
        file = sweep.file
        self.sweep, self.store, self.leases, self.workers, self.console = sweep, store, leases, workers, console
        self.view = Progress(sweep, console)
        self.server = server
        self.purse = Purse(store, file)
        leases.spent = self.purse.columns
        self.heart = Heart(store, leases, workers, self.purse.spent, self.view.say)
        self.parents: dict[str, tuple[str, ...]] = {}
        self.cut: set[str] = set()
        self.idle = ""
        self.numbers = numbers
        store.on_wait, store.on_transaction = self.view.say, numbers.took

    def run(self) -> Progress:
        """Train until nothing is missing, or until the driver is to end."""
        name = self.sweep.file.name
        with ExitStack() as stack:
            if mirror := stack.enter_context(mirroring(self.server)):
                stack.enter_context(mirror.following(self.store))
            stack.enter_context(self.view)
            stack.enter_context(self.heart)
            stack.enter_context(self.heart.hearing())
            try:
                while (left := self._left()) and self.heart.may_train():
                    self._round(left, stack)
            except KeyboardInterrupt:
                raise Interrupted(self.heart.signal or 2, name) from None
            except WorkersLostError as error:
                raise WorkerError(f"{error}. What is done is kept; go on with: longwave sweep resume {name}") from None
            self.view.over = not left
            for pack in self.cut if not left else ():
                self.workers.checkpoint(pack).remove()
        if mirror and mirror.problem:
            told = "Nothing is lost; send it later with: longwave mlflow sync"
            self.console.print(f"{mirror.problem}. {told}", style="yellow", markup=False, highlight=False)
        if left and self.heart.signal:
            raise Interrupted(self.heart.signal, name)
        if left:
            self.console.print(f"{name}: {self.heart.ends}. Go on with: longwave sweep resume {name}", highlight=False)
        return self.view

    def _left(self) -> list[PlannedTrial]:
        """Return the trials that have not ended, and show how all stand."""
        trials = self.store.with_retry(lambda: asked(self.sweep, self.store))
        self.view.plan(trials)
        self.numbers.plan(trials)
        return [a for a in trials if a.open]

    def _round(self, left: Sequence[PlannedTrial], stack: ExitStack) -> None:
        """Train what this driver can lease of the trials that are left; if that is nothing, wait a second."""
        stack.enter_context(running(self.workers))  # starts behind what follows
        most = self.store.with_retry(self.purse.trials_left)
        fleet = self._fleet(left)
        waves = Waves(self.sweep, self.store, self.leases, self.workers, left, self.parents, most, fleet)
        first = waves.next()
        if not first:
            self._wait(left, most)
            return
        desk = Desk(self.store, self.leases, self.workers, self.view, fleet.probed)
        packs = len(first) + waves.left
        try:
            with self.purse.filled_by(desk), self.numbers.heard_by(desk, desk.jobs, packs) as sink:
                run_packs(self._handed_out(first, waves, desk), sink, self.workers)
        except LeaseLostError as error:
            self.view.say(str(error))
        finally:
            self.parents |= desk.parents
            self.cut.update(*desk.parents.values())
            self.leases.release([*self.leases.fences])

    def _handed_out(self, jobs: Mapping[str, Job], waves: Waves, desk: Desk) -> Iterator[Mapping[str, Job]]:
        """Yield the packs of a round as workers come to need them: as many wait as work, so that no worker is idle."""
        while jobs:
            desk.take(jobs)
            self.cut.update(*(job.before for job in jobs.values()))
            if not waves.left and waves.handed == len(desk.jobs):
                self._say_idle(left_idle(waves.fleet.room, [job.shares for job in desk.jobs.values()]))
            yield jobs
            while waves.left and desk.waiting >= max(waves.fleet.count, len(desk.places)):
                yield {}
            over, desk.over = desk.over, []
            self.leases.release(over)
            jobs = {} if self.workers.draining() else waves.next()

    def _fleet(self, left: Sequence[PlannedTrial]) -> Fleet:
        """Return what packs may go to; where that is GPUs, packs yet to be divided are tried there first."""
        fleet = fleet_of(self.workers, self.store)
        fresh = [a.id for a in left if a.pack is None]
        if not fresh or not tries_first(fleet, self.workers):
            return fleet
        configs = self.store.with_retry(lambda: self.store.configs(fresh))
        return tried(fleet, [*configs.values()], self.workers, self.store, self.view.say)

    def _say_idle(self, idle: str) -> None:
        """Say in one line that GPUs are left idle, unless that was said before."""
        if idle and idle != self.idle:
            told = f"{self.sweep.file.name}: {idle}"
            self.console.print(told, style="yellow", markup=False, highlight=False)
        self.idle = idle

    def _wait(self, left: Sequence[PlannedTrial], most: int | None) -> None:
        """Wait for others, or find that the budget leaves room for no pack."""
        others = [d for d in drivers(self.store) if d.alive and d.owner != self.leases.owner]
        if most is not None and not any(a.status == "running" for a in left):
            self.purse.close()
            return
        who = ", ".join(f"process {d.process} on {d.host} ({d.sweep})" for d in others)
        self.heart.wait(f"waits for {len(left)} trials that {who or 'another process'} has leased")
