"""How packs are run, and who hears of it. Any executor takes the first and talks to the second."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from longwave.platform.errors import WorkerError
from longwave.platform.records.report import Company, Ending, Report, Rung
from longwave.platform.records.trial import TrialConfig
from longwave.platform.sweeps.placement import Machine, Room, Slot, asked_for, offered
from longwave.platform.training.checkpoint import Checkpoint

RESTARTS = 2
"""How often a pack is restarted after its worker died of itself, without a new epoch between; a lost node is none."""
LOOK_SECONDS = 0.2
"""How often a worker looks whether it is to drain."""


@dataclass(frozen=True)
class Job:
    """One pack's work.

    Attributes:
        configs: Its trials.
        company: What the store knows of their cohort; None without successive halving.
        before: Keys of packs whose checkpoints may serve.
        joined: Those of them that go on together in this one; the driver alone needs to know.
        shares: Of a GPU that it takes, by kind of GPU, the one to prefer first.
    """

    configs: Sequence[TrialConfig]
    company: Company | None = None
    before: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON data."""
        company = self.company and {**asdict(self.company), "gone": dict(self.company.gone)}
        configs = [c.to_dict() for c in self.configs]
        return {"configs": configs, "company": company, "before": list(self.before), "shares": dict(self.shares)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Job:
        """Return the job again."""
        company = data["company"]
        if company is not None:
            rungs = tuple(Rung(**rung) for rung in company["rungs"])
            company = Company(company["cohort"], tuple(company["members"]), company["gone"], rungs)
        return cls(
            [TrialConfig.from_dict(c) for c in data["configs"]], company, tuple(data["before"]), shares=data["shares"]
        )


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

    def settle(self) -> None:
        """Act on all that was taken so far."""


@dataclass(frozen=True)
class Workers:
    """How to run packs.

    Attributes:
        count: Packs at a time; ``None`` for as many as there is room for.
        storage: Folder of checkpoints; on a cluster a path all nodes share.
        address: Ray cluster to use; ``None`` starts a local one.
        gpus: Share of a GPU a pack; ``None`` for a measured one.
        cpu: Train on cores, also where there are GPUs.
        here: Run in this process, without Ray.
        flag: Name of the file that asks these workers to drain; other drivers share the folder.
    """

    count: int | None
    storage: Path
    address: str | None = None
    gpus: float | None = None
    cpu: bool = False
    here: bool = False
    flag: str = field(default_factory=lambda: f"drain-{secrets.token_hex(6)}", compare=False)
    _seen: dict[str, float | bool] = field(default_factory=dict, repr=False, compare=False)

    def room(self, machines: Sequence[Machine]) -> Room:
        """Return the places for packs on some machines: one where they train in this process.

        Of a cluster for which both a count and a share, or cores, are asked, just that: it may start machines for it.

        Raises:
            WorkerError: There is no place.
        """
        if self.address and self.count and (self.gpus or self.cpu):
            return Room([asked_for(self.count, self.gpus)], self.count)
        room = Room(offered(machines, self.cpu), 1 if self.here else self.count)
        if not room.count:
            start = (
                "If it starts machines when packs wait, say for how many: --workers 8 --gpus 1, or --workers 8 --cpu"
            )
            raise WorkerError(f"There is neither a GPU nor a free core at {self.address or 'this machine'}. {start}.")
        return room

    def checkpoint(self, pack: str, before: Sequence[str] = ()) -> Checkpoint:
        """Return the checkpoint of a pack, in whose place those of the packs ``before`` may serve."""
        own, *older = (self.storage / "checkpoints" / f"{key}.safetensors" for key in (pack, *before))
        return Checkpoint(own, tuple(older))

    def drain(self) -> None:
        """Ask all workers, on whatever node, to save and stop."""
        self.storage.mkdir(parents=True, exist_ok=True)
        (self.storage / self.flag).touch()
        self._seen.clear()

    def undrain(self) -> None:
        """Take a drain back; the next packs run."""
        (self.storage / self.flag).unlink(missing_ok=True)
        self._seen.clear()

    def draining(self) -> bool:
        """Return whether a drain is asked for, as of at most 0.2 s ago: it is asked for by a file."""
        now = time.monotonic()
        if now - self._seen.get("at", -LOOK_SECONDS) >= LOOK_SECONDS:
            self._seen.update(at=now, found=(self.storage / self.flag).exists())
        return bool(self._seen["found"])


def train_job(key: str, job: Job, emit: Callable[[Report], None], workers: Workers) -> Ending:
    """Train a pack in this process and return how that ended."""
    from longwave.platform.training.train import train

    return train(job.configs, emit, workers.checkpoint(key, job.before), job.company, workers.draining)
