"""What a sweep's packs may go to, as found now; what no device of a kind has tried yet is tried there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from longwave.platform.records.probe import CPU
from longwave.platform.records.trial import TrialConfig
from longwave.platform.storage.probes import read_probes, write_probes
from longwave.platform.storage.store import Store
from longwave.platform.sweeps import executor
from longwave.platform.sweeps.fleet import Fleet
from longwave.platform.sweeps.probed import Probed
from longwave.platform.sweeps.workers import Workers


def fleet_of(workers: Workers, store: Store) -> Fleet:
    """Return what there is for packs inside ``running(workers)``, with what the store knows of it.

    Raises:
        WorkerError: There is no place, or as ``run_packs``.
    """
    room = workers.room(executor.machines(workers))
    return Fleet(room, workers.gpus, Probed(store.with_retry(lambda: read_probes(store))))


def tried(
    fleet: Fleet, configs: Sequence[TrialConfig], workers: Workers, store: Store, say: Callable[[str], None]
) -> Fleet:
    """Return the fleet that knows of these trials, too: what was probed nowhere is probed now, and kept.

    Args:
        fleet: As ``fleet_of`` returns it.
        configs: What is to be trained.
        workers: Those of ``running``.
        store: Where probes are kept.
        say: Told what takes a while.

    Raises:
        WorkerError: As ``run_packs``.
    """
    wanted = [*fleet.untried(configs)]
    if not wanted:
        return fleet
    say(f"tries {len(wanted)} packs for the memory and the time they take")
    found = [*executor.probes(wanted, workers)]
    store.with_retry(lambda: write_probes(store, found))
    say("")
    return fleet.knowing(store.with_retry(lambda: read_probes(store)))


def tries_first(fleet: Fleet, workers: Workers) -> bool:
    """Return whether a sweep tries its packs before it divides them: on GPUs whose share nobody gives.

    On cores an estimate of the memory does, and a pack takes one in any case.
    """
    return workers.gpus is None and any(kind != CPU for kind in fleet.room.kinds)
