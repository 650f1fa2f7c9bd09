"""What a sweep's packs may go to, as found now; what no device of a kind has tried yet is tried there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from longwave.platform.records.probe import CPU
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.probes import read_probes, write_probes
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.cluster import Cluster
from longwave.platform.sweeps.place.probes import ProbeTable
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.run import executor


def find_cluster(workers: Workers, store: Store) -> Cluster:
    """Return what there is for packs inside ``running_workers(workers)``, with what the store knows of it.

    Raises:
        WorkerError: There is no place, or as ``run_packs``.
    """
    room = workers.room(executor.find_nodes(workers))
    return Cluster(room, workers.gpus, ProbeTable(store.with_retry(lambda: read_probes(store))))


def probe_missing(
    cluster: Cluster, configs: Sequence[TrialConfig], workers: Workers, store: Store, say: Callable[[str], None]
) -> Cluster:
    """Return the cluster that knows of these trials, too: what was probed nowhere is probed now, and kept.

    Args:
        cluster: As ``find_cluster`` returns it.
        configs: What is to be trained.
        workers: Those of ``running_workers``.
        store: Where probes are kept.
        say: Told what takes a while.

    Raises:
        WorkerError: As ``run_packs``.
    """
    wanted = [*cluster.untried(configs)]
    if not wanted:
        return cluster
    say(f"tries {len(wanted)} packs for the memory and the time they take")
    found = [*executor.run_probes(wanted, workers)]
    store.with_retry(lambda: write_probes(store, found))
    say("")
    return cluster.knowing(store.with_retry(lambda: read_probes(store)))


def needs_probes(cluster: Cluster, workers: Workers) -> bool:
    """Return whether a sweep tries its packs before it divides them: on GPUs whose share nobody gives.

    On cores an estimate of the memory does, and a pack takes one in any case.
    """
    return workers.gpus is None and any(kind != CPU for kind in cluster.room.kinds)
