"""The process that drives Ray: starts a node or joins a cluster, then runs packs on Tune as its driver asks."""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import ray

from longwave.platform.paths import place
from longwave.platform.sweeps.on_ray.inbox import Inbox, More, outbox
from longwave.platform.sweeps.versions import versions
from longwave.platform.sweeps.workers import RESTARTS, Workers

LOOK_SECONDS = 0.2


def main(cores: int, gpus: int | None, address: str | None, folder: str) -> None:
    """Read work from standard input, a JSON line each, and write what becomes of it to standard output.

    Args:
        cores: Of a node on this machine.
        gpus: Its GPUs; by default all there are.
        address: Cluster to join in its place.
        folder: For files.
    """
    say = outbox()
    os.chdir(folder)  # a job's own folder is written anew when another node of this machine gets it
    threading.Thread(target=_load, daemon=True).start()
    try:
        _join(cores, gpus, address, folder, say)
    except Exception as error:  # whatever Ray raises: the driver shall hear of it in a line
        where = f"at {address}" if address else "on this machine"
        say({"event": "lost", "why": f"No Ray {where}: {_first_line(error)}"})
        raise
    known: dict[str, str] = {}
    inbox = Inbox()
    act: dict[str, Callable[..., None]]
    act = {"machines": _machines, "probes": _probe, "packs": partial(_run, more=inbox.more)}
    for work in inbox:
        try:
            act[work["ask"]](work, folder, known, say)
        except Exception as error:
            say({"event": "lost", "why": f"Ray's scheduler ended with {type(error).__name__}: {_first_line(error)}"})
            raise
        say({"event": "finished"})


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _load() -> None:
    """Load what is needed later while others start."""
    import ray.tune  # noqa: F401


def _join(cores: int, gpus: int | None, address: str | None, folder: str, say: Any) -> None:
    if address is None:
        from longwave.platform.sweeps.on_ray.node import start_node

        node = start_node(cores, Path(folder), gpus=gpus)
        threading.Thread(target=_watch, args=(node, say), daemon=True).start()
        address = node.address
    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)


def _watch(node: Any, say: Any) -> None:
    """End this process, and with it all, when a process of the node has ended: it would wait a minute, then abort."""
    while not (dead := node.dead()):
        time.sleep(LOOK_SECONDS)
    say({"event": "lost", "why": f"Ray's {dead} died"})
    os._exit(1)


def _machines(work: dict[str, Any], folder: str, known: dict[str, str], say: Any) -> None:
    from longwave.platform.sweeps.on_ray.cluster import machines
    from longwave.platform.sweeps.on_ray.nodes import unfit

    found = machines(work["labels"], unfit(known))
    say({"event": "machines", "machines": [asdict(machine) for machine in found]})


def _probe(work: dict[str, Any], folder: str, known: dict[str, str], say: Any) -> None:
    from longwave.platform.sweeps.on_ray.cluster import selector
    from longwave.platform.sweeps.on_ray.nodes import unfit
    from longwave.platform.sweeps.on_ray.probing import probe

    for found in probe(work["probes"], selector(work["labels"], unfit(known)), work["plugins"]):
        say({"event": "probe", **found})


def _run(work: dict[str, Any], folder: str, known: dict[str, str], say: Any, more: More) -> None:
    from ray import tune
    from ray.tune.execution import class_cache

    from longwave.platform.sweeps.on_ray.cluster import machines, resources
    from longwave.platform.sweeps.on_ray.listener import Listener, Queue, count_no_lost_node
    from longwave.platform.sweeps.on_ray.nodes import Nodes, unfit
    from longwave.platform.sweeps.on_ray.worker import work as train

    count_no_lost_node()
    logging.getLogger("ray.tune").setLevel(logging.ERROR)
    class_cache.DEFAULT_ENV_VARS.clear()  # with an environment of its own each worker would be started twice
    class_cache.ENV_VARS_TO_PROPAGATE.clear()
    own = Workers(storage=place(work["storage"]), flag=work["flag"], **work["workers"])
    address, nodes = own.address, Nodes(own, known, say)
    shared = {name: work[name] for name in ("storage", "flag", "plugins")} | {"driver": versions() if address else {}}
    with own.mark() if address else nullcontext():
        nodes.look()
        room = own.room(machines(own.labels, unfit(known)))
        several = len(room.kinds) > 1
        queue = Queue(room, own.draining, lambda: unfit(known), more)
        queue.take(work)
        tune.Tuner(
            tune.with_resources(tune.with_parameters(train, **shared), resources(several, own.labels)),
            tune_config=tune.TuneConfig(
                search_alg=queue,
                num_samples=-1,  # the queue knows when it is over
                max_concurrent_trials=sys.maxsize,  # there are as many as the queue has places
                reuse_actors=True,
                trial_dirname_creator=lambda trial: trial.trial_id,
            ),
            run_config=tune.RunConfig(
                name=str(time.time_ns()),
                verbose=0,
                callbacks=[Listener(say, queue, nodes, nodes.kinds if several else None)],
                failure_config=tune.FailureConfig(max_failures=RESTARTS),
                **_files(own, folder),
            ),
        ).fit()


def _files(own: Workers, folder: str) -> dict[str, Any]:
    """Return where Tune keeps files of its own: on a cluster a place that all nodes see, or it refuses to start."""
    if own.address is None:
        return {"storage_path": folder}
    if isinstance(own.storage, Path):
        return {"storage_path": str(own.storage / "ray")}
    from pyarrow.fs import FSSpecHandler, PyFileSystem  # type: ignore[import-untyped]

    far = own.storage / "ray"
    return {"storage_path": far.path, "storage_filesystem": PyFileSystem(FSSpecHandler(far.fs))}


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
