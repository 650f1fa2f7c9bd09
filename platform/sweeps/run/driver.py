"""Run a sweep: plan missing trials, train them in packs, store every epoch and end, until none is missing.

Running and resuming are the same loop, and any number of drivers may run it, on one sweep or on several that share
trials: each trains the trials that it has leased.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial

from rich.console import Console

from longwave.platform.errors import Interrupted, StoreError, WorkerError, WorkersLostError
from longwave.platform.paths import format_sweep_command, make_ready
from longwave.platform.records.stored import PlannedTrial
from longwave.platform.storage.integrity import damage_after_crash
from longwave.platform.storage.leases import SECONDS, Driver, LeaseLostError, Leases, read_drivers
from longwave.platform.storage.liveness import BEATS, MISSED_BEATS
from longwave.platform.storage.retrying_store import RetryingStore
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.cluster import Cluster
from longwave.platform.sweeps.place.devices import describe_idle_gpus
from longwave.platform.sweeps.place.stalls import StallWatch
from longwave.platform.sweeps.place.workers import LOOK_SECONDS, Job, Workers
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.stored import check_plugins, is_over, plan_trials, restore_plugins, store_plan
from longwave.platform.sweeps.run.callbacks import NO_CALLBACKS, Callbacks
from longwave.platform.sweeps.run.estimate import find_cluster, needs_probes, probe_missing
from longwave.platform.sweeps.run.executor import run_packs, running_workers
from longwave.platform.sweeps.run.heartbeat import Heartbeat
from longwave.platform.sweeps.run.metrics import DriverMetrics
from longwave.platform.sweeps.run.progress import Progress, ignoring_print_errors
from longwave.platform.sweeps.run.queue import PackQueue
from longwave.platform.sweeps.run.recorder import BudgetMeter, ResultRecorder
from longwave.platform.sweeps.run.time_left import read_seconds_left
from longwave.platform.sweeps.trackers.background import Background, tracking
from longwave.platform.sweeps.trackers.tracker import TrackerName
from longwave.platform.wording import describe_count


def start_sweep(
    file: SweepFile, store: Store, workers: Workers, trackers: Sequence[TrackerName] | None, console: Console
) -> Progress:
    """Plan a sweep and run its missing trials, as ``resume_sweep`` does.

    Raises:
        ConfigError: A rule is broken; or as ``store_plan`` and ``resume_sweep``.
    """
    from longwave.platform.sweeps.plan.resolve import resolve

    return resume_sweep(store_plan(resolve(file), RetryingStore(store)), store, workers, trackers, console)


def resume_sweep(
    sweep: Sweep,
    store: Store,
    workers: Workers,
    trackers: Sequence[TrackerName] | None,
    console: Console,
    metrics: DriverMetrics | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
) -> Progress:
    """Run the missing trials of a stored sweep, and return its final counts.

    Args:
        sweep: As ``store_plan`` or ``read_sweep_plan`` returns it.
        store: Where results are written.
        workers: How to run packs.
        trackers: Trackers that also get the results, if any.
        console: Where to show progress.
        metrics: Metrics to update, if they are served.
        callbacks: Functions to call at each epoch and each end; if one raises an exception, the sweep ends cleanly.

    Raises:
        ConfigError: A plugin that it was planned with is missing, or breaks a rule.
        Interrupted: A signal stopped it cleanly.
    """
    store = RetryingStore(store)
    if not is_over(sweep, store, store.planned(sweep.file.name)):
        restore_plugins(cell.base for cell in sweep.cells)
        check_plugins(sweep.file)
    make_ready(workers.storage)
    _wait_for_stopped_drivers(store, sweep.file.name, console)
    store.set_state(sweep.file.name, "")
    with Leases(store, sweep.file.name, sweep.file.priority) as leases:
        if leases.after_a_death and (damage := store.with_retry(lambda: damage_after_crash(store.engine))):
            raise StoreError(f"A driver died, and its store is damaged: {damage}. See: longwave doctor --repair")
        metrics = metrics or DriverMetrics(sweep.file.name)
        return _Driver(sweep, store, leases, workers, trackers, console, metrics, callbacks).run()


def _wait_for_stopped_drivers(store: RetryingStore, name: str, console: Console) -> None:
    """Wait until the drivers of a sweep that was stopped have ended; one that has not read it yet would go on."""
    told = False
    while processes := [f"{d.process} on {d.host}" for d in _find_stopping_drivers(store, name)]:
        if not told:
            with ignoring_print_errors():
                waits = f"{name}: was stopped, waits until process {', '.join(processes)} has ended"
                console.print(waits, markup=False, highlight=False)
        told = True
        time.sleep(LOOK_SECONDS)


def _find_stopping_drivers(store: RetryingStore, name: str) -> list[Driver]:
    """Return the running drivers of a sweep if they were told to stop."""
    if store.sweep(name).state != "stop":
        return []
    return [d for d in read_drivers(store, name) if d.alive and not d.gone]


class _Driver:
    """One run of a sweep."""

    def __init__(
        self,
        sweep: Sweep,
        store: RetryingStore,
        leases: Leases,
        workers: Workers,
        trackers: Sequence[TrackerName] | None,
        console: Console,
        metrics: DriverMetrics,
        callbacks: Callbacks,
    ) -> None:
        file = sweep.file
        self.sweep, self.store, self.leases, self.workers, self.console = sweep, store, leases, workers, console
        self.view = Progress(sweep, console, partial(read_seconds_left, store.once, sweep))
        self.trackers, self.callbacks = trackers, callbacks
        self.budget = BudgetMeter(store, file)
        leases.spent = self.budget.columns
        self.stalls = StallWatch(workers.stall, workers.stall_kill)
        self.heartbeat = Heartbeat(store, leases, workers, self.budget.spent, self.view.say, self.stalls)
        self.parents: dict[str, tuple[str, ...]] = {}
        self.cut: set[str] = set()
        self.idle = ""
        self.metrics = metrics
        metrics.count_stalled(self.stalls)
        store.on_wait, store.on_transaction = self.view.say, metrics.observe_transaction

    def run(self) -> Progress:
        """Train until nothing is missing, or until the driver must stop."""
        name = self.sweep.file.name
        command = format_sweep_command("resume", name, self.store.url)
        with ExitStack() as stack:
            trackers = stack.enter_context(tracking(self.trackers))
            for tracker in trackers:
                stack.callback(self._print_problem, tracker)
                stack.enter_context(tracker.following(self.store, name, self.workers.storage))
            stack.enter_context(self.view)
            stack.enter_context(self.heartbeat)
            stack.enter_context(self.heartbeat.handling_signals())
            try:
                while (open_trials := self._open_trials()) and self.heartbeat.may_train():
                    self._run_round(open_trials, stack)
            except KeyboardInterrupt:
                raise Interrupted(self.heartbeat.signal or 2, command) from None
            except WorkersLostError as error:
                raise WorkerError(f"{error}. Finished trials are kept; resume it with: {command}") from None
            self.view.over = not open_trials
            if not open_trials:
                self._remove_unneeded_checkpoints()
        if open_trials and self.heartbeat.signal:
            raise Interrupted(self.heartbeat.signal, command)
        if open_trials:
            with ignoring_print_errors():
                line = f"{name}: {self.heartbeat.reason_to_end}. Resume it with: {command}"
                self.console.print(line, highlight=False, soft_wrap=True)
        return self.view

    def _remove_unneeded_checkpoints(self) -> None:
        """Delete the checkpoints of cut packs, and of ended ones whose driver died before it did so."""
        if not (saved := self.workers.saved_packs()):
            return
        planned = {a.pack for a in self.store.planned(self.sweep.file.name) if a.pack}
        open_trials = self.store.count_open(planned & saved)  # of other sweeps, too
        for pack in self.cut | {pack for pack, count in open_trials.items() if not count}:
            self.workers.checkpoint(pack).remove()

    def _print_problem(self, tracker: Background) -> None:
        if tracker.problem:
            with ignoring_print_errors():
                self.console.print(tracker.problem, style="yellow", markup=False, highlight=False, soft_wrap=True)

    def _open_trials(self) -> list[PlannedTrial]:
        """Return the trials that have not ended, and show the status of all."""
        trials = plan_trials(self.sweep, self.store)
        self.view.plan(trials)
        self.metrics.plan(trials)
        return [a for a in trials if a.open]

    def _run_round(self, open_trials: Sequence[PlannedTrial], stack: ExitStack) -> None:
        """Train as many of the open trials as this driver can lease; if there are none, wait a second."""
        stack.enter_context(running_workers(self.workers))  # they start in the background
        max_trials = self.budget.trials_left()
        cluster = self._find_cluster(open_trials)
        queue = PackQueue(
            self.sweep, self.store, self.leases, self.workers, open_trials, self.parents, max_trials, cluster
        )
        first = queue.next()
        if not first:
            self._wait_for_others(open_trials, queue.affordable)
            return
        recorder = ResultRecorder(
            self.store, self.leases, self.workers, self.view, cluster.probed, self.stalls, self.callbacks
        )
        packs = len(first) + queue.left
        try:
            with self.budget.counting(recorder), self.metrics.counting(recorder, recorder.jobs, packs) as sink:
                run_packs(self._hand_out_packs(first, queue, recorder), sink, self.workers)
        except LeaseLostError as error:
            self.view.say(str(error))
        finally:
            self.parents |= recorder.parents
            self.cut.update(*recorder.parents.values())
            self.stalls.clear()
            self.leases.release([*self.leases.fences])

    def _hand_out_packs(
        self, jobs: Mapping[str, Job], queue: PackQueue, recorder: ResultRecorder
    ) -> Iterator[Mapping[str, Job]]:
        """Yield the packs of a round as workers need them: as many wait as are training, so that no worker is idle."""
        while jobs:
            recorder.add_jobs(jobs)
            self.cut.update(*(job.before for job in jobs.values()))
            if not queue.left and queue.handed == len(recorder.jobs):
                self._warn_of_idle_gpus(
                    describe_idle_gpus(queue.cluster.pool, [job.shares for job in recorder.jobs.values()])
                )
            yield jobs
            while queue.left and recorder.waiting >= max(queue.cluster.count, len(recorder.slots)):
                yield {}
            ended, recorder.to_release = recorder.to_release, []
            self.leases.release(ended)
            jobs = {} if self.workers.draining() else queue.next()

    def _find_cluster(self, open_trials: Sequence[PlannedTrial]) -> Cluster:
        """Return the devices for packs; on GPUs, trials without a pack are probed first."""
        cluster = find_cluster(self.workers, self.store)
        without_pack = [a.id for a in open_trials if a.pack is None]
        if not without_pack or not needs_probes(cluster, self.workers):
            return cluster
        configs = self.store.configs(without_pack)
        return probe_missing(cluster, [*configs.values()], self.workers, self.store, self.view.say)

    def _warn_of_idle_gpus(self, idle: str) -> None:
        """Warn in one line that GPUs stay idle, unless the last warning was the same."""
        if idle and idle != self.idle:
            self.view.show_notice(idle)
        self.idle = idle

    def _wait_for_others(self, open_trials: Sequence[PlannedTrial], affordable: bool) -> None:
        """Wait for other drivers, or note that the rest of the budget is too small for any pack."""
        drivers = self.store.with_retry(lambda: read_drivers(self.store))
        others = [d for d in drivers if d.alive and d.owner != self.leases.owner]
        if not affordable and not any(a.status == "running" for a in open_trials):
            self.budget.close()
            return
        holders = ", ".join(f"process {d.process} on {d.host} ({d.sweep})" for d in others)
        dead, seconds = ", ".join(f"{d.process}" for d in others if d.gone), MISSED_BEATS * SECONDS / BEATS
        note = f"; {dead} died, and its leases end within {seconds:g} s" if dead else ""
        trials = describe_count(len(open_trials), "trial")
        self.heartbeat.wait(f"waits for {trials} that {holders or 'another process'} has leased{note}")
