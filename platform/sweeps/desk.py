"""Where the reports of packs arrive: written to the store under this driver's leases, and shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from longwave.platform.records.report import Ending, Report
from longwave.platform.records.run import Run
from longwave.platform.storage.leases import Leases
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.packing import pack_key
from longwave.platform.sweeps.progress import Progress
from longwave.platform.sweeps.workers import Job, Workers


class Desk:
    """Takes the reports of some packs.

    Args:
        jobs: The packs.
        store: Where they were planned.
        leases: Under which it writes.
        workers: Who trains.
        view: What is shown.

    Attributes:
        parents: For each half of a pack whose worker died, the packs whose checkpoints serve it.
        seconds: What the packs trained, summed over their trials.
    """

    def __init__(self, jobs: Mapping[str, Job], store: Store, leases: Leases, workers: Workers, view: Progress) -> None:
        self.jobs, self.store, self.leases, self.workers, self.view = jobs, store, leases, workers, view
        self.open = {key: {c.id for c in job.configs} for key, job in jobs.items()}
        self.parents: dict[str, tuple[str, ...]] = {}
        self._seconds: dict[str, float] = {}
        self._before: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """What was trained since this desk opened, in seconds of packs."""
        return sum(now - self._before[trial] for trial, now in self._seconds.items())

    def started(self, pack: str) -> None:
        """Show that a pack has a worker."""
        self.view.started(pack, self.jobs[pack].configs)

    def report(self, pack: str, report: Report) -> None:
        """Write what a pack said, and show it."""
        self.leases.write(report)
        self.open[pack] -= {run.trial for run in report.runs}
        standing = {point.trial: point.seconds for point in report.points}
        self._seconds |= standing
        for trial in report.began:
            self._before[trial] = standing.get(trial, 0.0)
            self._seconds[trial] = self._before[trial]
        self.view.report(report.points, report.runs)

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        """See to the trials of a pack that have not ended.

        A worker's death is blamed on one of several, so they are tried again in halves; one alone failed.
        """
        job = self.jobs[pack]
        left = [c for c in job.configs if c.id in self.open[pack]]
        if how != "paused" and len(left) == 1:
            reason = why or "its pack ended without a word of it"
            self.report(pack, Report(runs=[Run(left[0].id, "failed", reason)]))
        elif how != "paused" and left:
            halves = (left[: len(left) // 2], left[len(left) // 2 :])
            self.store.assign({pack_key(half): half for half in halves})
            self.parents |= {pack_key(half): (pack, *job.before) for half in halves}
        own = self.workers.checkpoint(pack)
        if how == "paused" and job.joined and own.path.exists():
            self.store.assign({pack: left})
            self._forget(job.joined)
        if not self.open[pack]:
            own.remove()
            self._forget(job.joined)
        waits = how == "paused" and job.company is not None and not self.workers.draining()
        self.view.ended(pack, "waits for its cohort" if waits else how)

    def _forget(self, packs: Sequence[str]) -> None:
        """Delete the checkpoints of packs that went on in another."""
        for key in packs:
            self.workers.checkpoint(key).remove()
