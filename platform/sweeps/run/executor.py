"""Run packs: here, one after another, or on Ray Tune, several at a time. Ray itself lies in on_ray/ alone."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

from longwave.platform.errors import WorkersLostError
from longwave.platform.plugins.known import used_plugins
from longwave.platform.records.probe import Probe
from longwave.platform.records.report import Report
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.on_ray.client import SCHEDULER, Client
from longwave.platform.sweeps.place.devices import ClusterNode, Slot
from longwave.platform.sweeps.place.workers import Job, Sink, Workers, nodes_here, train_job

SINGLE = "longwave.platform.sweeps.on_ray.single_process"
"""The module of the process that a sweep begins in where nothing is asked that only Ray gives."""
SECONDS = 5.0
"""Seconds of processor that it trains before Ray is started: about what Ray takes to start and to end."""
_clients: list[Client] = []
"""The one that runs, if any: blocks of ``running_workers`` inside one another share it."""


def run_packs(queue: Iterable[Mapping[str, Job]], sink: Sink, workers: Workers) -> None:
    """Train packs inside ``running_workers(workers)``; ``sink`` hears of each start, report and end, in this process.

    Packs that a drain left unstarted are not heard of. One whose share of a GPU is not given takes a whole one.

    Args:
        queue: Packs by key. The next are asked for whenever something was heard; empty ones mean that there is enough.
        sink: Hears.
        workers: Those of ``running_workers``.

    Raises:
        WorkerError: Ray could not be started, or it died; or a worker is not fit for what was planned.
        Exception: Whatever the sink raises. All workers are ended by that, no trial is.
    """
    if workers.here:
        for key, job in (item for jobs in queue for item in jobs.items()):
            if workers.draining():
                return
            _train_here(key, job, sink, workers)
        return
    heard = _CurrentSessions()
    try:
        _follow(iter(queue), heard, sink, workers)
    except WorkersLostError:
        if not _starts_single():
            raise
        _pause(heard, "the process that it began in died: it goes on on Ray", sink, workers)
        for pack in heard.training:
            sink.ended(pack, "paused")
        sink.settle()
    if heard.left_to_ray:
        _turn_to_ray(workers)


def _follow(coming: Iterator[Mapping[str, Job]], heard: _CurrentSessions, sink: Sink, workers: Workers) -> None:
    """Hand packs to the client and hear of them until the last is over, or until they are drained."""
    client = _clients[-1]
    own = {name: getattr(workers, name) for name in ("count", "address", "gpus", "cpu", "cpus", "labels")}
    work = {"ask": "packs", "storage": str(workers.storage), "flag": workers.flag, "workers": own, **_plugins()}
    work |= {"seconds": SECONDS}
    more = next(coming, None)
    # Closed at once: a traceback may hold the generator for long.
    with closing(client.run(work | _packs_message(more))) as arriving:
        for events in arriving:
            for event in events:
                _handle_event(event, heard, sink, workers)
            sink.settle()
            if more is not None and ((more := next(coming, None)) or more is None):
                client.tell({"ask": "more"} | _packs_message(more))


def _pause(heard: _CurrentSessions, why: str, sink: Sink, workers: Workers) -> None:
    """Have packs that began in a single process pause, and say why they go on on Ray."""
    heard.left_to_ray = True
    sink.told(why)
    workers.drain()


def _plugins() -> dict[str, Any]:
    """Return the text of the plugins in use, which no other node has."""
    return {"plugins": [plugin.to_dict() for plugin in used_plugins()]}


def _train_here(key: str, job: Job, sink: Sink, workers: Workers) -> None:
    def emit(report: Report) -> None:
        sink.report(key, report)
        sink.settle()

    sink.started(key, _slot_here(workers))
    sink.ended(key, train_job(key, job, emit, workers))
    sink.settle()


def _packs_message(jobs: Mapping[str, Job] | None) -> dict[str, Any]:
    """Return packs as Ray's scheduler is told of them: with whether they are the last."""
    return {"jobs": {key: job.to_dict() for key, job in (jobs or {}).items()}, "last": jobs is None}


def _handle_event(event: Mapping[str, Any], heard: _CurrentSessions, sink: Sink, workers: Workers) -> None:
    pack = event.get("pack", "")
    if event["event"] == "told":
        sink.told(event["line"])
    elif event["event"] == "long":
        _pause(heard, "it takes longer than Ray takes to start, so it goes on on Ray", sink, workers)
    elif event["event"] == "started":
        heard.training.add(pack)
        sink.started(pack, Slot(**event["place"]))
    elif event["event"] == "ended":
        heard.training.discard(pack)
        sink.ended(pack, event["how"], event["why"])
    elif heard.now(pack, event["session"]):
        sink.report(pack, Report.from_dict(event["report"]))


def find_nodes(workers: Workers) -> list[ClusterNode]:
    """Return the nodes of the cluster as they are now; outside of ``running_workers``, or without Ray, this machine.

    Raises:
        WorkerError: As ``run_packs``.
    """
    if workers.here or not _clients:
        return [nodes_here(workers.cores)]
    try:
        found = _ask_for_nodes(workers)
    except WorkersLostError:
        if not _starts_single():
            raise
        found = []
    if _starts_single() and (not found or (found[0].gpus and not workers.cpu)):
        _turn_to_ray(workers)
        return _ask_for_nodes(workers)
    return found


def _ask_for_nodes(workers: Workers) -> list[ClusterNode]:
    with closing(_clients[-1].run({"ask": "machines", "labels": dict(workers.labels)})) as arriving:
        return [ClusterNode(**machine) for events in arriving for event in events for machine in event["machines"]]


def _starts_single() -> bool:
    """Return whether what runs is the single process that a sweep begins in."""
    return _clients[-1].scheduler == SINGLE


def _turn_to_ray(workers: Workers) -> None:
    """Have Ray in place of the single process from now on; it starts behind what follows."""
    _clients[-1].end()
    _clients[-1] = Client(workers)


def run_probes(wanted: Sequence[tuple[str, Sequence[TrialConfig]]], workers: Workers) -> Iterator[Probe]:
    """Yield what packs take of devices, each alone on one; what cannot be probed is left out.

    Args:
        wanted: Kinds of devices, each with the trials of a pack.
        workers: Those of ``running_workers``.

    Raises:
        WorkerError: As ``run_packs``.
    """
    if workers.here:
        from longwave.platform.training.probe import probe

        yield from (probe(configs, kind) for kind, configs in wanted)
        return
    told = [{"kind": kind, "configs": [config.to_dict() for config in configs]} for kind, configs in wanted]
    work = {"ask": "probes", "probes": told, "labels": dict(workers.labels), **_plugins()}
    with closing(_clients[-1].run(work)) as arriving:
        yield from (Probe(**event["probe"]) for events in arriving for event in events)


def _slot_here(workers: Workers) -> Slot:
    room = workers.room(find_nodes(workers))
    return room.take(room.whole) or Slot()


class _CurrentSessions:
    """What was heard of packs.

    Of a pack's workers the one that spoke first last is heard; a replaced one that still speaks is not.

    Attributes:
        training: Packs that have a worker.
        left_to_ray: Whether they are to go on on Ray.
    """

    def __init__(self) -> None:
        self.training, self.left_to_ray = set[str](), False
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
def running_workers(workers: Workers, scheduler: str = SCHEDULER) -> Iterator[None]:
    """Start Ray in the background and have it inside the block; leave one that runs already as it is.

    It returns at once, so that Ray starts while a sweep is planned. ``run_packs`` waits for it. ``scheduler`` is as
    ``Client`` says.
    """
    if workers.here and workers.cpu:
        with _hidden_gpus():
            yield
        return
    if workers.here or _clients:
        yield
        return
    _clients.append(Client(workers, SINGLE if workers.single_first else scheduler))
    try:
        yield
    finally:
        _clients.pop().end()


@contextmanager
def _hidden_gpus() -> Iterator[None]:
    """Have CUDA, which looks when it is first used, find nothing in this process."""
    name = "CUDA_VISIBLE_DEVICES"
    before = os.environ.get(name)
    os.environ[name] = ""
    try:
        yield
    finally:
        del os.environ[name]
        os.environ |= {name: before} if before is not None else {}
