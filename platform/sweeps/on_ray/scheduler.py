"""The process that drives Ray: starts a node or joins a cluster, then runs packs on Tune as its driver requests."""

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

from longwave.platform.errors import first_line
from longwave.platform.paths import to_path
from longwave.platform.processes import event_writer, give_niceness_to_session
from longwave.platform.sweeps.on_ray.messages import MorePacks, StdinQueue
from longwave.platform.sweeps.on_ray.versions import versions
from longwave.platform.sweeps.place.workers import RESTARTS, Workers

LOOK_SECONDS = 0.2


def main(cores: int, gpus: int | None, address: str | None, folder: str) -> None:
    """Read requests from standard input, a JSON line each, and write their events to standard output.

    Args:
        cores: Cores of a node on this machine.
        gpus: Number of its GPUs; by default all.
        address: Cluster to join instead.
        folder: Folder of its files.
    """
    send = event_writer()
    give_niceness_to_session()  # the driver began one for Ray
    os.chdir(folder)  # a job's working directory is rewritten when another node of this machine gets it
    threading.Thread(target=_preload, daemon=True).start()
    try:
        _start_or_join(cores, gpus, address, folder, send)
    except Exception as error:  # whatever Ray raises: the driver shows it in one line
        where = f"at {address}" if address else "on this machine"
        send({"event": "lost", "why": f"No Ray {where}: {describe_error(error)}"})
        raise
    refusals: dict[str, str] = {}
    stdin_queue = StdinQueue()
    handlers: dict[str, Callable[..., None]]
    handlers = {"nodes": _report_nodes, "probes": _run_probes, "packs": partial(_run_packs, more=stdin_queue.read_more)}
    for work in stdin_queue:
        try:
            handlers[work["ask"]](work, folder, refusals, send)
        except Exception as error:
            cause = f"{type(error).__name__}: {describe_error(error)}"
            send({"event": "lost", "why": f"Ray's scheduler ended with {cause}"})
            raise
        send({"event": "finished"})


def describe_error(error: Exception) -> str:
    """Return an error in one line: the first of its text, or the last if it is a traceback."""
    first = first_line(error)
    return str(error).strip().splitlines()[-1].strip() if first.startswith("Traceback ") else first


def _preload() -> None:
    """Import what is needed later while Ray's processes start."""
    import ray.tune  # noqa: F401


def _start_or_join(cores: int, gpus: int | None, address: str | None, folder: str, send: Any) -> None:
    if address is None:
        from longwave.platform.sweeps.on_ray.bare_node import start_node

        node = start_node(cores, Path(folder), gpus=gpus)
        threading.Thread(target=_watch_node, args=(node, send), daemon=True).start()
        address = node.address
    ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)


def _watch_node(node: Any, send: Any) -> None:
    """End this process when one of the node's processes has ended: Ray would wait a minute and then abort."""
    while not (dead := node.dead()):
        time.sleep(LOOK_SECONDS)
    send({"event": "lost", "why": f"Ray's {dead} died"})
    os._exit(1)


def _report_nodes(work: dict[str, Any], folder: str, refusals: dict[str, str], send: Any) -> None:
    from longwave.platform.sweeps.on_ray.nodes import unfit_nodes, usable_nodes_of

    nodes = usable_nodes_of(work["labels"], unfit_nodes(refusals))
    send({"event": "nodes", "nodes": [asdict(node) for node in nodes]})


def _run_probes(work: dict[str, Any], folder: str, refusals: dict[str, str], send: Any) -> None:
    from longwave.platform.sweeps.on_ray.nodes import label_selector, unfit_nodes
    from longwave.platform.sweeps.on_ray.worker import probe_packs

    for result in probe_packs(work["probes"], label_selector(work["labels"], unfit_nodes(refusals)), work["plugins"]):
        send({"event": "probe", **result})


def _run_packs(work: dict[str, Any], folder: str, refusals: dict[str, str], send: Any, more: MorePacks) -> None:
    from ray import tune
    from ray.tune.execution import class_cache

    from longwave.platform.sweeps.on_ray.listener import (
        DrainStopper,
        EventCallback,
        PackSearcher,
        ignore_lost_nodes,
        restart_workers_killed_for_memory,
    )
    from longwave.platform.sweeps.on_ray.nodes import NodeChecks, placement_of_pack, unfit_nodes, usable_nodes_of
    from longwave.platform.sweeps.on_ray.worker import train_pack

    ignore_lost_nodes()
    restart_workers_killed_for_memory()
    logging.getLogger("ray.tune").setLevel(logging.ERROR)
    class_cache.DEFAULT_ENV_VARS.clear()  # with its own environment variables each worker would be started twice
    class_cache.ENV_VARS_TO_PROPAGATE.clear()
    workers = Workers(storage=to_path(work["storage"]), flag=work["flag"], **work["workers"])
    address, nodes = workers.address, NodeChecks(workers, refusals, send)
    shared = {name: work[name] for name in ("storage", "flag", "plugins")} | {"driver": versions() if address else {}}
    shared |= {"stalls": {"stall": workers.stall, "stall_kill": workers.stall_kill}}
    with workers.marked_storage() if address else nullcontext():
        nodes.check_new_nodes()
        pool = workers.device_pool(usable_nodes_of(workers.labels, unfit_nodes(refusals)))
        several = len(pool.kinds) > 1
        queue = PackSearcher(pool, workers.draining, lambda: unfit_nodes(refusals), more)
        queue.add_packs(work)
        callback = EventCallback(send, queue, nodes, nodes.kinds if several else None)
        tune.Tuner(
            tune.with_resources(tune.with_parameters(train_pack, **shared), placement_of_pack(several, workers.labels)),
            tune_config=tune.TuneConfig(
                search_alg=queue,
                num_samples=-1,  # unlimited: the queue ends the run
                max_concurrent_trials=sys.maxsize,  # unlimited: the queue has a slot for each
                reuse_actors=True,
                trial_dirname_creator=lambda trial: trial.trial_id,
            ),
            run_config=tune.RunConfig(
                name=str(time.time_ns()),
                verbose=0,
                callbacks=[callback],
                stop=DrainStopper(workers.draining, callback),
                failure_config=tune.FailureConfig(max_failures=RESTARTS),
                **_memory_storage(),
            ),
        ).fit()


def _memory_storage() -> dict[str, Any]:
    """Return where Tune keeps its own files, which nobody reads: in memory, so that a full disk does not end a sweep.

    Nor would Tune start on a cluster with a folder that not all nodes share.
    """
    from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]
    from pyarrow.fs import FSSpecHandler, PyFileSystem  # type: ignore[import-untyped]

    return {"storage_path": "/tune", "storage_filesystem": PyFileSystem(FSSpecHandler(MemoryFileSystem()))}


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
