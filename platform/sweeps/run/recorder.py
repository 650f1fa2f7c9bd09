"""Record the reports of packs in the store and the view, and count their costs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from longwave.platform.errors import StoreError
from longwave.platform.records.probe import CPU
from longwave.platform.records.report import Ending, Report
from longwave.platform.records.run import Run
from longwave.platform.records.stored import SweepCost
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.leases import LeaseLostError, Leases
from longwave.platform.storage.probes import write_probes
from longwave.platform.storage.retrying_store import RetryingStore
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.file.schema import SweepFile
from longwave.platform.sweeps.place.cluster import ProbeTable
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.packing import pack_key
from longwave.platform.sweeps.place.stalls import StallWatch
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.run.callbacks import NO_CALLBACKS, Callbacks
from longwave.platform.sweeps.run.progress import Progress


class ResultRecorder:
    """Receives the events of some packs: the ``Sink`` of a sweep.

    Args:
        store: Where their trials were planned.
        leases: Those under which it writes.
        workers: Those that train the packs.
        view: Shows the events.
        probed: The probes of the packs.
        stalls: Gets every report, to find packs that have stalled.
        callbacks: Called after a report has been written.

    Attributes:
        parents: For each pack that goes on alone after a death, the packs whose checkpoints it uses.
        jobs: The packs that were handed out and have not ended.
        config_of: The configuration of each trial that was handed out.
        slots: Where each of them trains, or trained last.
        to_release: Trials that have ended with their pack, whose leases may be released.
    """

    def __init__(
        self,
        store: Store,
        leases: Leases,
        workers: Workers,
        view: Progress,
        probed: ProbeTable,
        stalls: StallWatch,
        callbacks: Callbacks = NO_CALLBACKS,
    ) -> None:
        self.callbacks = callbacks
        self.store, self.leases, self.workers, self.view, self.stalls = store, leases, workers, view, stalls
        self.jobs: dict[str, Job] = {}
        self.config_of: dict[str, TrialConfig] = {}
        self.open: dict[str, set[str]] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.slots: dict[str, Slot] = {}
        self.to_release: list[str] = []
        self._since: dict[str, tuple[float, Slot]] = {}
        self._spent, self.probed = SweepCost(), probed
        self._reports: list[tuple[str, Report]] = []
        self._ended: list[tuple[str, Ending, str]] = []

    def add_jobs(self, jobs: Mapping[str, Job]) -> None:
        """Add packs that are handed out from now on."""
        self.jobs |= jobs
        self.config_of |= {config.id: config for job in jobs.values() for config in job.configs}
        self.open |= {key: {c.id for c in job.configs} for key, job in jobs.items()}

    @property
    def waiting(self) -> int:
        """Number of packs that have had no worker yet."""
        return len(self.jobs) - len(self.slots)

    @property
    def spent(self) -> SweepCost:
        """Device time of packs so far. Another thread may read it."""
        return sum((_device_seconds(*held) for held in [*self._since.values()]), self._spent)

    def _add_device_time(self, pack: str) -> None:
        if (held := self._since.pop(pack, None)) is not None:
            self._spent += _device_seconds(*held)

    def _expected_cost(self, pack: str) -> SweepCost:
        """Return the device time that probes predict for a pack where it trained."""
        slot, first, members = self.slots[pack], self.jobs[pack].configs[0], len(self.jobs[pack].configs)
        epoch = self.probed.epoch(first, slot.kind, members)
        return SweepCost(expected={"": 1.0} if epoch is None else {slot.kind: epoch * first.epochs * slot.devices})

    def started(self, pack: str, slot: Slot) -> None:
        """Note and show that a pack has a worker, which replaces an earlier one."""
        self._add_device_time(pack)
        self.slots[pack] = slot
        self._since[pack] = time.monotonic(), slot
        self.view.started(pack, self.jobs[pack].configs)
        self.stalls.started(pack, self.view.running[pack])

    def report(self, pack: str, report: Report) -> None:
        """Buffer a report of a pack."""
        self.stalls.reported(pack, report)
        if not report.is_sign:
            self._reports.append((pack, report))

    def show_notice(self, line: str) -> None:
        """Show a notice about the cluster."""
        self.view.show_notice(line)

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        """Note that a pack no longer has a worker."""
        self.stalls.ended(pack)
        self._add_device_time(pack)
        if how == "over" and pack in self.slots:
            self._spent += self._expected_cost(pack)
        self._ended.append((pack, how, why))

    def flush(self) -> None:
        """Write the buffered reports in one transaction, then close the packs that ended."""
        reports, self._reports = self._reports, []
        over, self._ended = self._ended, []
        if reports:
            self._write_reports(reports)
        for pack, how, why in over:
            self._close_pack(pack, how, why)

    def _write_reports(self, reports: Sequence[tuple[str, Report]]) -> None:
        try:
            self.leases.write(*(report for _, report in reports))
        except LeaseLostError:
            if len(reports) == 1:
                raise
            for single in reports:  # keeps what came before the first lost lease
                self._write_reports([single])
            return
        if probes := [replace(p, kind=self.slots[pack].kind) for pack, report in reports for p in report.probes]:
            self.store.with_retry(lambda: write_probes(self.store, probes))
        for pack, report in reports:
            self.open[pack] -= {run.trial for run in report.runs}
            self.view.report(report.points, report.runs)
            self.callbacks.report(self.config_of, report)
            for line in report.notices:
                self.show_notice(line)

    def _close_pack(self, pack: str, how: Ending, why: str) -> None:
        """Decide what to do with the trials of a pack that have not ended; without any, remove its checkpoint.

        If the worker died, one of the trials must be the cause: they are tried again in halves, and one that was alone
        has failed. A joint pack without a checkpoint is tried again in the packs that were joined, which have theirs.
        """
        job = self.jobs.pop(pack)
        open_configs = [c for c in job.configs if c.id in self.open[pack]]
        checkpoint = self.workers.checkpoint(pack)
        if how != "paused" and len(open_configs) == 1:
            reason = why or "its pack ended without reporting it"
            self._write_reports([(pack, Report(runs=[Run(open_configs[0].id, "failed", reason)]))])
        elif how != "paused" and open_configs and job.joined and not checkpoint.path.exists():
            self.parents |= dict.fromkeys(job.joined, ())
        elif how != "paused" and open_configs:
            halves = (open_configs[: len(open_configs) // 2], open_configs[len(open_configs) // 2 :])
            shared = checkpoint.share_with(*(self.workers.checkpoint(pack_key(half)) for half in halves))
            self.store.assign({pack_key(half): half for half in halves})
            if shared:
                checkpoint.remove()
            self.parents |= {pack_key(half): (pack, *job.before) for half in halves}
        if how == "paused" and job.joined and checkpoint.path.exists():
            self.store.assign({pack: open_configs})
            self._remove_checkpoints(job.joined)
        self.slots.pop(pack, None)
        if not (open_trials := self.open.pop(pack)):
            checkpoint.remove()
            self._remove_checkpoints(job.joined)
        self.to_release += [c.id for c in job.configs if c.id not in open_trials]
        waits = how == "paused" and job.cohort is not None and not self.workers.draining()
        self.view.ended(pack, "waits for its cohort" if waits else how)

    def _remove_checkpoints(self, packs: Sequence[str]) -> None:
        """Delete the checkpoints of packs that continued in another."""
        for key in packs:
            self.workers.checkpoint(key).remove()


def _device_seconds(since: float, slot: Slot) -> SweepCost:
    return SweepCost(used={slot.kind: (time.monotonic() - since) * slot.devices})


class BudgetMeter:
    """The costs of a sweep against its budget, as one driver counts them.

    Args:
        store: Holds what other drivers spent.
        file: The sweep.
    """

    def __init__(self, store: RetryingStore, file: SweepFile) -> None:
        self.store, self.file = store, file
        self.before = self._of_all = store.cost(file.name)
        self._start, self._closed = time.monotonic(), False
        self._finished = SweepCost()
        self._recorder: ResultRecorder | None = None

    def driver_cost(self) -> SweepCost:
        """Return the cost of this driver's packs."""
        recorder = self._recorder
        return self._finished + recorder.spent if recorder else self._finished

    def columns(self) -> dict[str, Mapping[str, float]]:
        """Return the cost of this driver's packs as columns of its row in the store."""
        cost = self.driver_cost()
        return {"used": cost.used, "expected": cost.expected}

    def spent(self) -> str:
        """Return a message that names the part of the budget that is used up; empty while none is."""
        budget = self.file.budget
        if budget.hours is not None or budget.gpu_hours is not None:
            with suppress(StoreError):  # while the store cannot be read, its last state counts
                self._of_all = self.store.once.cost(self.file.name)
        own = self.before + self.driver_cost() + SweepCost(time.monotonic() - self._start)
        costs = own, self._of_all  # the second has other drivers' newest heartbeats, but not the latest of this one
        hours = max(cost.ran for cost in costs) / 3600
        gpu_hours = max(sum(s for kind, s in cost.used.items() if kind != CPU) for cost in costs) / 3600
        if budget.hours is not None and hours >= budget.hours:
            return f"its budget of {budget.hours:g} hours is used up"
        if budget.gpu_hours is not None and gpu_hours >= budget.gpu_hours:
            return f"its budget of {budget.gpu_hours:g} GPU hours is used up"
        return f"its budget of {budget.trials} trials is used up" if self._closed else ""

    def trials_left(self) -> int | None:
        """Return how many trials may still be trained; None without a limit."""
        if self.file.budget.trials is None:
            return None
        return max(0, self.file.budget.trials - self.store.count_trained(self.file.name))

    def close(self) -> None:
        """Note that the budget's remaining trials are fewer than any pack has."""
        self._closed = True

    @contextmanager
    def counting(self, recorder: ResultRecorder) -> Iterator[None]:
        """Count the costs of the packs of ``recorder`` inside the block."""
        self._recorder = recorder
        try:
            yield
        finally:
            self._recorder, self._finished = None, self._finished + recorder.spent
