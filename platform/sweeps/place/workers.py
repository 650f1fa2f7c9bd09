"""How packs are run (``Workers``, ``Job``), and what receives their reports (``Sink``); shared by all executors."""

from __future__ import annotations

import math
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.paths import home, raise_os_errors
from longwave.platform.records.report import Cohort, Ending, Report, Rung
from longwave.platform.records.trial import TrialConfig
from longwave.platform.redaction import make_logger
from longwave.platform.sweeps.place.devices import ClusterNode, DevicePool, Slot, requested_node, usable_nodes
from longwave.platform.sweeps.place.stalls import (
    STALL_SECONDS,
    StalledError,
    StepWatch,
    failed_by_stall,
    read_stall,
    stall_timer,
)
from longwave.platform.training.checkpoint import Checkpoint, saved_stems

if TYPE_CHECKING:
    from longwave.platform.paths import AnyPath

WORD = r"[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?"
NAME = re.compile(rf"([a-z0-9.-]+/)?{WORD}", re.ASCII)
VALUE = re.compile(rf"!?{WORD}|!?in\({WORD}(, ?{WORD})*\)", re.ASCII)
"""Ray's syntax for names of node labels, and for conditions on their values."""
LOG = make_logger(__name__)
RESTARTS = 2
"""How often a pack is restarted after its worker died without a new epoch; losing a node does not count."""
LOOK_SECONDS, FAR_SECONDS = 0.2, 5.0
"""Interval at which a worker checks for a drain: in a folder, and in an object store, where each check is a request."""


@dataclass(frozen=True)
class Job:
    """One pack's work.

    Attributes:
        configs: Its trials.
        cohort: Their cohort as stored; None without successive halving.
        before: Keys of earlier packs whose checkpoints may be used.
        joined: Those of them that continue together in this one; used only by the driver.
        shares: Share of a GPU that it takes, by kind of GPU, the preferred kind first.
        weights: Whether to keep the weights of its retrainings.
    """

    configs: Sequence[TrialConfig]
    cohort: Cohort | None = None
    before: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)
    weights: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        cohort = self.cohort and asdict(self.cohort)
        configs = [c.to_dict() for c in self.configs]
        fields = {"configs": configs, "cohort": cohort, "before": list(self.before), "shares": dict(self.shares)}
        return {**fields, "weights": self.weights}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Job:
        """Rebuild from ``to_dict``."""
        cohort = data["cohort"]
        if cohort is not None:
            rungs = tuple(Rung(**rung) for rung in cohort["rungs"])
            cohort = Cohort(cohort["cohort"], tuple(cohort["members"]), cohort["gone"], rungs, cohort["scores"])
        configs, options = (
            [TrialConfig.from_dict(c) for c in data["configs"]],
            {k: data[k] for k in ("shares", "weights")},
        )
        return cls(configs, cohort, tuple(data["before"]), **options)


class Sink(Protocol):
    """Receives the events of packs. Reports may come twice: a restarted pack repeats what it reported before.

    It may buffer until ``flush``, which is called whenever no further event is waiting.
    """

    def started(self, pack: str, slot: Slot) -> None:
        """Note that a pack has a worker, and where."""

    def report(self, pack: str, report: Report) -> None:
        """Receive epochs, ends and rungs."""

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        """Note that a pack no longer has a worker; after ``died``, some of its trials may not have ended."""

    def show_notice(self, line: str) -> None:
        """Show a notice about the cluster, such as which node gets no packs."""

    def flush(self) -> None:
        """Process everything that is buffered."""


@dataclass(frozen=True)
class Workers:
    """How to run packs.

    Attributes:
        count: Packs at a time; ``None`` for as many as fit.
        storage: Folder of checkpoints; on a cluster one that all nodes can reach, shared or in an object store.
        address: Ray cluster to use; ``None`` starts a local one.
        gpus: Share of a GPU for each pack; ``None`` for a measured one.
        cpu: Train on cores, even if there are GPUs.
        cpus: CPUs of a pack, an upper bound for one on a GPU; it has as many threads, at least one.
        labels: Conditions on Ray's labels of the nodes that get packs, by name: ``value``, or ``!value``.
        here: Run in this process, without Ray.
        single_first: Begin in a single process, and move to Ray after some seconds of CPU time.
        stall: Seconds without a step after which a pack has stalled; 20 times its longest step, if that is more.
        stall_kill: Fail packs that have stalled, with a stack trace.
        flag: Name of the file that asks these workers to drain; unique, since drivers share the folder.
    """

    count: int | None
    storage: AnyPath
    address: str | None = None
    gpus: float | None = None
    cpu: bool = False
    cpus: float = 1.0
    labels: Mapping[str, str] = field(default_factory=dict)
    here: bool = False
    single_first: bool = False
    stall: float = STALL_SECONDS
    stall_kill: bool = False
    flag: str = field(default_factory=lambda: f"drain-{secrets.token_hex(6)}", compare=False)
    _last_look: dict[str, float | bool] = field(default_factory=dict, repr=False, compare=False)

    @property
    def cores(self) -> int:
        """Cores of this machine for packs: as many as ``count`` packs need, or all."""
        if self.count and not self.here:
            return math.ceil(self.count * self.cpus)
        return max(os.cpu_count() or 1, math.ceil(self.cpus))

    @property
    def asks_for_nodes(self) -> bool:
        """Whether devices are requested from a cluster, which may start nodes for them, rather than found there."""
        return bool(self.address and self.count and (self.gpus or self.cpu))

    def device_pool(self, nodes: Sequence[ClusterNode]) -> DevicePool:
        """Return the devices for packs on some nodes; a single slot if packs train in this process.

        If devices are requested from a cluster, the pool is exactly what is requested.

        Raises:
            WorkerError: No pack fits.
        """
        if self.asks_for_nodes and self.count:
            return DevicePool([requested_node(self.count, self.gpus, self.cpus)], self.count, self.cpus)
        pool = DevicePool(usable_nodes(nodes, self.cpu, self.cpus), 1 if self.here else self.count, self.cpus)
        if not pool.count:
            cores = "a free core" if self.cpus <= 1 else f"{self.cpus:g} free cores"
            with_labels = "".join(f" with {name}={condition}" for name, condition in self.labels.items())
            advice = (
                "If the cluster scales up on demand, give a number of packs: --workers 8 --gpus 1, or --workers 8 --cpu"
            )
            where = f"{self.address or 'this machine'}{with_labels}"
            raise WorkerError(f"There is neither a GPU nor {cores} at {where}. {advice}.")
        return pool

    def checkpoint(self, pack: str, before: Sequence[str] = ()) -> Checkpoint:
        """Return the checkpoint of a pack, which falls back on those of the packs ``before``."""
        path, *older_paths = (self._checkpoints / f"{key}.safetensors" for key in (pack, *before))
        return Checkpoint(path, tuple(older_paths))

    def saved_packs(self) -> set[str]:
        """Return the keys of the packs, of any sweep, that have a checkpoint."""
        return saved_stems(self._checkpoints)

    @property
    def _checkpoints(self) -> AnyPath:
        return self.storage / "checkpoints"

    def stall_trace(self, pack: str) -> Path:
        """Return the file for the stack trace of a pack that stalls. Its next worker may be on another machine."""
        return (self.storage if isinstance(self.storage, Path) else home()) / "stalls" / f"{pack}.txt"

    def sees_mark(self) -> bool:
        """Return whether this process sees the storage that its driver marked."""
        try:
            with raise_os_errors(self.storage):
                return (self.storage / f"{self.flag}.mark").exists()
        except OSError:
            return False

    @contextmanager
    def marked_storage(self) -> Iterator[None]:
        """Keep a file in the storage inside the block, by which workers recognise it."""
        mark = self.storage / f"{self.flag}.mark"
        with raise_os_errors(self.storage):
            self.storage.mkdir(parents=True, exist_ok=True)
            mark.touch()
        try:
            yield
        finally:
            with suppress(OSError), raise_os_errors(self.storage):
                mark.unlink(missing_ok=True)

    def drain(self) -> None:
        """Ask all workers, on every node, to save and stop; if the flag cannot be written, they continue."""
        try:
            with raise_os_errors(self.storage):
                self.storage.mkdir(parents=True, exist_ok=True)
                (self.storage / self.flag).touch()
        except OSError as error:
            LOG.warning("The workers could not be told to stop: %s", error)
        self._last_look.clear()

    def undrain(self) -> None:
        """Revoke a drain, so that the next packs run."""
        with raise_os_errors(self.storage):
            (self.storage / self.flag).unlink(missing_ok=True)
        self._last_look.clear()

    def draining(self) -> bool:
        """Return whether the drain flag is set, as of the last check."""
        now, interval = time.monotonic(), LOOK_SECONDS if isinstance(self.storage, Path) else FAR_SECONDS
        if now - self._last_look.get("at", -interval) >= interval:
            with suppress(OSError), raise_os_errors(self.storage):  # unreachable for now: keep the last answer
                self._last_look.update(draining=(self.storage / self.flag).exists())
            self._last_look.update(at=now)
        return bool(self._last_look.get("draining"))


def train_job(key: str, job: Job, emit: Callable[[Report], None], workers: Workers) -> Ending:
    """Train a pack in this process and return how that ended. With ``workers.stall_kill``, a pack that stalls fails."""
    from longwave.platform.training.train import train

    def after_step() -> bool:
        steps.after_step()
        return workers.draining()

    trace = workers.stall_trace(key)
    if workers.stall_kill and (stalled := read_stall(trace)):
        emit(failed_by_stall(job.configs, *stalled))
        trace.unlink()
        return "over"
    checkpoint, weights = workers.checkpoint(key, job.before), workers.storage if job.weights else None
    with stall_timer(trace, in_driver=workers.here) if workers.stall_kill else nullcontext() as timer:
        steps = StepWatch(workers.stall, emit, timer)
        try:
            return train(job.configs, steps.report, checkpoint, job.cohort, after_step, weights)
        except StalledError as error:
            emit(failed_by_stall(job.configs, str(error), steps.ended))
            return "over"


def nodes_here(cores: float) -> ClusterNode:
    """Return this machine as a node with ``cores`` cores and all its GPUs."""
    from longwave.platform.training.environment import gpus

    kinds = gpus()
    return ClusterNode(cores, len(kinds), kinds[0]) if kinds else ClusterNode(cores)


def parse_labels(texts: Sequence[str]) -> dict[str, str]:
    """Return conditions on node labels by name, from texts like ``gpu=H200``, ``zone=!a`` and ``gpu=in(H200,B200)``.

    Raises:
        ConfigError: A text has another form.
    """
    labels = {}
    for text in texts:
        name, _, value = text.partition("=")
        if not NAME.fullmatch(name) or not VALUE.fullmatch(value):
            raise ConfigError(f"--label is NAME=VALUE, NAME=!VALUE or NAME=in(VALUE,VALUE), got {text!r}.")
        if name in labels:
            raise ConfigError(f"--label names each label once, got {name} twice. Keep one, or give {name}=in(A,B).")
        labels[name] = value
    return labels
