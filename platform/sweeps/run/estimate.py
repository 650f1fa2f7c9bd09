"""Find the devices for a sweep's packs, probe packs that have no probe there, and estimate the cost of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import chain, cycle, islice

from longwave.platform.errors import NoStoreError
from longwave.platform.paths import home, store_url
from longwave.platform.records.probe import CPU, Probe
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.probes import read_probes, write_probes
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.cluster import Cluster, ProbeTable, SweepEstimate, estimate_stages, like_retrainings
from longwave.platform.sweeps.place.devices import describe_pool
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.trials import first_trials
from longwave.platform.sweeps.run import executor
from longwave.platform.sweeps.run.queue import divide_new_trials
from longwave.platform.wording import describe_count


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
        say: Called with a line about anything that takes a while.

    Raises:
        WorkerError: As ``run_packs``.
    """
    untried = [*cluster.untried_packs(configs)]
    if not untried:
        return cluster
    say(f"measuring the memory and time of {describe_count(len(untried), 'pack')}")
    probes = [*executor.run_probes(untried, workers)]
    store.with_retry(lambda: write_probes(store, probes))
    say("")
    return cluster.with_probes(store.with_retry(lambda: read_probes(store)))


def needs_probes(cluster: Cluster, workers: Workers) -> bool:
    """Return whether a sweep probes its packs before it divides them: on GPUs, unless their shares are set.

    On cores an estimate of the memory is enough, and a pack takes one core in any case.
    """
    return workers.gpus is None and any(kind != CPU for kind in cluster.pool.kinds)


def describe_devices_here(workers: Workers) -> str:
    """Return the devices of this machine for packs, in words."""
    return describe_pool(workers.device_pool(executor.find_nodes(workers)))


def estimate_sweep(
    sweep: Sweep, workers: Workers, store: str | None, probe: bool, say: Callable[[str], None]
) -> tuple[Cluster, SweepEstimate]:
    """Return the devices for a sweep, and an estimate of all of it there from the probes in the store.

    Args:
        sweep: As ``resolve`` returns it.
        workers: How it would be run.
        store: URL of the store of probes.
        probe: Make and store missing probes.
        say: Called with a line about anything that takes a while.

    Raises:
        WorkerError: As ``run_packs``.
    """
    asks_ray = workers.address or probe
    with executor.running_workers(replace(workers, single_first=False)) if asks_ray else nullcontext():
        cluster = Cluster(workers.device_pool(executor.find_nodes(workers)), workers.gpus)
        if probe:
            with Store(store_url(store)) as probe_store:
                cluster = probe_missing(
                    cluster.with_probes(read_probes(probe_store)),
                    [*chain(*first_trials(sweep))],
                    workers,
                    probe_store,
                    say,
                )
        else:
            cluster = cluster.with_probes(_stored_probes(store))
    return cluster, _estimate(sweep, cluster)


QUICK_SECONDS = 40.0
"""Seconds that quick probes take at most."""


def estimate_quickly(
    sweep: Sweep, workers: Workers, store: str | None, say: Callable[[str], None]
) -> tuple[Cluster, SweepEstimate]:
    """Return what ``estimate_sweep`` does, within a minute, on this machine.

    Packs without a stored probe train for two steps, the largest first. Nothing is stored.
    """
    cluster = Cluster(workers.device_pool(executor.find_nodes(workers)), workers.gpus)
    stored = _stored_probes(store)
    cluster = cluster.with_probes(stored)
    untried = cluster.untried_packs([*chain(*first_trials(sweep))])
    if packs := sorted(untried, key=lambda pack: -len(pack[1])):
        say(f"Timing {describe_count(len(packs), 'pack')} for two steps each")
        single = replace(workers, single_first=True)
        with executor.running_workers(single):
            new_probes = [*executor.run_probes(packs, single, QUICK_SECONDS)]
        cluster = cluster.with_probes([*stored, *new_probes])
    return cluster, _estimate(sweep, cluster)


def _stored_probes(store: str | None) -> list[Probe]:
    """Return the probes of a store; none if it does not exist. Nothing is created, not even its folder."""
    if store is None and not home().exists():
        return []
    with suppress(NoStoreError), Store(store_url(store), create=False) as probe_store:
        return read_probes(probe_store)
    return []


def _estimate(sweep: Sweep, cluster: Cluster) -> SweepEstimate:
    return estimate_stages(cluster, [divide_new_trials(sweep, cluster, stage) for stage in planned_stages(sweep)])


def planned_stages(sweep: Sweep) -> list[Sequence[TrialConfig]]:
    """Return trials like those of each round, second search, race and retraining, before they are planned."""
    file, first = sweep.file, first_trials(sweep)
    rounds: list[Sequence[TrialConfig]] = [[*chain(*first)]] * (file.rounds if file.trials else 0)
    second = [config for trials in first for config in islice(cycle(trials), file.searched - file.trials)]
    later = [
        [config for trials in first for config in like_retrainings(trials, count)]
        for count in (file.raced, file.retrain)
    ]
    return [stage for stage in (*rounds, second, *later) if stage]
