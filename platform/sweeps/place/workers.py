"""How packs are run, and who hears of it. Any executor takes the first and talks to the second."""

from __future__ import annotations

import logging
import math
import os
import re
import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from longwave.platform.errors import ConfigError, WorkerError
from longwave.platform.paths import raise_os_errors
from longwave.platform.records.report import Cohort, Ending, Report, Rung
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.place.devices import ClusterNode, DevicePool, Slot, requested_node, usable_nodes
from longwave.platform.training.checkpoint import Checkpoint

if TYPE_CHECKING:
    from longwave.platform.paths import AnyPath

WORD = r"[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?"
NAME = re.compile(rf"([a-z0-9.-]+/)?{WORD}", re.ASCII)
VALUE = re.compile(rf"!?{WORD}|!?in\({WORD}(, ?{WORD})*\)", re.ASCII)
"""What Ray takes for a label of a node, and for what it is to be."""
LOG = logging.getLogger(__name__)
RESTARTS = 2
"""How often a pack is restarted after its worker died of itself, without a new epoch between; a lost node is none."""
LOOK_SECONDS, FAR_SECONDS = 0.2, 5.0
"""How often a worker looks whether it is to drain: in a folder, and elsewhere, where each look is a request."""


@dataclass(frozen=True)
class Job:
    """One pack's work.

    Attributes:
        configs: Its trials.
        cohort: What the store knows of their cohort; None without successive halving.
        before: Keys of packs whose checkpoints may serve.
        joined: Those of them that go on together in this one; the driver alone needs to know.
        shares: Of a GPU that it takes, by kind of GPU, the one to prefer first.
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
        cohort = self.cohort and {**asdict(self.cohort), "gone": dict(self.cohort.gone)}
        configs = [c.to_dict() for c in self.configs]
        told = {"configs": configs, "cohort": cohort, "before": list(self.before), "shares": dict(self.shares)}
        return {**told, "weights": self.weights}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Job:
        """Return the job again."""
        cohort = data["cohort"]
        if cohort is not None:
            rungs = tuple(Rung(**rung) for rung in cohort["rungs"])
            cohort = Cohort(cohort["cohort"], tuple(cohort["members"]), cohort["gone"], rungs)
        configs, told = [TrialConfig.from_dict(c) for c in data["configs"]], {k: data[k] for k in ("shares", "weights")}
        return cls(configs, cohort, tuple(data["before"]), **told)


class Sink(Protocol):
    """Takes what packs report. Reports may come twice: after a restart a pack repeats what it had said.

    What it takes it may gather until ``settle``, which is called as soon as nothing more is waiting to be heard.
    """

    def started(self, pack: str, place: Slot) -> None:
        """Note that a pack has a worker, and where."""

    def report(self, pack: str, report: Report) -> None:
        """Take epochs, ends and rungs."""

    def ended(self, pack: str, how: Ending, why: str = "") -> None:
        """Note that a pack has no worker any more; with ``died`` and why, some of its trials may not have ended."""

    def told(self, line: str) -> None:
        """Take what the cluster has to say of itself, as which node gets no packs."""

    def settle(self) -> None:
        """Act on all that was taken so far."""


@dataclass(frozen=True)
class Workers:
    """How to run packs.

    Attributes:
        count: Packs at a time; ``None`` for as many as there is room for.
        storage: Folder of checkpoints; on a cluster one that all nodes reach, shared or in an object store.
        address: Ray cluster to use; ``None`` starts a local one.
        gpus: Share of a GPU a pack; ``None`` for a measured one.
        cpu: Train on cores, also where there are GPUs.
        cpus: CPUs a pack, on a GPU at most; its threads are as many, and one at least.
        labels: What Ray's labels of a node must be for it to get packs: value, or ``!value``, by name.
        here: Run in this process, without Ray.
        single_first: Begin in a single process; where that takes longer than Ray takes to start, go on on Ray.
        flag: Name of the file that asks these workers to drain; other drivers share the folder.
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
    flag: str = field(default_factory=lambda: f"drain-{secrets.token_hex(6)}", compare=False)
    _seen: dict[str, float | bool] = field(default_factory=dict, repr=False, compare=False)

    @property
    def cores(self) -> int:
        """Cores of this machine for packs: as many as the packs at a time take, or all."""
        if self.count and not self.here:
            return math.ceil(self.count * self.cpus)
        return max(os.cpu_count() or 1, math.ceil(self.cpus))

    @property
    def named(self) -> bool:
        """Whether what packs go to is asked of a cluster, which may start machines for it, not found there."""
        return bool(self.address and self.count and (self.gpus or self.cpu))

    def room(self, machines: Sequence[ClusterNode]) -> DevicePool:
        """Return the places for packs on some machines: one where they train in this process.

        Of a cluster of which both a count and a share, or cores, are asked, just that.

        Raises:
            WorkerError: There is no place.
        """
        if self.named and self.count:
            return DevicePool([requested_node(self.count, self.gpus, self.cpus)], self.count, self.cpus)
        room = DevicePool(usable_nodes(machines, self.cpu, self.cpus), 1 if self.here else self.count, self.cpus)
        if not room.count:
            cores = "a free core" if self.cpus <= 1 else f"{self.cpus:g} free cores"
            with_labels = "".join(f" with {name}={wish}" for name, wish in self.labels.items())
            start = (
                "If it starts machines when packs wait, say for how many: --workers 8 --gpus 1, or --workers 8 --cpu"
            )
            where = f"{self.address or 'this machine'}{with_labels}"
            raise WorkerError(f"There is neither a GPU nor {cores} at {where}. {start}.")
        return room

    def checkpoint(self, pack: str, before: Sequence[str] = ()) -> Checkpoint:
        """Return the checkpoint of a pack, in whose place those of the packs ``before`` may serve."""
        own, *older = (self.storage / "checkpoints" / f"{key}.safetensors" for key in (pack, *before))
        return Checkpoint(own, tuple(older))

    def marked(self) -> bool:
        """Return whether this process sees the storage of the driver that marked it."""
        try:
            with raise_os_errors(self.storage):
                return (self.storage / f"{self.flag}.mark").exists()
        except OSError:
            return False

    @contextmanager
    def mark(self) -> Iterator[None]:
        """Have a file in the storage inside the block, by which workers know it."""
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
        """Ask all workers, on whatever node, to save and stop; where that cannot be written, they go on."""
        try:
            with raise_os_errors(self.storage):
                self.storage.mkdir(parents=True, exist_ok=True)
                (self.storage / self.flag).touch()
        except OSError as error:
            LOG.warning("The workers could not be asked to stop: %s", error)
        self._seen.clear()

    def undrain(self) -> None:
        """Take a drain back; the next packs run."""
        with raise_os_errors(self.storage):
            (self.storage / self.flag).unlink(missing_ok=True)
        self._seen.clear()

    def draining(self) -> bool:
        """Return whether a drain is asked for, as of the last look: it is asked for by a file."""
        now, often = time.monotonic(), LOOK_SECONDS if isinstance(self.storage, Path) else FAR_SECONDS
        if now - self._seen.get("at", -often) >= often:
            with suppress(OSError), raise_os_errors(self.storage):  # away for now: as at the last look
                self._seen.update(found=(self.storage / self.flag).exists())
            self._seen.update(at=now)
        return bool(self._seen.get("found"))


def train_job(key: str, job: Job, emit: Callable[[Report], None], workers: Workers) -> Ending:
    """Train a pack in this process and return how that ended."""
    from longwave.platform.training.train import train

    own, weights = workers.checkpoint(key, job.before), workers.storage if job.weights else None
    return train(job.configs, emit, own, job.cohort, workers.draining, weights)


def nodes_here(cores: float) -> ClusterNode:
    """Return what this machine offers, so many of its cores."""
    from longwave.platform.training.environment import gpus

    kinds = gpus()
    return ClusterNode(cores, len(kinds), kinds[0]) if kinds else ClusterNode(cores)


def parse_labels(given: Sequence[str]) -> dict[str, str]:
    """Return labels of nodes by name, of texts like ``gpu=H200``, ``zone=!a`` and ``gpu=in(H200,B200)``.

    Raises:
        ConfigError: One is none.
    """
    found = {}
    for text in given:
        name, _, value = text.partition("=")
        if not NAME.fullmatch(name) or not VALUE.fullmatch(value):
            raise ConfigError(f"--label is NAME=VALUE, NAME=!VALUE or NAME=in(VALUE,VALUE), got {text!r}.")
        found[name] = value
    return found
