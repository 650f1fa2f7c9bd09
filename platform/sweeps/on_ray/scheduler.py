"""The process that drives Ray: starts a node or joins a cluster, then runs packs on Tune as its driver asks."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ray

from longwave.platform.sweeps.workers import RESTARTS, Workers

LOOK_SECONDS = 0.2


def main(count: int, gpus: int | None, address: str | None, folder: str) -> None:
    """Read work from standard input, a JSON line each, and write what becomes of it to standard output.

    Args:
        count: Cores of a node on this machine.
        gpus: Its GPUs; by default all there are.
        address: Cluster to join in its place.
        folder: For files.
    """
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what others print goes to the log
    lock = threading.Lock()

    def say(event: dict[str, Any]) -> None:
        with lock:
            print(json.dumps(event), file=out, flush=True)

    threading.Thread(target=_load, daemon=True).start()
    try:
        _join(count, gpus, address, folder, say)
    except Exception as error:  # whatever Ray raises: the driver shall hear of it in a line
        where = f"at {address}" if address else "on this machine"
        text = str(error).strip().splitlines() or [type(error).__name__]
        say({"event": "lost", "why": f"No Ray {where}: {text[0]}"})
        raise
    for line in sys.stdin:
        work = json.loads(line)
        {"machines": _machines, "probes": _probe, "packs": _run}[work["ask"]](work, folder, say)
        say({"event": "finished"})


def _load() -> None:
    """Load what is needed later while others start."""
    import ray.tune  # noqa: F401


def _join(count: int, gpus: int | None, address: str | None, folder: str, say: Any) -> None:
    if address is None:
        from longwave.platform.sweeps.on_ray.node import start_node

        node = start_node(count, Path(folder), gpus=gpus)
        threading.Thread(target=_watch, args=(node, say), daemon=True).start()
        address = node.address
    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)


def _watch(node: Any, say: Any) -> None:
    """End this process, and with it all, when a process of the node has ended: it would wait a minute, then abort."""
    while not (dead := node.dead()):
        time.sleep(LOOK_SECONDS)
    say({"event": "lost", "why": f"Ray's {dead} died"})
    os._exit(1)


def _machines(work: dict[str, Any], folder: str, say: Any) -> None:
    from longwave.platform.sweeps.on_ray.cluster import machines

    say({"event": "machines", "machines": [asdict(machine) for machine in machines()]})


def _probe(work: dict[str, Any], folder: str, say: Any) -> None:
    from longwave.platform.sweeps.on_ray.probing import probe

    for found in probe(work["probes"]):
        say({"event": "probe", **found})


def _run(work: dict[str, Any], folder: str, say: Any) -> None:
    from ray import tune
    from ray.tune.execution import class_cache

    from longwave.platform.sweeps.on_ray.cluster import machines, resources
    from longwave.platform.sweeps.on_ray.listener import Listener, Queue, count_no_lost_node
    from longwave.platform.sweeps.on_ray.worker import work as train

    count_no_lost_node()
    logging.getLogger("ray.tune").setLevel(logging.ERROR)
    class_cache.DEFAULT_ENV_VARS.clear()  # with an environment of its own each worker would be started twice
    class_cache.ENV_VARS_TO_PROPAGATE.clear()
    own, jobs = Workers(storage=Path(work["storage"]), flag=work["flag"], **work["workers"]), work["jobs"]
    files, room = Path(folder) if not own.address else own.storage / "ray", own.room(machines())
    several = len(room.kinds) > 1
    tune.Tuner(
        tune.with_resources(
            tune.with_parameters(train, jobs=jobs, storage=work["storage"], flag=work["flag"]),
            resources(several),
        ),
        tune_config=tune.TuneConfig(
            search_alg=Queue({key: job["shares"] or room.whole for key, job in jobs.items()}, room, own.draining),
            num_samples=len(jobs),
            max_concurrent_trials=len(jobs),
            reuse_actors=True,
            trial_dirname_creator=lambda trial: trial.trial_id,
        ),
        run_config=tune.RunConfig(
            name=str(time.time_ns()),
            storage_path=str(files),
            verbose=0,
            callbacks=[Listener(say, (lambda: {m.kind for m in machines()}) if several else None)],
            failure_config=tune.FailureConfig(max_failures=RESTARTS),
        ),
    ).fit()


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
