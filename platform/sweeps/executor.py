"""Run packs: here, one after another, or on Ray Tune, several at a time. Ray itself lies in on_ray/ alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager

from longwave.platform.records.report import Report
from longwave.platform.sweeps.on_ray.client import Client
from longwave.platform.sweeps.workers import Job, Sink, Workers, train_job

_clients: list[Client] = []
"""The one that runs, if any: blocks of ``running`` inside one another share it."""


def run_packs(jobs: Mapping[str, Job], sink: Sink, workers: Workers) -> None:
    """Train all packs inside ``running(workers)``; ``sink`` hears of each start, report and end, in this process.

    Packs that a drain left unstarted are not heard of.

    Raises:
        WorkerError: Ray could not be started, or it died; or a worker is not fit for what was planned.
        Exception: Whatever the sink raises. All workers are ended by that, no trial is.
    """
    if workers.here:
        for key, job in jobs.items():
            if workers.draining():
                return
            sink.started(key)
            how = train_job(key, job, lambda report, key=key: sink.report(key, report), workers)  # type: ignore[misc]
            sink.ended(key, how)
        return
    work = {
        "jobs": {key: job.to_dict() for key, job in jobs.items()},
        "storage": str(workers.storage),
        "flag": workers.flag,
        "count": workers.count,
        "gpus": workers.gpus,
        "address": workers.address,
    }
    heard = _Sessions()
    with closing(_clients[-1].run(work)) as events:  # at once: a traceback may hold the generator for long
        for event in events:
            pack = event["pack"]
            if event["event"] == "started":
                sink.started(pack)
            elif event["event"] == "ended":
                sink.ended(pack, event["how"], event["why"])
            elif heard.now(pack, event["session"]):
                sink.report(pack, Report.from_dict(event["report"]))


class _Sessions:
    """Which of a pack's workers is heard: the one that spoke first last. A replaced one that still speaks is not."""

    def __init__(self) -> None:
        self.last: dict[str, str] = {}
        self.replaced: set[str] = set()

    def now(self, pack: str, session: str) -> bool:
        """Return whether a report of this start of the pack counts."""
        if session in self.replaced:
            return False
        if (before := self.last.get(pack, session)) != session:
            self.replaced.add(before)
        self.last[pack] = session
        return True


@contextmanager
def running(workers: Workers) -> Iterator[None]:
    """Start Ray in the background and have it inside the block; leave one that runs already as it is.

    It returns at once, so that Ray starts while a sweep is planned. ``run_packs`` waits for it.
    """
    if workers.here or _clients:
        yield
        return
    _clients.append(Client(workers))
    try:
        yield
    finally:
        _clients.pop().end()
