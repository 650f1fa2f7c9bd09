"""Find the devices for a sweep's packs, and probe packs that are not known there yet."""

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
    """Return the devices for packs inside ``running_workers(workers)``, with the probes of the store.

    Raises:
        WorkerError: No pack fits; or as ``run_packs``.
    """
    pool = workers.device_pool(executor.find_nodes(workers))
    return Cluster(pool, workers.gpus, ProbeTable(store.with_retry(lambda: read_probes(store))))


def probe_missing(
    cluster: Cluster, configs: Sequence[TrialConfig], workers: Workers, store: Store, say: Callable[[str], None]
) -> Cluster:
    """Return the cluster with probes of these trials: missing ones are made now, and stored.

    Args:
        cluster: As ``find_cluster`` returns it.
        configs: What will be trained.
        workers: Those of ``running_workers``.
        store: Where probes are kept.
        say: Called with what takes a while.

    Raises:
        WorkerError: As ``run_packs``.
    """
    wanted = [*cluster.untried_packs(configs)]
    if not wanted:
        return cluster
    say(f"tries {len(wanted)} packs for the memory and the time they take")
    probes = [*executor.run_probes(wanted, workers)]
    store.with_retry(lambda: write_probes(store, probes))
    say("")
    return cluster.with_probes(store.with_retry(lambda: read_probes(store)))


def needs_probes(cluster: Cluster, workers: Workers) -> bool:
    """Return whether a sweep probes its packs before it divides them: on GPUs, unless their shares are given.

    On cores an estimate of the memory is enough, and a pack takes a core in any case.
    """
    return workers.gpus is None and any(kind != CPU for kind in cluster.pool.kinds)
