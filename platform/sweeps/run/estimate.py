"""Estimate where the packs of a sweep that is not planned yet would go, and how long it would take there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from itertools import chain, cycle, islice
from pathlib import Path

from longwave.platform.paths import store_url
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.probes import read_probes
from longwave.platform.storage.store import Store
from longwave.platform.sweeps.place.cluster import Cluster
from longwave.platform.sweeps.place.devices import describe_pool
from longwave.platform.sweeps.place.estimate import SweepEstimate, estimate_stages, like_retrainings
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.cells import Sweep
from longwave.platform.sweeps.plan.trials import first_trials
from longwave.platform.sweeps.run import executor
from longwave.platform.sweeps.run.probing import probe_missing
from longwave.platform.sweeps.run.queue import divide_new_trials


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
        probe: Probe what is not known yet, and store the results.
        say: Called with what takes a while.

    Raises:
        WorkerError: As ``run_packs``.
    """
    asks_ray = workers.address or probe
    with executor.running_workers(replace(workers, single_first=False)) if asks_ray else nullcontext():
        cluster = Cluster(workers.device_pool(executor.find_nodes(workers)), workers.gpus)
        if probe:
            with Store(store_url(store)) as known:
                cluster = probe_missing(
                    cluster.with_probes(read_probes(known)), [*chain(*first_trials(sweep))], workers, known, say
                )
        elif store or Path(store_url(None).removeprefix("sqlite:///")).exists():
            with Store(store_url(store), create=False) as known:
                cluster = cluster.with_probes(read_probes(known))
    return cluster, estimate_stages(
        cluster, [divide_new_trials(sweep, cluster, stage) for stage in planned_stages(sweep)]
    )


def planned_stages(sweep: Sweep) -> list[Sequence[TrialConfig]]:
    """Return trials like those of each round, of the second search, and of the retrainings, before they are planned."""
    file, first = sweep.file, first_trials(sweep)
    rounds: list[Sequence[TrialConfig]] = [[*chain(*first)]] * (file.rounds if file.trials else 0)
    second = [config for mine in first for config in islice(cycle(mine), file.searched - file.trials)]
    retrainings = [config for mine in first for config in like_retrainings(mine, file.retrain)]
    return [stage for stage in (*rounds, second, retrainings) if stage]
