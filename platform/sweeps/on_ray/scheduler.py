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

from longwave.platform.paths import to_path
from longwave.platform.processes import event_writer
from longwave.platform.sweeps.on_ray.stdin_queue import MorePacks, StdinQueue
from longwave.platform.sweeps.on_ray.versions import versions
from longwave.platform.sweeps.place.workers import RESTARTS, Workers

LOOK_SECONDS = 0.2


def main(cores: int, gpus: int | None, address: str | None, folder: str) -> None:
    """Read work from standard input, a JSON line each, and write what becomes of it to standard output.

    Args:
        cores: Of a node on this machine.
        gpus: Its GPUs; by default all there are.
        address: Cluster to join in its place.
        folder: For files.
    """
    say = event_writer()
    os.chdir(folder)  # a job's own folder is written anew when another node of this machine gets it
    threading.Thread(target=_load, daemon=True).start()
    try:
        _join(cores, gpus, address, folder, say)
    except Exception as error:  # whatever Ray raises: the driver shall hear of it in a line
        where = f"at {address}" if address else "on this machine"
        say({"event": "lost", "why": f"No Ray {where}: {_first_line(error)}"})
        raise
    known: dict[str, str] = {}
    inbox = StdinQueue()
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
    from longwave.platform.sweeps.on_ray.node_checks import unfit_nodes
    from longwave.platform.sweeps.on_ray.resources import usable_nodes_of

    found = usable_nodes_of(work["labels"], unfit_nodes(known))
    say({"event": "machines", "machines": [asdict(machine) for machine in found]})


def _probe(work: dict[str, Any], folder: str, known: dict[str, str], say: Any) -> None:
    from longwave.platform.sweeps.on_ray.node_checks import unfit_nodes
    from longwave.platform.sweeps.on_ray.probes import probe
    from longwave.platform.sweeps.on_ray.resources import label_selector

    for found in probe(work["probes"], label_selector(work["labels"], unfit_nodes(known)), work["plugins"]):
        say({"event": "probe", **found})


def _run(work: dict[str, Any], folder: str, known: dict[str, str], say: Any, more: MorePacks) -> None:
    from ray import tune
    from ray.tune.execution import class_cache

    from longwave.platform.sweeps.on_ray.listener import EventCallback, PackSearcher, ignore_lost_nodes
    from longwave.platform.sweeps.on_ray.node_checks import NodeChecks, unfit_nodes
    from longwave.platform.sweeps.on_ray.resources import placement_of_pack, usable_nodes_of
    from longwave.platform.sweeps.on_ray.worker import train_pack

    ignore_lost_nodes()
    logging.getLogger("ray.tune").setLevel(logging.ERROR)
    class_cache.DEFAULT_ENV_VARS.clear()  # with an environment of its own each worker would be started twice
    class_cache.ENV_VARS_TO_PROPAGATE.clear()
    own = Workers(storage=to_path(work["storage"]), flag=work["flag"], **work["workers"])
    address, nodes = own.address, NodeChecks(own, known, say)
    shared = {name: work[name] for name in ("storage", "flag", "plugins")} | {"driver": versions() if address else {}}
    with own.mark() if address else nullcontext():
        nodes.look()
        room = own.room(usable_nodes_of(own.labels, unfit_nodes(known)))
        several = len(room.kinds) > 1
        queue = PackSearcher(room, own.draining, lambda: unfit_nodes(known), more)
        queue.take(work)
        tune.Tuner(
            tune.with_resources(tune.with_parameters(train_pack, **shared), placement_of_pack(several, own.labels)),
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
                callbacks=[EventCallback(say, queue, nodes, nodes.kinds if several else None)],
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
