"""Divides trials into packs, and checks that the largest trials fit the memory of this machine at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from math import inf
from typing import Literal

from longwave.platform.errors import ConfigError
from longwave.platform.records.identity import digest
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.place.workers import Workers
from longwave.platform.sweeps.plan.cells import CellPlan, Sweep

TENSORS_PER_POSITION = 24
"""Tensors of a state's size that autograd keeps for each position of an example, such as a step of a sequence."""
WIDTH = {"float32": 4, "float64": 8, "bfloat16": 4}
"""Bytes per number; for bfloat16 an upper bound, since outputs, adjoints and weights are still float32."""


def pack_key(configs: Sequence[TrialConfig]) -> str:
    """Return a pack's identity: a hash of its trials."""
    return digest([c.id for c in configs])


def member_bytes(config: TrialConfig, positions: int, numbers: int) -> int:
    """Return an estimate of the memory one member needs in training.

    Args:
        config: The member's trial.
        positions: Positions of an example at which the layer keeps a state.
        numbers: Numbers that training keeps of an example in addition to those states.
    """
    features = config.hidden
    if config.options.get("block", "none") != "none":
        features = int(config.options.get("depth", 1)) * (features + (config.width or features))
    return config.batch * (positions * features * TENSORS_PER_POSITION + numbers) * WIDTH[config.precision]


def trial_bytes(sweep: Sweep, config: TrialConfig) -> int:
    """Return an estimate of the memory that a trial of a sweep needs in training."""
    cell = next(cell for cell in sweep.cells if cell.base.task == config.task)
    return member_bytes(config, cell.positions, cell.other_numbers)


def largest_pack(trials: int, workers: int, size: int | Literal["auto"], fitting: int) -> int:
    """Return how many of ``trials`` a pack may hold if ``fitting`` fit; ``workers`` and ``size`` as below."""
    return size if size != "auto" else max(1, min(math.ceil(trials / workers), fitting))


def divide_into_packs(
    trials: Sequence[TrialConfig],
    workers: int,
    size: int | Literal["auto"],
    bytes_of: Callable[[TrialConfig], int],
    memory: int,
    looped: Collection[str] = (),
    together: bool = True,
    measured: Callable[[TrialConfig], int | None] = lambda _: None,
) -> dict[str, list[TrialConfig]]:
    """Return packs by key, in the trials' order; each pack holds trials of one shape.

    Args:
        trials: What to train.
        workers: Packs that train at a time.
        size: Greatest number of trials in a pack. ``"auto"`` divides all trials over the workers and stays within
            ``memory``; trials of a model that gains nothing from larger packs are divided by themselves.
        bytes_of: Returns the bytes that a trial needs, as ``trial_bytes`` does.
        memory: Bytes a worker may use; only for ``"auto"``.
        looped: Models that gain nothing from larger packs.
        together: Whether trials that compete in successive halving train in one pack.
        measured: Returns how many members were measured to fit, which replaces the estimate; None if unknown.
    """
    groups: dict[str, list[TrialConfig]] = {}
    for config in trials:
        groups.setdefault(config.shape, []).append(config)
    packs = {}
    for group in groups.values():
        limit = len(group)
        if not (together and group[0].halving):
            trials_in_all = len(group) if group[0].model in looped else len(trials)
            fitting = measured(group[0]) or memory // bytes_of(group[0])
            limit = largest_pack(trials_in_all, workers, size, fitting)
        count = math.ceil(len(group) / limit)
        for k in range(count):
            part = group[k * len(group) // count : (k + 1) * len(group) // count]
            packs[pack_key(part)] = part
    return packs


COPIES = 3
"""Copies of the weights that training holds at least: weights, gradients, and one for the step."""
GIB = 2**30


def check_memory(sweep: Sweep, workers: Workers) -> Sweep:
    """Return the sweep if its trials may fit this machine's memory; a cluster's memory is not known.

    The estimate is a lower bound, so that no trial is refused that might fit.

    Raises:
        ConfigError: A trial needs more.
    """
    available = inf if workers.address else _machine_bytes()
    for cell in sweep.cells:
        needed = least_bytes(cell)
        if needed > available:
            config = _largest_trial(cell)
            sizes = f"hidden {config.hidden:,} with batch {config.batch:,} and {cell.positions:,} positions"
            requirement = f"needs at least {needed / GIB:,.0f} GiB a trial, and this machine has {available / GIB:,.0f}"
            raise ConfigError(f"{sweep.file.name}: {cell.label}: {sizes} {requirement}. Make hidden or batch smaller.")
    return sweep


def least_bytes(cell: CellPlan) -> int:
    """Return a lower bound in bytes for the largest trial of a cell: its weights, and one output at each position."""
    from longwave.platform.registry import get_model, get_task  # torch

    config = _largest_trial(cell)
    task = get_task(config.task)
    sizes = (task.inputs, config.hidden, task.outputs, config.width)
    weights = get_model(config.model).parameters(*sizes, config.options)
    return int((COPIES * weights + config.batch * cell.positions * config.hidden) * WIDTH[config.precision])


def _largest_trial(cell: CellPlan) -> TrialConfig:
    """Return a trial with the largest sizes that may be drawn."""
    largest = {d.name: int(d.largest) for d in cell.space if d.name in ("hidden", "width", "batch")}
    return replace(cell.base, **largest)  # type: ignore[arg-type]


def _machine_bytes() -> float:
    """Return the machine's memory; twice as much if it has GPUs, whose own memory may be larger."""
    import psutil

    from longwave.platform.training.environment import gpus

    return float(psutil.virtual_memory().total) * (2 if gpus() else 1)
