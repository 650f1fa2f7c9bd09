"""Where the reports of packs arrive: written to the store under this driver's leases, and shown."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from longwave.platform.records.report import Ending, Report
from longwave.platform.records.run import Run
from longwave.platform.records.stored import SweepCost
from longwave.platform.storage.leases import LeaseLostError, Leases
from longwave.platform.storage.probes import write_probes
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.packing import pack_key
from longwave.platform.sweeps.place.probes import ProbeTable
from longwave.platform.sweeps.place.workers import Job, Workers
from longwave.platform.sweeps.run.progress import Progress


class ResultRecorder:
    """Takes the reports of some packs.

    Args:
        store: Where they were planned.
        leases: Under which it writes.
        workers: Who trains.
        view: What is shown.
        probed: What probes say of packs.

    Attributes:
        parents: For each half of a pack whose worker died, the packs whose checkpoints serve it.
        jobs: The packs that were handed out and have not ended.
        places: Where each of them trains, or trained last.
        over: Trials that have ended with their pack: what it held of them may be given back.
    """

    def __init__(self, store: Store, leases: Leases, workers: Workers, view: Progress, probed: ProbeTable) -> None:
        self.store, self.leases, self.workers, self.view = store, leases, workers, view
        self.jobs: dict[str, Job] = {}
        self.open: dict[str, set[str]] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.places: dict[str, Slot] = {}
        self.over: list[str] = []
        self._since: dict[str, tuple[float, Slot]] = {}
        self._spent, self.probed = SweepCost(), probed
        self._said: list[tuple[str, Report]] = []
        self._ended: list[tuple[str, Ending, str]] = []

    def take(self, jobs: Mapping[str, Job]) -> None:
        """Take packs that are handed out from now on."""
        self.jobs |= jobs
        self.open |= {key: {c.id for c in job.configs} for key, job in jobs.items()}

    @property
    def waiting(self) -> int:
        """How many packs have had no worker yet."""
        return len(self.jobs) - len(self.places)

    @property
    def spent(self) -> SweepCost:
        """What packs have taken of devices so far. Another thread may ask."""
        return sum((_device_seconds(*held) for held in [*self._since.values()]), self._spent)

    def _leave(self, pack: str) -> None:
        if (held := self._since.pop(pack, None)) is not None:
            self._spent += _device_seconds(*held)

    def _expected(self, pack: str) -> SweepCost:
        """Return what probes say of a pack where it trained."""
        place, first, members = self.places[pack], self.jobs[pack].configs[0], len(self.jobs[pack].configs)
        epoch = self.probed.epoch(first, place.kind, members)
        return SweepCost(expected={"": 1.0} if epoch is None else {place.kind: epoch * first.epochs * place.devices})

    def started(self, pack: str, place: Slot) -> None:
        """Show that a pack has a worker. One that it had before has lost its place."""
        self._leave(pack)
        self.places[pack] = place
        self._since[pack] = time.monotonic(), place
        self.view.started(pack, self.jobs[pack].configs)

    def report(self, pack: str, report: Report) -> None:
        """Take what a pack said."""
        self._said.append((pack, report))

    def told(self, line: str) -> None:
        """Show it."""
        self.view.tell(line)

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        """Take that a pack has no worker any more."""
        self._leave(pack)
        if how == "over" and pack in self.places:
            self._spent += self._expected(pack)
        self._ended.append((pack, how, why))

    def settle(self) -> None:
        """Write what packs said, in one transaction, then see to the packs that ended."""
        said, self._said = self._said, []
        over, self._ended = self._ended, []
        if said:
            self._write(said)
        for pack, how, why in over:
            self._close(pack, how, why)

    def _write(self, said: Sequence[tuple[str, Report]]) -> None:
        try:
            self.leases.write(*(report for _, report in said))
        except LeaseLostError:
            if len(said) == 1:
                raise
            for one in said:  # what came before the first that is lost is kept
                self._write([one])
            return
        if found := [replace(p, kind=self.places[pack].kind) for pack, report in said for p in report.probes]:
            self.store.with_retry(lambda: write_probes(self.store, found))
        for pack, report in said:
            self.open[pack] -= {run.trial for run in report.runs}
            self.view.report(report.points, report.runs)

    def _close(self, pack: str, how: Ending, why: str) -> None:
        """See to the trials of a pack that have not ended.

        A worker's death is blamed on one of several, so they are tried again in halves; one alone failed.
        """
        job = self.jobs.pop(pack)
        left = [c for c in job.configs if c.id in self.open[pack]]
        if how != "paused" and len(left) == 1:
            reason = why or "its pack ended without a word of it"
            self._write([(pack, Report(runs=[Run(left[0].id, "failed", reason)]))])
        elif how != "paused" and left:
            halves = (left[: len(left) // 2], left[len(left) // 2 :])
            self.store.assign({pack_key(half): half for half in halves})
            self.parents |= {pack_key(half): (pack, *job.before) for half in halves}
        own = self.workers.checkpoint(pack)
        if how == "paused" and job.joined and own.path.exists():
            self.store.assign({pack: left})
            self._forget(job.joined)
        self.places.pop(pack, None)
        if not (still := self.open.pop(pack)):
            own.remove()
            self._forget(job.joined)
        self.over += [c.id for c in job.configs if c.id not in still]
        waits = how == "paused" and job.cohort is not None and not self.workers.draining()
        self.view.ended(pack, "waits for its cohort" if waits else how)

    def _forget(self, packs: Sequence[str]) -> None:
        """Delete the checkpoints of packs that went on in another."""
        for key in packs:
            self.workers.checkpoint(key).remove()


def _device_seconds(since: float, place: Slot) -> SweepCost:
    return SweepCost(used={place.kind: (time.monotonic() - since) * place.devices})
