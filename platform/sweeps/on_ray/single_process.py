"""A process that trains packs one after another, without Ray. A short sweep is over before Ray would be ready.

The supervisor starts it instead of the scheduler, and it reads and writes the same messages.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from longwave.platform.errors import WorkerError
from longwave.platform.paths import to_path
from longwave.platform.plugins.known import pin_plugins
from longwave.platform.plugins.plugin import Plugin
from longwave.platform.processes import WriteEvent, event_writer
from longwave.platform.records.report import Ending, Report
from longwave.platform.records.trial import TrialConfig
from longwave.platform.redaction import make_logger
from longwave.platform.sweeps.on_ray.messages import MorePacks, ReportBuffer, StdinQueue
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.workers import Job, Workers, nodes_here, train_job

LOG = make_logger(__name__)
LOOK_SECONDS = 0.1
"""Interval of the check whether training takes long."""


def main(cores: int, gpus: int | None, address: None, folder: str) -> None:
    """Read requests from standard input, a JSON line each, and write their events to standard output.

    Args:
        cores: Cores of this machine.
        address: None; a cluster needs the scheduler.
        gpus: With 0 the GPUs of this machine are hidden.
        folder: Folder of its files.
    """
    send = event_writer()
    os.chdir(folder)
    if gpus == 0:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    _preload()
    stdin_queue, loaded = StdinQueue(), time.process_time()
    for work in stdin_queue:
        if work["ask"] == "nodes":
            send({"event": "nodes", "nodes": [asdict(nodes_here(cores))]})
        elif work["ask"] == "probes":
            _probe_packs(work, send)
        else:
            with _pausing_when_long(loaded + work["seconds"], send):
                _train_packs(work, stdin_queue.read_more, send)
        send({"event": "finished"})


def _preload() -> None:
    """Import what a pack needs, and describe the environment, while the driver plans."""
    from longwave.platform.training import environment, train  # noqa: F401

    environment.keep_to(Slot().cpus)
    environment.describe()


@contextmanager
def _pausing_when_long(limit: float, send: WriteEvent) -> Iterator[None]:
    """Notify the driver if this process exceeds ``limit`` CPU seconds inside the block.

    It is CPU time, since on a busy machine Ray would also take longer to start.
    """
    over = threading.Event()

    def watch() -> None:
        while time.process_time() < limit:
            if over.wait(LOOK_SECONDS):
                return
        send({"event": "long"})

    thread = threading.Thread(target=watch, name="watch", daemon=True)
    thread.start()
    yield
    over.set()
    thread.join()  # before the request ends, since its event belongs to it


def _probe_packs(work: Mapping[str, Any], send: WriteEvent) -> None:
    """Probe packs quickly, one after another, and send the results; packs that fail are left out."""
    from longwave.platform.training.probe import probe

    pin_plugins(map(Plugin.from_dict, work["plugins"]))
    for pack in work["probes"]:
        try:
            result = probe([TrialConfig.from_dict(config) for config in pack["configs"]], pack["kind"], quick=True)
        except Exception as error:  # whatever the training raises: the pack will report it when it runs
            LOG.warning("A pack could not be probed: %s", error)
        else:
            send({"event": "probe", "probe": asdict(result)})


def _train_packs(work: Mapping[str, Any], more: MorePacks, send: WriteEvent) -> None:
    """Train the packs that the driver hands out, in ``work`` and later by ``more``, and send their events."""
    workers = Workers(storage=to_path(work["storage"]), flag=work["flag"], **work["workers"])
    pin_plugins(map(Plugin.from_dict, work["plugins"]))
    jobs, last = dict(work["jobs"]), work["last"]
    while jobs or not last:
        for message in more(wait=not jobs):
            jobs |= message["jobs"]
            last = message["last"]
        if workers.draining():
            break
        if jobs:
            key = next(iter(jobs))
            send({"event": "started", "pack": key, "slot": asdict(Slot())})
            try:
                how = _train_pack(key, jobs.pop(key), workers, send)
            except WorkerError as error:  # another process would fail in the same way
                send({"event": "refused", "why": str(error)})
                break
            send({"event": "ended", "pack": key, "how": how, "why": ""})


def _train_pack(key: str, job: Mapping[str, Any], workers: Workers, send: WriteEvent) -> Ending:
    session = secrets.token_hex(8)

    def send_report(report: Report) -> None:
        send({"event": "report", "pack": key, "session": session, "report": report.to_dict()})

    buffer = ReportBuffer(send_report)
    how = train_job(key, Job.from_dict(job), buffer, workers)
    send_report(buffer.take_unsent())
    return how


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
