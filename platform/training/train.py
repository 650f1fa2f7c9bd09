"""Train a pack to its end: epochs, checkpoints, and splitting in two when memory runs out. Independent of store and
Ray."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Literal

import torch

from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.plugins.known import pin_as_planned
from longwave.platform.records.identity import digest
from longwave.platform.records.probe import CPU, Probe, load_key
from longwave.platform.records.report import Cohort, Ending, Report
from longwave.platform.records.run import Point, Run
from longwave.platform.records.trial import PROTOCOL, TrialConfig
from longwave.platform.redaction import make_logger
from longwave.platform.registry import get_model, get_task
from longwave.platform.training import environment
from longwave.platform.training.checkpoint import Checkpoint
from longwave.platform.training.journal import Journal
from longwave.platform.training.pack import Pack
from longwave.platform.training.precision import PRECISIONS
from longwave.platform.training.rules import check_training
from longwave.platform.training.snapshot import snapshot, take_up
from longwave.platform.training.weights import keep
from longwave.platform.variables import read_seconds
from longwave.platform.wording import describe_count
from longwave.tasks.base.batch import Batch
from longwave.tasks.base.data import Data
from longwave.tasks.base.raw import DataError

if TYPE_CHECKING:
    from longwave.platform.paths import AnyPath

Emit = Callable[[Report], None]
"""Records a report of a pack. Recording it twice must change nothing."""
CHECKPOINT_SECONDS = read_seconds("LONGWAVE_CHECKPOINT_SECONDS")
"""Interval at which a pack's state is saved during training."""
OUT_OF_MEMORY = (
    "DefaultCPUAllocator", "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"
)  # fmt: skip
"""Parts of the messages of other errors that mean that memory ran out."""
LOG = make_logger(__name__)


class _Undelivered(Exception):
    """``emit`` raised an error, so the training itself is sound."""


class _Reporter:
    """Emits reports with the environment, and updates the cohort of competing trials from them."""

    def __init__(self, emit: Emit, cohort: Cohort, weights: AnyPath | None = None) -> None:
        self.emit, self.cohort, self.weights = emit, cohort, weights
        self.facts, self.patch = environment.describe(), environment.patch() or ""
        self.ended: set[str] = set()
        self.last_points: dict[str, Point] = {}
        self.journal = Journal()

    def __call__(self, report: Report) -> None:
        self.ended.update(r.trial for r in report.runs)
        self.last_points = {t: p for t, p in self.last_points.items() if t not in report.began}
        self.last_points |= {p.trial: p for p in report.points}
        self.cohort = self.cohort.after(report)
        self.journal.write(report)
        placed = [replace(r, environment={**self.facts, **r.environment}, patch=self.patch) for r in report.runs]
        try:
            self.emit(replace(report, runs=placed))
        except Exception as error:
            raise _Undelivered from error

    def end_failed(self, config: TrialConfig, reason: str, members: int) -> Run:
        """Return the outcome of a trial that failed, with the finished epochs that it reported."""
        last = self.last_points.get(config.id)
        epochs, seconds = (last.epoch, last.seconds) if last else (0, 0.0)
        return Run(config.id, "failed", reason, epochs=epochs, seconds=seconds, members=members)


@environment.flushing_subnormals()
def train(
    configs: Sequence[TrialConfig],
    emit: Emit,
    checkpoint: Checkpoint | None = None,
    cohort: Cohort | None = None,
    draining: Callable[[], bool] = lambda: False,
    weights: AnyPath | None = None,
) -> Ending:
    """Train the trials together; ``emit`` gets every epoch's points, and each trial's outcome exactly once per call.
    Subnormal numbers are flushed to zero. A pack that runs out of memory is split in two, and the halves continue from
    the pack's last checkpoint, one after the other. Any other error ends the trials still training as ``failed``.

    Args:
        configs: Trials of one shape.
        emit: Called with each report.
        checkpoint: Where to save the state at least every ``CHECKPOINT_SECONDS``, and to resume from. A failed save,
            as on a full disk, is repeated after that time.
        cohort: The trials they compete with in successive halving; by default only each other.
        draining: Returns after each step whether to pause.
        weights: Where to save the weights of retrainings, if requested.

    Returns:
        ``"over"``: every trial has ended. ``"paused"``: the state is saved, to continue by the same call; because of
        ``draining``, or because a rung waits for scores of trials elsewhere, to be given in a later ``cohort``.

    Raises:
        WorkerError: The trials were planned with other versions, or in a precision that this machine does not support;
            no trial is ended.
        Exception: Whatever ``emit`` raises; no trial is ended.
    """
    this_pack = Cohort((configs[0].halving or {}).get("cohort", ""), tuple(c.id for c in configs), {})
    try:
        return _in_parts(configs, _Reporter(emit, cohort or this_pack, weights), checkpoint, draining)
    except _Undelivered as error:
        raise (error.__cause__ or error) from None


def _in_parts(
    configs: Sequence[TrialConfig], reporter: _Reporter, checkpoint: Checkpoint | None, draining: Callable[[], bool]
) -> Ending:
    """Train a pack, or its halves if memory runs out; a half that waits for the other's scores continues after it."""
    parts = deque([(configs, checkpoint)])
    idle = 0  # number of last parts that wait and had no new scores for the others
    while idle < len(parts):
        part, part_checkpoint = parts.popleft()
        remaining, cohort_before = [c for c in part if c.id not in reporter.ended], reporter.cohort
        outcome = (
            _tried(remaining, reporter, part_checkpoint, draining)
            if not _was_split(remaining, part_checkpoint)
            else "split"
        )
        if outcome == "split":
            halves = _halves([c for c in remaining if c.id not in reporter.ended])
            parts.extendleft((half, part_checkpoint and part_checkpoint.part(_name(half))) for half in reversed(halves))
        elif outcome == "paused":
            return "paused"
        elif outcome == "waits":
            parts.append((part, part_checkpoint))
        idle = 0 if outcome != "waits" else 1 if reporter.cohort != cohort_before else idle + 1
    return "paused" if parts else "over"


def _tried(
    configs: Sequence[TrialConfig], reporter: _Reporter, checkpoint: Checkpoint | None, draining: Callable[[], bool]
) -> Literal["over", "paused", "waits", "split"]:
    """Train a part by ``_train``, or until memory runs out; any other error ends its trials as failed."""
    try:
        return _train(configs, reporter, checkpoint, draining)
    except (_Undelivered, WorkerError):
        raise
    except Exception as error:  # an error in one pack must not stop the sweep; it is recorded
        remaining = [c for c in configs if c.id not in reporter.ended]
        if out_of_memory(error) and len(remaining) > 1:
            reporter(
                Report(probes=[Probe(CPU, load_key(remaining[0]), len(remaining), 0, 0, fits=False)])
            )  # its driver adds the device
            return "split"
        reason = f"{type(error).__name__}: {str(error) or 'no message'}".splitlines()[0]
        reporter(Report((), [reporter.end_failed(c, reason, len(configs)) for c in remaining]))
        return "over"


def _halves(configs: Sequence[TrialConfig]) -> list[Sequence[TrialConfig]]:
    return [configs[: len(configs) // 2], configs[len(configs) // 2 :]]


def _name(configs: Sequence[TrialConfig]) -> str:
    return digest([c.id for c in configs])


def _was_split(configs: Sequence[TrialConfig], checkpoint: Checkpoint | None) -> bool:
    """Return whether a part ran out of memory before it was paused, so that its halves have checkpoints."""
    if checkpoint is None or len(configs) < 2:
        return False
    return any(checkpoint.part(_name(half)).path.exists() for half in _halves(configs))


def out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out, on a GPU or the CPU."""
    is_named = any(text in str(error) for text in OUT_OF_MEMORY)
    return is_named or isinstance(error, (torch.OutOfMemoryError, MemoryError))


def _train(
    configs: Sequence[TrialConfig], reporter: _Reporter, checkpoint: Checkpoint | None, draining: Callable[[], bool]
) -> Literal["over", "paused", "waits"]:
    """Train a part to its end, until it has to pause, or until a rung waits for scores of trials elsewhere."""
    first = configs[0]
    _check_versions(configs)
    data = loaded(first.task, first.variant, first.data, first.precision, str(environment.device()))
    try:
        pack = Pack(configs, data, environment.device())
    except ConfigError as error:
        raise WorkerError(f"A worker cannot train its trials: {error}") from None
    if reporter.weights:
        pack.keeps = partial(keep, reporter.weights)
    refused: list[str] = []
    restored = take_up(pack, checkpoint.candidates() if checkpoint else (), refused.append)
    consequence = "an earlier one is used" if restored else "they are trained again from the start"
    notices = [
        f"{describe_count(len(configs), 'trial')} of {first.model}: {reason}; {consequence}"
        for reason in dict.fromkeys(refused)
    ][:1]
    last_save = time.monotonic()

    def save() -> None:
        nonlocal last_save
        last_save = time.monotonic()
        try:
            if checkpoint:
                checkpoint.save(snapshot(pack))
        except OSError as error:
            LOG.warning("A checkpoint could not be written; training continues with the previous one: %s", error)

    def after_step() -> bool:
        if time.monotonic() - last_save > CHECKPOINT_SECONDS:
            save()
        return draining()

    report = replace(pack.restated_report(), notices=notices)
    while True:
        decision = pack.halve(reporter.cohort.after(report))
        over = decision is not None and (not pack.configs or pack.done == first.epochs)
        reporter(report + (decision or Report()) + (pack.close() if over else Report()))
        if over:
            return "over"
        if decision is None or not pack.train_epoch(after_step):
            save()
            return "waits" if decision is None else "paused"
        report = pack.close_epoch()


def unfit(config: TrialConfig) -> str:
    """Return the versions of a trial that differ here; empty if its result would match its id.

    Raises:
        ConfigError: Its task or model is missing; for a plugin, in the planned version.
        DataError: The data are not here.
    """
    pin_as_planned("model", config.model, config.model_version)
    pin_as_planned("task", config.task, config.task_version)
    task, model = get_task(config.task), get_model(config.model)
    current = {
        "protocol": PROTOCOL,
        "task_version": task.version,
        "data": task.load(config.variant).version,
        "model_version": model.version,
    }
    labels = {"protocol": "training rules", "task_version": config.task, "data": f"the data of {config.task}"}
    different = [name for name, version in current.items() if version != getattr(config, name)]
    differences = [
        f"with version {getattr(config, n)} of {labels.get(n, config.model)}, which is now {current[n]}"
        for n in different
    ]
    return "; ".join(differences)


def _check_versions(configs: Sequence[TrialConfig]) -> None:
    """Raise WorkerError if a result would not match its trial id, or a training rule is missing here."""
    try:
        why = unfit(configs[0])
        for config in configs:
            check_training(config)
    except DataError as error:
        raise WorkerError(f"A worker lacks the data: {error}") from None
    except ConfigError as error:
        raise WorkerError(f"A worker cannot train its trials: {error}") from None
    if why:
        raise WorkerError(f"Trials were planned {why}. Start the sweep under another name, or use the older Longwave.")


@cache
def loaded(task: str, variant: str, version: str, precision: str, device: str) -> Data[Batch]:
    """Return the task's data on ``device`` in ``precision``; the same object for all packs of a process."""
    return get_task(task).load(variant).to(device, PRECISIONS[precision])
