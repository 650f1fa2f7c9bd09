"""Train a pack to its end: epochs, checkpoints, and a split in two where memory runs out. Knows no store, no Ray."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import torch

from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.records.identity import digest
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import PROTOCOL, TrialConfig
from longwave.platform.registry import get_model, get_task
from longwave.platform.training import environment
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.pack import Pack
from longwave.platform.training.precision import PRECISIONS
from longwave.platform.training.rules import check_training
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError

Emit = Callable[[Sequence[Point], Sequence[Run]], None]
"""Takes the points of an epoch and the trials that ended with it. Taking the same twice must change nothing."""
CHECKPOINT_SECONDS = 60.0


class _Undelivered(Exception):
    """``emit`` raised: the training is sound, what failed is outside it."""


def train(configs: Sequence[TrialConfig], emit: Emit, checkpoint: Checkpoint | None = None) -> None:
    """Train the trials together; ``emit`` gets every epoch's points, and each trial's end exactly once a call.

    A pack that runs out of memory is split in two, and each half trained after the other. Any other error ends the
    trials still training as ``failed``.

    Args:
        configs: Trials of one shape.
        emit: Takes points and ends as they come.
        checkpoint: Where to keep the state at least every 60 s, and where to resume from.

    Raises:
        WorkerError: The trials were planned under other versions than are here, or in a precision that this machine
            cannot train in; none is ended by that.
        Exception: Whatever ``emit`` raises; no trial is ended by that.
    """
    ended: set[str] = set()
    facts, patch = environment.describe(), environment.patch() or ""

    def note(points: Sequence[Point], runs: Sequence[Run]) -> None:
        ended.update(r.trial for r in runs)
        try:
            emit(points, [replace(r, environment={**facts, **r.environment}, patch=patch) for r in runs])
        except Exception as error:
            raise _Undelivered from error

    try:
        _train(configs, note, checkpoint)
        return
    except _Undelivered as error:
        raise (error.__cause__ or error) from None
    except WorkerError:
        raise
    except Exception as error:  # one pack's error must not stop a sweep; it is recorded in full
        left = [c for c in configs if c.id not in ended]
        if not out_of_memory(error) or len(left) < 2:
            reason = f"{type(error).__name__}: {str(error) or 'no message'}".splitlines()[0]
            note([], [Run(c.id, "failed", reason, members=len(configs)) for c in left])
            return
    for half in (left[: len(left) // 2], left[len(left) // 2 :]):
        own = checkpoint and Checkpoint(checkpoint.path.with_stem(digest([c.id for c in half])))
        train(half, emit, own)


def out_of_memory(error: BaseException) -> bool:
    """Return whether ``error`` says that memory ran out, on a GPU or on the CPU."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "DefaultCPUAllocator" in str(error)


def _train(configs: Sequence[TrialConfig], emit: Emit, checkpoint: Checkpoint | None) -> None:
    first = configs[0]
    _check_versions(configs)
    data = _data(first.task, first.variant, first.precision, str(environment.device()))
    try:
        pack = Pack(configs, data, environment.device())
    except ConfigError as error:
        raise WorkerError(f"A worker cannot train what was planned: {error}") from None
    saved = checkpoint.load() if checkpoint else None
    if saved and pack.restore(saved):
        emit(pack.points, pack.ended)
    last = time.monotonic()

    def save_when_due() -> None:
        nonlocal last
        if checkpoint and time.monotonic() - last > CHECKPOINT_SECONDS:
            checkpoint.save(pack.saved())
            last = time.monotonic()

    while pack.configs and pack.epoch <= first.epochs:
        pack.train_epoch(save_when_due)
        emit(*pack.close_epoch())
    emit([], pack.close())


def unfit(config: TrialConfig) -> str:
    """Return which versions of a trial are others here; empty if its result would be what its name says.

    Raises:
        DataError: The data are not here.
    """
    task, model = get_task(config.task), get_model(config.model)
    here = {
        "protocol": PROTOCOL,
        "task_version": task.version,
        "data": task.load(config.variant).version,
        "model_version": model.version,
    }
    of = {"protocol": "training rules", "task_version": config.task, "data": f"the data of {config.task}"}
    wrong = [name for name, version in here.items() if version != getattr(config, name)]
    told = [f"with version {getattr(config, n)} of {of.get(n, config.model)}, here is {here[n]}" for n in wrong]
    return "; ".join(told)


def _check_versions(configs: Sequence[TrialConfig]) -> None:
    """Raise WorkerError where a result would bear the name of another, or a training rule is not here."""
    try:
        why = unfit(configs[0])
        for config in configs:
            check_training(config)
    except DataError as error:
        raise WorkerError(f"A worker has not the data: {error}") from None
    except ConfigError as error:
        raise WorkerError(f"A worker cannot train what was planned: {error}") from None
    if why:
        raise WorkerError(f"Trials were planned {why}. Start the sweep under another name, or use the older Longwave.")


@cache
def _data(task: str, variant: str, precision: str, device: str) -> Data[Batch]:
    """Return the task's data on ``device`` in ``precision``; the same object for all packs of a process."""
    return get_task(task).load(variant).to(device, PRECISIONS[precision])
