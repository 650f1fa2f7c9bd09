"""A process that trains packs one after another, without Ray. A short sweep is over in it before Ray would be ready.

It takes and gives the same lines as the scheduler, in whose place the supervisor starts it.
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

from longwave.platform.paths import to_path
from longwave.platform.plugins.known import pin_plugins
from longwave.platform.plugins.plugin import Plugin
from longwave.platform.processes import WriteEvent, event_writer
from longwave.platform.records.report import Ending, Report
from longwave.platform.sweeps.on_ray.report_buffer import ReportBuffer
from longwave.platform.sweeps.on_ray.stdin_queue import MorePacks, StdinQueue
from longwave.platform.sweeps.place.devices import Slot
from longwave.platform.sweeps.place.workers import Job, Workers, nodes_here, train_job

LOOK_SECONDS = 0.1
"""How often it is looked whether training takes long."""


def main(cores: int, gpus: int | None, address: None, folder: str) -> None:
    """Read work from standard input, a JSON line each, and write what becomes of it to standard output.

    Args:
        cores: Of this machine.
        address: None; a cluster has the scheduler.
        gpus: 0 leaves the GPUs of this machine alone.
        folder: For files.
    """
    say = event_writer()
    os.chdir(folder)
    if gpus == 0:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    _load()
    inbox, loaded = StdinQueue(), time.process_time()
    for work in inbox:
        if work["ask"] == "machines":
            say({"event": "machines", "machines": [asdict(nodes_here(cores))]})
        else:
            with _pausing_when_long(loaded + work["seconds"], say):
                _train(work, inbox.more, say)
        say({"event": "finished"})


def _load() -> None:
    """Load what a pack needs, and find out what is the same of each, while the driver plans."""
    from longwave.platform.training import environment, train  # noqa: F401

    environment.keep_to(Slot().cpus)
    environment.describe()


@contextmanager
def _pausing_when_long(limit: float, say: WriteEvent) -> Iterator[None]:
    """Tell the driver once this process has taken more seconds of processor than ``limit``, as seen inside the block.

    On a machine that is busy otherwise Ray would take longer to start, too.
    """
    over = threading.Event()

    def watch() -> None:
        while time.process_time() < limit:
            if over.wait(LOOK_SECONDS):
                return
        say({"event": "long"})

    watching = threading.Thread(target=watch, name="watch", daemon=True)
    watching.start()
    yield
    over.set()
    watching.join()  # what it says belongs to this work


def _train(work: Mapping[str, Any], more: MorePacks, say: WriteEvent) -> None:
    """Train the packs that the driver hands out, in what it asked and with ``more``, and say what becomes of them."""
    own = Workers(storage=to_path(work["storage"]), flag=work["flag"], **work["workers"])
    pin_plugins(map(Plugin.from_dict, work["plugins"]))
    jobs, last = dict(work["jobs"]), work["last"]
    while jobs or not last:
        for told in more(wait=not jobs):
            jobs |= told["jobs"]
            last = told["last"]
        if own.draining():
            break
        if jobs:
            key = next(iter(jobs))
            say({"event": "started", "pack": key, "place": asdict(Slot())})
            say({"event": "ended", "pack": key, "how": _train_pack(key, jobs.pop(key), own, say), "why": ""})


def _train_pack(key: str, job: Mapping[str, Any], own: Workers, say: WriteEvent) -> Ending:
    session = secrets.token_hex(8)

    def send(report: Report) -> None:
        say({"event": "report", "pack": key, "session": session, "report": report.to_dict()})

    gathered = ReportBuffer(send)
    how = train_job(key, Job.from_dict(job), gathered, own)
    send(gathered.rest())
    return how


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
