"""Run packs: in this process, one after another, or on Ray Tune, several at a time. Only on_ray/ imports Ray."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from importlib.util import find_spec
from typing import Any

from longwave.platform.errors import WorkerError, WorkersLostError
from longwave.platform.plugins.known import used_plugins
from longwave.platform.records.probe import Probe
from longwave.platform.records.report import Report
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.on_ray.client import SCHEDULER, Client
from longwave.platform.sweeps.place.devices import ClusterNode, Slot
from longwave.platform.sweeps.place.workers import Job, Sink, Workers, nodes_here, train_job

SINGLE = "longwave.platform.sweeps.on_ray.single_process"
"""The module of the process in which a sweep begins if it needs nothing that only Ray provides."""
SECONDS = 5.0
"""CPU seconds that it trains before Ray is started: about as long as Ray takes to start and end."""
START_SECONDS = 900.0
"""How long Ray may take to start; on a busy machine it is minutes."""
HAS_RAY = find_spec("ray") is not None
"""Whether Ray is installed. Without it a sweep trains in the single process that it begins in."""
INSTALL_RAY = "Install it with: pip install 'longwave[cluster]'"
_clients: list[Client] = []
"""The running client, if any: nested blocks of ``running_workers`` share it."""
_noticed: list[Client] = []
"""Clients for which a notice has said that Ray is not installed."""


def run_packs(queue: Iterable[Mapping[str, Job]], sink: Sink, workers: Workers) -> None:
    """Train packs inside ``running_workers(workers)``; report each start, report and end to ``sink``, in this process.

    Packs that a drain left unstarted are not reported. A pack without a share of a GPU takes a whole one.

    Args:
        queue: Packs by key. It is advanced after each batch of events; an empty mapping means that enough are waiting.
        sink: Receives the events.
        workers: Those of ``running_workers``.

    Raises:
        WorkerError: Ray could not be started, or it died; or a worker's versions differ from the plan's.
        Exception: Whatever the sink raises. It ends all workers, but no trial.
    """
    if workers.here:
        for key, job in (item for jobs in queue for item in jobs.items()):
            if workers.draining():
                return
            _train_here(key, job, sink, workers)
        return
    sessions = _CurrentSessions()
    try:
        _follow(iter(queue), sessions, sink, workers)
    except WorkersLostError:
        if not _starts_single():
            raise
        _pause(sessions, "its process died: continuing on Ray", sink, workers)
        for pack in sessions.training:
            sink.ended(pack, "paused")
        sink.flush()
    if sessions.left_to_ray:
        _turn_to_ray(workers)


def _follow(job_batches: Iterator[Mapping[str, Job]], sessions: _CurrentSessions, sink: Sink, workers: Workers) -> None:
    """Hand packs to the client and handle their events until the last has ended, or until they are drained."""
    client = _clients[-1]
    names = ("count", "address", "gpus", "cpu", "cpus", "labels", "stall", "stall_kill")
    options = {name: getattr(workers, name) for name in names}
    work = {"ask": "packs", "storage": str(workers.storage), "flag": workers.flag, "workers": options, **_plugins()}
    work |= {"seconds": SECONDS if HAS_RAY else math.inf}
    if not HAS_RAY and client not in _noticed:
        _noticed.append(client)
        sink.show_notice(f"one process trains all packs, as Ray is not installed. {INSTALL_RAY}")
    jobs = next(job_batches, None)
    # Closed explicitly, since a traceback may keep the generator alive for long.
    with closing(client.run(work | _packs_message(jobs))) as event_batches:
        for events in event_batches:
            for event in events:
                _handle_event(event, sessions, sink, workers)
            sink.flush()
            if jobs is not None and ((jobs := next(job_batches, None)) or jobs is None):
                client.send({"ask": "more"} | _packs_message(jobs))


def _pause(sessions: _CurrentSessions, why: str, sink: Sink, workers: Workers) -> None:
    """Pause packs that began in a single process, and say why they continue on Ray."""
    sessions.left_to_ray = True
    sink.show_notice(why)
    workers.drain()


def _plugins() -> dict[str, Any]:
    """Return the source of the plugins in use, which no other node has."""
    return {"plugins": [plugin.to_dict() for plugin in used_plugins()]}


def _train_here(key: str, job: Job, sink: Sink, workers: Workers) -> None:
    def emit(report: Report) -> None:
        sink.report(key, report)
        sink.flush()

    from longwave.platform.training.environment import use_threads  # torch

    sink.started(key, _slot_here(workers))
    with use_threads(workers.cpus):
        how = train_job(key, job, emit, workers)
    sink.ended(key, how)
    sink.flush()


def _packs_message(jobs: Mapping[str, Job] | None) -> dict[str, Any]:
    """Return the message that hands packs to the scheduler, and says whether they are the last."""
    return {"jobs": {key: job.to_dict() for key, job in (jobs or {}).items()}, "last": jobs is None}


def _handle_event(event: Mapping[str, Any], sessions: _CurrentSessions, sink: Sink, workers: Workers) -> None:
    pack = event.get("pack", "")
    if event["event"] == "notice":
        sink.show_notice(event["line"])
    elif event["event"] == "long":
        _pause(sessions, f"it takes more than {SECONDS:g} s of CPU time, so it continues on Ray", sink, workers)
    elif event["event"] == "started":
        sessions.training.add(pack)
        sink.started(pack, Slot(**event["slot"]))
    elif event["event"] == "ended":
        sessions.training.discard(pack)
        sink.ended(pack, event["how"], event["why"])
    elif event["event"] == "refused":
        raise WorkerError(event["why"])
    elif sessions.is_current(pack, event["session"]):
        sink.report(pack, Report.from_dict(event["report"]))


def find_nodes(workers: Workers) -> list[ClusterNode]:
    """Return the present nodes of the cluster; outside of ``running_workers``, or without Ray, this machine.

    Raises:
        WorkerError: As ``run_packs``.
    """
    if workers.here or not _clients:
        return [nodes_here(workers.cores)]
    try:
        nodes = _ask_for_nodes(workers)
    except WorkersLostError:
        if not _starts_single():
            raise
        nodes = []
    if _starts_single() and HAS_RAY and (not nodes or (nodes[0].gpus and not workers.cpu)):
        _turn_to_ray(workers)
        return _ask_for_nodes(workers)
    return nodes


def _ask_for_nodes(workers: Workers) -> list[ClusterNode]:
    request = {"ask": "nodes", "labels": dict(workers.labels)}
    with closing(_clients[-1].run(request, START_SECONDS)) as event_batches:
        answers = [event["nodes"] for events in event_batches for event in events]
    if not answers:
        raise WorkersLostError(f"Ray did not start within {START_SECONDS:g} seconds")
    return [ClusterNode(**node) for node in answers[0]]


def _starts_single() -> bool:
    """Return whether packs run in the single process in which a sweep begins."""
    return _clients[-1].scheduler == SINGLE


def _turn_to_ray(workers: Workers) -> None:
    """Replace the single process by Ray, which starts in the background.

    Raises:
        WorkerError: Ray is not installed.
    """
    if not HAS_RAY:
        raise WorkerError(f"The process that trained died, and Ray is not installed. {INSTALL_RAY}")
    _clients[-1].end()
    _clients[-1] = Client(workers)


def run_probes(
    packs: Sequence[tuple[str, Sequence[TrialConfig]]], workers: Workers, seconds: float | None = None
) -> Iterator[Probe]:
    """Yield the probes of packs, each of which has a device to itself; packs that fail are left out.

    Args:
        packs: Kinds of devices, each with the trials of a pack.
        workers: Those of ``running_workers``.
        seconds: Time limit; packs that are not probed by then are left out.

    Raises:
        WorkerError: As ``run_packs``.
    """
    if workers.here:
        from longwave.platform.training.environment import use_threads
        from longwave.platform.training.probe import probe

        for kind, configs in packs:
            with use_threads(workers.cpus):
                result = probe(configs, kind)
            yield result
        return
    probes = [{"kind": kind, "configs": [config.to_dict() for config in configs]} for kind, configs in packs]
    work = {"ask": "probes", "probes": probes, "labels": dict(workers.labels), **_plugins()}
    with closing(_clients[-1].run(work, seconds)) as event_batches:
        yield from (Probe(**event["probe"]) for events in event_batches for event in events)


def _slot_here(workers: Workers) -> Slot:
    pool = workers.device_pool(find_nodes(workers))
    return pool.take_slot(pool.whole_gpu) or Slot()


class _CurrentSessions:
    """The newest worker of each pack. Late reports of a worker that was replaced are ignored.

    Attributes:
        training: Packs that have a worker.
        left_to_ray: Whether they continue on Ray.
    """

    def __init__(self) -> None:
        self.training, self.left_to_ray = set[str](), False
        self.last: dict[str, str] = {}
        self.replaced: set[str] = set()

    def is_current(self, pack: str, session: str) -> bool:
        """Return whether a report of this session of the pack counts."""
        if session in self.replaced:
            return False
        if (previous := self.last.get(pack, session)) != session:
            self.replaced.add(previous)
        self.last[pack] = session
        return True


@contextmanager
def running_workers(workers: Workers, scheduler: str = SCHEDULER) -> Iterator[None]:
    """Run Ray inside the block, or share the one of an outer block.

    It starts in the background, while a sweep is planned; ``run_packs`` waits for it. ``scheduler`` is as in
    ``Client``.
    """
    if workers.here and workers.cpu:
        with _hidden_gpus():
            yield
        return
    if workers.here or _clients:
        yield
        return
    if not (HAS_RAY or workers.single_first):
        raise WorkerError(f"Several workers need Ray, which is not installed. {INSTALL_RAY}")
    _clients.append(Client(workers, SINGLE if workers.single_first else scheduler))
    try:
        yield
    finally:
        _clients.pop().end()


@contextmanager
def _hidden_gpus() -> Iterator[None]:
    """Hide all GPUs of this process from CUDA, which looks for them at its first use."""
    name = "CUDA_VISIBLE_DEVICES"
    before = os.environ.get(name)
    os.environ[name] = ""
    try:
        yield
    finally:
        del os.environ[name]
        os.environ |= {name: before} if before is not None else {}
