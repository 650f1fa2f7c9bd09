"""What a sweep that is not planned yet would be placed on, and would take there."""

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
from longwave.platform.sweeps import executor
from longwave.platform.sweeps.entry import Sweep
from longwave.platform.sweeps.fleet import Fleet
from longwave.platform.sweeps.forecast import Expected, expect, in_retraining
from longwave.platform.sweeps.jobs import divided
from longwave.platform.sweeps.placement import told
from longwave.platform.sweeps.plan import first
from longwave.platform.sweeps.trying import tried
from longwave.platform.sweeps.workers import Workers


def here(workers: Workers) -> str:
    """Return what packs would go to on this machine, in words."""
    return told(workers.room(executor.machines(workers)))


def expected(
    sweep: Sweep, workers: Workers, store: str | None, probe: bool, say: Callable[[str], None]
) -> tuple[Fleet, Expected]:
    """Return what there is for a sweep, and what all of it is expected to take there, as far as probes tell.

    Args:
        sweep: As ``resolve`` returns it.
        workers: How it would be run.
        store: URL of the store of probes.
        probe: Try what nothing is known of, and keep what is found.
        say: Told what takes a while.

    Raises:
        WorkerError: As ``run_packs``.
    """
    asks_ray = workers.address or probe
    with executor.running(replace(workers, single_first=False)) if asks_ray else nullcontext():
        fleet = Fleet(workers.room(executor.machines(workers)), workers.gpus)
        if probe:
            with Store(store_url(store)) as known:
                fleet = tried(fleet.knowing(read_probes(known)), [*chain(*first(sweep))], workers, known, say)
        elif store or Path(store_url(None).removeprefix("sqlite:///")).exists():
            with Store(store_url(store), create=False) as known:
                fleet = fleet.knowing(read_probes(known))
    return fleet, expect(fleet, [divided(sweep, fleet, stage) for stage in stages(sweep)])


def stages(sweep: Sweep) -> list[Sequence[TrialConfig]]:
    """Return trials like those of each round, of the second search, and of the retrainings, which are not known yet."""
    file, begins = sweep.file, first(sweep)
    rounds: list[Sequence[TrialConfig]] = [[*chain(*begins)]] * (file.rounds if file.trials else 0)
    second = [config for mine in begins for config in islice(cycle(mine), file.searched - file.trials)]
    again = [config for mine in begins for config in in_retraining(mine, file.retrain)]
    return [stage for stage in (*rounds, second, again) if stage]
