"""Check, before anything is trained, that a sweep's largest trials can fit the memory of this machine at all."""

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
"""Copies of the weights that training holds at least: weights, gradients, and one for the step."""
GIB = 2**30


def check_memory(sweep: Sweep, workers: Workers) -> Sweep:
    """Return the sweep if its trials may fit this machine's memory; that of a cluster is not known.

    The count is a lower bound, so that nothing is refused that might fit.

    Raises:
        ConfigError: A trial needs more.
    """
    available = inf if workers.address else _machine_bytes()
    for cell in sweep.cells:
        least = least_bytes(cell)
        if least > available:
            config = _largest_trial(cell)
            sizes = f"hidden {config.hidden:,} with batch {config.batch:,} and {cell.positions:,} places"
            need = f"takes at least {least / GIB:,.0f} GiB a trial, and this machine has {available / GIB:,.0f}"
            raise ConfigError(f"{sweep.file.name}: {cell.label}: {sizes} {need}. Make hidden or batch smaller.")
    return sweep


def least_bytes(cell: CellPlan) -> int:
    """Return a lower bound in bytes for the largest trial of a cell: its weights, and one output at each position."""
    config = _largest_trial(cell)
    task = get_task(config.task)
    weights = get_model(config.model).count(task.inputs, config.hidden, task.outputs, **config.options)
    return int((COPIES * weights + config.batch * cell.positions * config.hidden) * WIDTH[config.precision])


def _largest_trial(cell: CellPlan) -> TrialConfig:
    """Return a trial with the largest sizes that may be drawn."""
    largest = {d.name: int(d.most) for d in cell.space if d.name in ("hidden", "batch")}
    return replace(
        cell.base, hidden=largest.get("hidden", cell.base.hidden), batch=largest.get("batch", cell.base.batch)
    )


def _machine_bytes() -> float:
    """Return the machine's memory; twice that with GPUs, whose own may be larger."""
    import psutil

    from longwave.platform.training.environment import gpus

    return float(psutil.virtual_memory().total) * (2 if gpus() else 1)
