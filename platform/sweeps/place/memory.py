"""Whether a sweep's largest trials can fit the memory of this machine at all, asked before anything is trained."""

from __future__ import annotations

from dataclasses import replace
from math import inf

from longwave.platform.errors import ConfigError
from longwave.platform.records.trial import TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.sweeps.place.packing import WIDTH
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep

COPIES = 3
"""Of the weights in training at least: themselves, their gradients, and what torch holds of a step."""
GIB = 2**30


def check_memory(sweep: Sweep, workers: Workers) -> Sweep:
    """Return a sweep none of whose trials surely needs more memory than this machine has. A cluster's is not known.

    What is counted is less than any training takes, so that nothing is refused that might fit.

    Raises:
        ConfigError: One does.
    """
    room = inf if workers.address else _machine_bytes()
    for entry in sweep.entries:
        least = least_bytes(entry)
        if least > room:
            config = _largest_trial(entry)
            sizes = f"hidden {config.hidden:,} with batch {config.batch:,} and {entry.places:,} places"
            told = f"takes at least {least / GIB:,.0f} GiB a trial, and this machine has {room / GIB:,.0f}"
            raise ConfigError(f"{sweep.file.name}: {entry.label}: {sizes} {told}. Make hidden or batch smaller.")
    return sweep


def least_bytes(entry: CellPlan) -> int:
    """Return bytes that the largest trial of a cell takes at least: its weights, and one output a place."""
    config = _largest_trial(entry)
    task = get_task(config.task)
    weights = get_model(config.model).count(task.inputs, config.hidden, task.outputs, **config.options)
    return int((COPIES * weights + config.batch * entry.places * config.hidden) * WIDTH[config.precision])


def _largest_trial(entry: CellPlan) -> TrialConfig:
    """Return a trial of the largest sizes that may be drawn."""
    most = {d.name: int(d.most) for d in entry.space if d.name in ("hidden", "batch")}
    return replace(entry.base, hidden=most.get("hidden", entry.base.hidden), batch=most.get("batch", entry.base.batch))


def _machine_bytes() -> float:
    """Return the machine's memory; twice that with GPUs, whose own may be larger."""
    import psutil

    from longwave.platform.training.environment import gpus

    return float(psutil.virtual_memory().total) * (2 if gpus() else 1)
